# SPDX-License-Identifier: Apache-2.0
"""C++ extensions: `usm_view` for pybind11 and nanobind, the table, the way back."""

import doctest
import gc
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import ml_dtypes
import numpy as np
import pytest

import environments
import sycl_ext as sx
from extensions import labs
from samples import LAYOUTS, bits, values
from sycl_ext import _core
from waiting import eventually

pytestmark = pytest.mark.timeout(300)  # the first test builds four modules


@pytest.fixture(scope="module", params=["views_pybind11", "views_nanobind"])
def views(request):
    return labs.load(request.param)


@pytest.fixture(scope="module")
def table():
    return labs.load("table_lab")


def arrays():
    """The same six numbers as an array of each library, and on each kind of entry."""
    import torch

    numbers = np.arange(6, dtype="float32").reshape(2, 3)
    root = sx.device()
    half = root.create_sub_devices(1)[0]
    private = sx.register_context(dpctl.SyclContext([root.sycl_device]))
    yield "NumPy", numbers.copy(), root
    yield "torch", torch.arange(6, dtype=torch.float32).reshape(2, 3), root
    yield "bytearray", bytearray(b"123456"), root
    for name, device in (("root", root), ("half", half), ("private", private)):
        for usm_type in ("device", "shared", "host"):
            tensor = sx.empty((2, 3), usm_type=usm_type, device=device).copy_from(numbers)
            yield f"sycl_ext {usm_type}, {name}", tensor, device
        array = dpnp.asarray(numbers, sycl_queue=device.sycl_queue)
        yield f"dpnp, {name}", array, device
        memory = dpctl.memory.MemoryUSMShared(6, queue=device.sycl_queue)
        yield f"dpctl.memory, {name}", memory, device


# ---- usm_view ------------------------------------------------------------------------------------


def test_every_array_of_every_library_is_a_view(views):
    for name, array, device in arrays():
        expected = sx.as_tensor(array, copy=False)
        found = views.facts(array)
        pointer, shape, strides, entry, kind, readonly, compact, entry_of_queue, nbytes = found
        assert pointer == expected.ptr, name
        assert (tuple(shape), tuple(strides)) == (expected.shape, expected.strides)
        assert entry == entry_of_queue == device.id == expected.device.id
        assert ("device", "shared", "host", "system")[kind] == expected.usm_type
        assert (readonly, compact, nbytes) == (False, True, expected.nbytes)


def test_the_queue_is_the_one_of_the_array(views, root):
    queue = dpctl.SyclQueue(root.sycl_context, root.sycl_device)
    for array in (dpnp.zeros(3, sycl_queue=queue), sx.zeros(3, device=queue)):
        assert sx.as_tensor(array).sycl_queue == queue
        assert views.same(array).sycl_queue == queue


def test_work_that_ends_later(views):
    """A reader that asks for the memory waits; NumPy does not ask, so its memory is complete."""
    numbers = np.zeros(3, "float32")
    views.add_one_later(numbers)
    assert numbers.tolist() == [1, 1, 1]
    tensor = sx.zeros(3, usm_type="shared")
    views.add_one_later(tensor)
    assert tensor.to_numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(views, name):
    tensor, array = LAYOUTS[name].tensor("float32")
    pointer, shape, strides, *_, compact, _, nbytes = views.facts(tensor)
    assert (tuple(shape), tuple(strides)) == (tensor.shape, tensor.strides)
    assert pointer == (tensor.ptr if tensor.size else 0)
    assert (compact, nbytes) == (tensor.c_contiguous, array.nbytes)
    clean = np.nan_to_num(array, nan=0, posinf=0, neginf=0)
    expected = np.sum(clean, dtype="float64")
    assert views.total(sx.as_tensor(clean)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("array", "overload"),
    [
        (np.zeros(3, "float32"), "float32"),
        (np.broadcast_to(np.float32(1), 3), "const float32"),
        (sx.zeros(3), "float32"),
        (sx.zeros(3).as_readonly(), "const float32"),
        (np.zeros(3, "complex128"), "complex128"),
        (np.zeros(3, "bool"), "bool"),
        (np.zeros(3, "float16"), "float16"),
        (sx.zeros(3, "bfloat16"), "bfloat16"),
        (np.zeros(3, ml_dtypes.bfloat16), "bfloat16"),
        (b"123", "uint8"),
        ("123", "text"),
    ],
)
def test_overloads(views, array, overload):
    assert views.which(array) == overload


@pytest.mark.parametrize(
    "array", [np.zeros(3, "float64"), np.zeros(3, "int8"), None, 1, [1.0], object(), "x"]
)
def test_no_array_for_this_function(views, array):
    with pytest.raises(TypeError, match=re.escape(": usm_view[float32]")):
        views.total(array)


def test_dimensions(views):
    assert views.matrix(np.zeros((2, 3), "float32")) == 2
    for shape in ((), (3,), (2, 3, 4)):
        with pytest.raises(TypeError, match=re.escape(": usm_view[float32, 2]")):
            views.matrix(np.zeros(shape, "float32"))


def test_the_names_of_arguments_and_results(views):
    assert ": usm_view[any]" in views.same.__doc__
    assert views.same.__doc__.strip().endswith("-> sycl_ext.Tensor")
    overloads = re.findall(
        r"usm_view\[(.*?)\]", views.which.__doc__ or views.which.__nb_signature__
    )
    assert overloads == ["float32", "float32", "complex128", "bool", "float16", "bfloat16", "uint8"]


def test_writing(views):
    for name, array, _ in arrays():
        if sx.as_tensor(array).dtype == "float32":
            views.add_one(array)
            written = np.asarray(sx.host_view(array))
            assert written.tolist() == [[1, 2, 3], [4, 5, 6]], name


def test_read_only_memory_is_not_written(views):
    for array in (sx.zeros(3).as_readonly(), np.broadcast_to(np.float32(0), 3)):
        assert views.total(array) == 0
        with pytest.raises(BufferError, match="read-only, and this function writes to it"):
            views.add_one(array)


def test_a_producer_that_fails(views):
    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise RuntimeError("no paper")

    with pytest.raises(BufferError, match="no paper"):
        views.total(Broken())


def test_what_is_returned(views, root):
    tensor = sx.zeros((2, 3), device=root)
    assert views.same(tensor) is tensor
    array = np.zeros(3)
    same = views.same(array)
    assert isinstance(same, sx.Tensor)
    assert same.ptr == array.ctypes.data


def test_on_another_entry(views, root, private, halves):
    tensor = sx.empty((2, 3), device=root).copy_from(values((2, 3)))
    for entry in (root, private, *halves):
        moved = views.on(tensor, entry.id, -1)
        assert moved.device is entry
        assert (moved is tensor) == (entry is root)
        assert bits(moved.to_numpy()) == bits(values((2, 3)))
    assert views.on(tensor, root.id, 1).ptr != tensor.ptr
    with pytest.raises(sx.CopyRefusedError, match="copy=False"):
        views.on(tensor, private.id, 0)
    with pytest.raises(ValueError, match="there is no device 999"):
        views.on(tensor, 999, -1)


def test_views_outlive_the_call_and_go_on_another_thread(views):
    before = sx._core._test.live_allocations()
    array = np.arange(3.0)
    count = sys.getrefcount(array)
    for kept in (sx.zeros(1000), sx.zeros((2,) * 6), array):
        views.keep(kept)
    del kept
    gc.collect()
    assert sx._core._test.live_allocations() >= before + 3
    assert sys.getrefcount(array) > count
    views.drop()
    gc.collect()
    assert eventually(lambda: sx._core._test.live_allocations() == before)
    assert eventually(lambda: sys.getrefcount(array) == count)


# ---- the way back --------------------------------------------------------------------------------


def test_a_block_of_an_extension(table, root, private, halves):
    for entry in (root, private, halves[0]):
        released = table.count_released()
        tensor = table.block(entry.id, 6, entry.id, False)
        assert (tensor.device, tensor.usm_type, tensor.readonly) == (entry, "shared", False)
        assert (tensor.shape, tensor.strides) == ((3, 2), (1, 3))
        assert tensor.to_numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
        array = dpnp.from_dlpack(tensor)
        assert dpnp.asnumpy(array).tolist() == [[0, 3], [1, 4], [2, 5]]
        part = tensor[1:]
        del tensor, array
        gc.collect()
        assert table.count_released() == released
        del part  # dpctl's own thread may have held the array until now
        gc.collect()
        assert eventually(lambda wanted=released + 1: table.count_released() == wanted)


def test_a_read_only_block(table, root):
    tensor = table.block(root.id, 6, root.id, True)
    assert tensor.readonly
    with pytest.raises(BufferError, match="read-only"):
        tensor.copy_from(np.zeros(6, "float32"))


def test_a_block_of_another_context_is_refused_and_released(table, root, private):
    released = table.count_released()
    with pytest.raises(BufferError) as caught:
        table.block(root.id, 6, private.id, False)
    message = str(caught.value)
    assert f"not USM of the default context of device (14, {root.id})" in message
    assert f"private context of device (14, {private.id})" in message
    assert table.count_released() == released + 1


def test_memory_of_a_python_object(table, root):
    tensor = sx.empty(6, device=root).copy_from(values(6))
    count = sys.getrefcount(tensor)
    again = table.over(tensor)
    assert again.ptr == tensor.ptr
    assert sys.getrefcount(tensor) == count + 1
    del again
    assert eventually(lambda: sys.getrefcount(tensor) == count)


def test_without_a_binding_library_the_message_names_the_same(table):
    with pytest.raises(
        TypeError,
        match=r"usm_view\[float32\] is needed, and Tensor\(.*dtype=float64.*\) has another dtype",
    ):
        table.over(sx.zeros(3, "float64"))


def test_new_tensors(table, root, private):
    for entry in (root, private):
        for number, usm_type in enumerate(("device", "shared", "host")):
            tensor = table.make(entry.id, number)
            assert (tensor.device, tensor.usm_type) == (entry, usm_type)
            assert (tensor.shape, tensor.dtype) == ((2, 3), np.dtype("int16"))
    with pytest.raises(ValueError, match="usm_kind is 3"):
        table.make(root.id, 3)
    with pytest.raises(ValueError, match="there is no device 999"):
        table.make(999, 0)


# ---- usm_resource --------------------------------------------------------------------------------


@pytest.fixture
def with_resource(table):
    """The functions of a resource, which is dropped at the end of the test."""
    yield table
    table.drop_resource()


@pytest.mark.parametrize("on_thread", [False, True])
def test_memory_for_containers(with_resource, on_thread, root, private, halves):
    before = _core._test.live_allocations()
    for entry in (root, private, *halves):
        for number, usm_type in enumerate(("device", "shared", "host")):
            assert with_resource.use_resource(entry.id, number, 0) == entry.id
            made = {}
            for alignment in (1, 8, 64, 256, 4096, 1 << 20):
                for nbytes in (0, 1, 1000):
                    address = with_resource.allocate(nbytes, alignment, on_thread)
                    assert address % alignment == 0, (usm_type, alignment)
                    assert with_resource.entry_of_pointer(address) == (entry.id, number)
                    made[address] = nbytes
            assert len(made) == 18
            for address in made:
                with_resource.deallocate(address, not on_thread)
            assert eventually(lambda: _core._test.live_allocations() == before)


def test_a_resource_for_a_queue(with_resource, root):
    """Its context becomes an entry of the table."""
    context = dpctl.SyclContext([root.sycl_device])
    queue = dpctl.SyclQueue(context, root.sycl_device, property="in_order")
    entry = with_resource.use_resource(0, 1, queue.addressof_ref())
    assert sx.device(entry).sycl_context == context
    address = with_resource.allocate(100, 64, False)
    assert with_resource.entry_of_pointer(address) == (entry, 1)


def test_what_is_left_goes_with_the_resource(with_resource, root):
    before = _core._test.live_allocations()
    with_resource.use_resource(root.id, 0, 0)
    with_resource.allocate(100, 64, True)
    assert _core._test.live_allocations() == before + 1
    with_resource.drop_resource()
    assert eventually(lambda: _core._test.live_allocations() == before)


@pytest.mark.parametrize("on_thread", [False, True])
@pytest.mark.parametrize("nbytes", [1 << 50, sys.maxsize, -1])  # -1: the largest size_t
def test_a_resource_that_runs_out(with_resource, root, nbytes, on_thread):
    before = _core._test.live_allocations()
    with_resource.use_resource(root.id, 0, 0)
    with pytest.raises(MemoryError):
        with_resource.allocate(nbytes, 64, on_thread)
    assert _core._test.live_allocations() == before
    assert with_resource.allocate(64, 64, on_thread)


def test_a_resource_after_the_end_of_python(table):
    """As a container that is a static does."""
    code = """
from extensions import labs
table = labs.load("table_lab")
table.use_resource(0, 1, 0)
table.allocate_after_python()
"""
    assert environments.python(code, inherit=True) == "bad_alloc\n"


def test_a_resource_of_no_usm(with_resource, root):
    with pytest.raises(ValueError, match="device, shared or host USM"):
        with_resource.use_resource(root.id, 3, 0)


def test_a_block_with_pending_work_is_given_to_nobody(table, root):
    assert not table.reused_while_pending(root.id, 1 << 16)


def test_a_vector_becomes_a_tensor(table, root, private):
    before = _core._test.live_allocations()
    for entry in (root, private):
        tensor = table.numbers(entry.id, 1000)
        assert (tensor.device, tensor.usm_type) == (entry, "shared")
        array = dpnp.from_dlpack(tensor)
        del tensor
        assert int(dpnp.sum(array)) == 499500
        del array
        gc.collect()
        assert eventually(lambda: _core._test.live_allocations() == before)


# ---- the table -----------------------------------------------------------------------------------


def test_the_table_is_the_one_of_python(table, private, halves):
    kinds = ("root", "sub_device", "context")
    for id_, root_id, parent_id, kind, default, host_memory, in_context in table.entries():
        entry = sx.device(id_)
        parent = None if parent_id < 0 else sx.device(parent_id)
        assert (entry.root_id, entry.parent, entry.kind) == (root_id, parent, kinds[kind])
        assert (entry.default_context, entry.host_accessible("device")) == (default, host_memory)
        assert in_context


def test_whose_a_pointer_is(table, private):
    tensor = sx.zeros(3, usm_type="shared", device=private)
    assert table.entry_of_pointer(tensor.ptr) == (private.id, 1)
    assert table.entry_of_pointer(np.zeros(3).ctypes.data) == (-1, -1)


@pytest.mark.parametrize(("major", "nbytes"), [(99, 4096), (1, 64)])
def test_another_version_of_the_c_table_is_refused(major, nbytes):
    labs.build_all()
    environments.python(f"""
import ctypes
import sycl_ext
from dlpack_conformance import structs as dlpack_ctypes
from extensions import labs
table = (ctypes.c_uint32 * 2)({major}, {nbytes})
name = b"sycl_ext._core._C_API"
sycl_ext._core._C_API = dlpack_ctypes.new_capsule(ctypes.addressof(table), name)
for lab in ("table_lab", "scatter_rows"):
    try:
        labs.load(lab)
    except ImportError as error:
        message = f"{{error}} {{error.__cause__}}"  # pybind11 puts an ImportError of its own before
        assert "C table {major} ({nbytes} bytes)" in message, message
        assert "build it again" in message, message
    else:
        raise AssertionError(lab)
""")


def test_an_extension_for_another_sycl_runtime_is_refused():
    """It would hand over queues of its own libsycl, which ours must not follow."""
    labs.build_all()
    assert labs.load("version_lab").__name__ == "version_lab"
    ours = _core.loaded_libsycl()[0].rpartition(".so.")[2]
    with pytest.raises(
        ImportError,
        match=rf"works with libsycl\.so\.{ours}, and this extension was built against "
        r"libsycl\.so\.8: .*build it again",
    ):
        labs.load("version_lab_8")


# ---- the example ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "more", "device", "lines"),
    [
        ("cpu", {}, "cpu", 8),
        ("two_platforms", {}, "cpu:1", 8),
        pytest.param("level_zero_v2", {}, "cpu", 8, marks=pytest.mark.long),
        ("opencl_gpu", {}, "opencl:gpu:1", 6),
        ("level_zero_v2", {"FAKEGPU_DELAY_US": "3000"}, "level_zero:gpu:1", 6),
    ],
)
def test_the_example(where, more, device, lines, tmp_path_factory):
    labs.build_all()
    scratch = tmp_path_factory.getbasetemp()
    variables = environments.variables_of(where, scratch)
    folder = labs.library("scatter_rows").parent
    done = subprocess.run(
        [sys.executable, str(labs.EXAMPLES["scatter_rows"] / "run.py"), device],
        env={**environments.clean_environment(), **variables, **more, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == lines
    assert done.stdout.count(" ok, ") == lines


def test_the_example_is_asynchronous():
    """It returns while the copies are held, and a reader of the target waits for them."""
    labs.build_all()
    environments.python(
        """
import threading, time
import numpy as np, sycl_ext as sx
from extensions import labs
from level_zero import control
example = labs.load("scatter_rows")
gpu = sx.device("level_zero:gpu:0")
target, source = sx.zeros((6, 4), device=gpu), sx.empty((3, 4), device=gpu)
source.copy_from(np.ones((3, 4), "float32"))
adapter = control.loaded()
before = adapter.fakegpu_copies()
adapter.fakegpu_set_delay_us(20_000_000)
example.scatter_rows(target, [4, 1, 0], source)
assert adapter.fakegpu_copies() == before
threading.Timer(0.2, lambda: adapter.fakegpu_set_delay_us(0)).start()
assert target.to_numpy()[:, 0].tolist() == [1, 1, 0, 0, 1, 0]
assert adapter.fakegpu_copies() >= before + 3

# A source that goes meanwhile is freed after the copies: the stand-in aborts otherwise.
adapter.fakegpu_set_delay_us(20_000)
for _ in range(3):
    example.scatter_rows(target, [0], sx.zeros((1, 4), device=gpu))
adapter.fakegpu_set_delay_us(0)
assert target.to_numpy()[0].tolist() == [0, 0, 0, 0]
""",
        environments.level_zero(),
    )


def test_what_the_example_refuses():
    example = labs.load("scatter_rows")
    target, source = np.zeros((6, 4), "float32"), np.ones((3, 4), "float32")
    for arguments, error in (
        ((target, [0, 1], source), ValueError),
        ((target, [0, 1, 6], source), IndexError),
        ((target, [0, 1, -1], source), IndexError),
        ((target, [0, 1, 2], source.astype("float64")), ValueError),
        ((target, [0, 1, 2], source[:, :3]), ValueError),
        ((target, [0, 1, 2], source[:, ::-1]), ValueError),
        ((np.broadcast_to(target[:1], (6, 4)), [0, 1, 2], source), BufferError),
        ((np.array(1, "float32"), [], source), ValueError),
        ((target, [0, 1, 2], "source"), TypeError),
    ):
        with pytest.raises(error):
            example.scatter_rows(*arguments)
    assert not target.any()
    example.scatter_rows(target, [5, 3, 1], source[::-1])
    assert target[:, 0].tolist() == [0, 1, 0, 1, 0, 1]


# ---- the example with a kernel -------------------------------------------------------------------


def run_axpy(where, device, scratch):
    labs.build_all()
    return subprocess.run(
        [sys.executable, str(labs.EXAMPLES["axpy"] / "run.py"), device],
        env={
            **environments.clean_environment(),
            **environments.variables_of(where, scratch),
            "PYTHONPATH": str(labs.library("axpy").parent),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("where", "device", "lines"),
    [("cpu", "cpu", 8), ("two_platforms", "cpu:1", 8), ("opencl_gpu_kernels", "gpu", 6)],
)
def test_the_kernel_runs_on_the_arrays_of_every_library(where, device, lines, tmp_path_factory):
    done = run_axpy(where, device, tmp_path_factory.getbasetemp())
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == lines
    assert done.stdout.count(" ok, ") == lines


def test_a_device_without_kernels_says_so(tmp_path_factory):
    done = run_axpy("level_zero_v2", "level_zero:gpu:0", tmp_path_factory.getbasetemp())
    assert done.returncode == 1, done.stdout
    assert re.search(r"^RuntimeError: .*'Fake GPU 0'", done.stdout, re.M | re.S), done.stdout


def test_what_the_kernel_refuses():
    example = labs.load("axpy")
    x, y = np.ones(3, "float32"), np.zeros(3, "float32")
    with pytest.raises(ValueError, match="x has 2 elements, and y has 3"):
        example.axpy(1, x[:2], y)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        example.axpy(1, x, y.astype("float64"))
    with pytest.raises(BufferError, match="is read-only, and this function writes to it"):
        example.axpy(1, x, np.broadcast_to(y[0], 3))
    example.axpy(2, x[:0], y[:0])
    example.axpy(2, x[::-1], y)
    assert y.tolist() == [2, 2, 2]


# ---- the CMake package ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "standard", "call", "says"),
    [
        ("16.2", "", "put", True),
        ("16.2", "20", "put", True),
        ("16.2", "17", "put", False),
        ("15.3", "20", "put", False),
        ("16.2", "20", "ipc::event::put", False),
    ],
)
def test_a_compiler_that_cannot_compile_all_of_sycl(version, standard, call, says, tmp_path):
    headers = tmp_path / "sycl" / "ext" / "oneapi" / "experimental"
    headers.mkdir(parents=True)
    (headers / "ipc_event.hpp").write_text(f"  return {call}(handle, context);\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(user LANGUAGES NONE)\n"
        "find_package(sycl_ext CONFIG REQUIRED)\n"
    )
    definitions = {
        "sycl_ext_DIR": sx.get_cmake_dir(),
        "sycl_ext_SYCL_INCLUDE_DIR": tmp_path,
        "Python_EXECUTABLE": sys.executable,
        "CMAKE_CXX_COMPILER_ID": "GNU",
        "CMAKE_CXX_COMPILER_VERSION": version,
        "CMAKE_CXX_STANDARD": standard,
    }
    configure = [
        Path(sysconfig.get_path("scripts")) / "cmake",
        "-S",
        tmp_path,
        "-B",
        tmp_path / "build",
    ]
    configure += [f"-D{name}={value}" for name, value in definitions.items() if value]
    done = subprocess.run(configure, capture_output=True, text=True, check=True)
    assert ("does not compile <sycl/sycl.hpp>" in done.stdout) is says, done.stdout


# ---- the page ------------------------------------------------------------------------------------


PAGE = labs.ROOT / "docs" / "extension.md"


def test_what_the_page_shows(monkeypatch):
    """Its C++ is in the examples, which test_docs.py asserts; its Python runs."""
    for name in labs.EXAMPLES:
        monkeypatch.setitem(sys.modules, name, labs.load(name))
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, "extension.md", None, 0)
    imported = {
        example.source.split()[1] for example in examples.examples if "from " in example.source
    }
    assert imported == set(labs.EXAMPLES)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(examples, clear_globs=True).failed == 0


@pytest.mark.parametrize("build", ["g++", "cmake"])
def test_the_first_extension_builds_with_the_commands_of_the_page(build, tmp_path):
    commands = dict(
        re.findall(r"<!-- run: (\S+) -->\n```console\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    )
    script = re.sub(r"^\$ ", "", commands[build] + commands["use"], flags=re.MULTILINE)
    shutil.copytree(labs.EXAMPLES["clear"], tmp_path / "examples" / "clear")
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**environments.clean_environment(), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("build/clear*.so"))) == 1
