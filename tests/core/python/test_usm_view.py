# SPDX-License-Identifier: Apache-2.0
"""`usm_view` in C++ extensions: an argument of pybind11 and of nanobind, and a result."""

import contextlib
import gc
import json
import os
import re
import subprocess
import sys

import dpctl
import dpctl.memory
import dpnp
import ml_dtypes
import numpy as np
import pytest

import sycl_ext as sx
from extensions import labs
from producers import Raising
from samples import LAYOUTS, bits, values
from sycl_ext._negotiation.errors import NO_REFUSALS, REFUSALS
from waiting import eventually

pytestmark = pytest.mark.timeout(300)  # the first test builds the modules


@pytest.fixture(scope="module", params=["views_pybind11", "views_nanobind"])
def views(request):
    return labs.load(request.param)


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


def test_usm_view_takes_arrays_of_each_library(views):
    for name, array, device in arrays():
        expected = sx.as_tensor(array, copy=False)
        result = views.facts(array)
        pointer, shape, strides, entry, kind, readonly, compact, entry_of_queue, nbytes = result
        assert pointer == expected.ptr, name
        assert (tuple(shape), tuple(strides)) == (expected.shape, expected.strides)
        assert entry == entry_of_queue == device.id == expected.device.id
        assert ("device", "shared", "host", "system")[kind] == expected.usm_type
        assert (readonly, compact, nbytes) == (False, True, expected.nbytes)


def test_usm_view_has_the_queue_of_the_array(views, root):
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
def test_unfitting_argument_is_a_type_error(views, array):
    with pytest.raises(TypeError, match=re.escape('"usm_view[const float32]"')):
        views.total(array)


def test_dimensions(views):
    assert views.matrix(np.zeros((2, 3), "float32")) == 2
    for shape in ((), (3,), (2, 3, 4)):
        with pytest.raises(TypeError, match=re.escape('"usm_view[const float32, 2]"')):
            views.matrix(np.zeros(shape, "float32"))


def test_signatures_name_usm_views(views):
    """Without `const` the function writes the argument."""
    assert ': typing.Annotated[typing.Any, "usm_view[const any]"]' in views.same.__doc__
    assert views.same.__doc__.strip().endswith("-> sycl_ext.Tensor")
    signature = views.doubled.__doc__
    assert 'x: typing.Annotated[typing.Any, "usm_view[const float32, 1]"]' in signature
    assert 'out: typing.Annotated[typing.Any, "usm_view[float32, 1]"] | None = None' in signature
    assert 'x: typing.Annotated[typing.Any, "usm_view[const' in views.never_copied.__doc__
    overloads = re.findall(
        r"usm_view\[(.*?)\]", views.which.__doc__ or views.which.__nb_signature__
    )
    others = ("float32", "complex128", "bool", "float16", "bfloat16", "uint8")
    assert overloads == ["float32", *(f"const {name}" for name in others)]


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


def test_failing_producer_is_a_buffer_error(views):
    with pytest.raises(BufferError, match="no paper"):
        views.total(Raising(np.zeros(3), RuntimeError("no paper")))


def test_returned_view_becomes_a_tensor(views, root):
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


# ---- queues that a caller gives ------------------------------------------------------------------


def test_queue_of_python_is_the_same_queue(views):
    queue = dpctl.SyclQueue(property="in_order")
    ones = np.ones(3, "float32")
    tensor = sx.empty(3, usm_type="shared").copy_from(ones)
    for given in (queue, queue._get_capsule(), tensor, tensor.device, dpnp.ones(3)):
        tensor.copy_from(ones)
        views.clear_on(tensor, given)
        assert tensor.tolist() == [0, 0, 0], given
    assert queue._get_capsule() is not None  # dpctl's object is untouched


def test_queue_outlives_the_object_that_it_came_from(views):
    device = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))
    tensor = sx.empty(3, usm_type="shared", device=device).copy_from(np.ones(3, "float32"))
    queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device)
    views.keep_queue(queue)
    del queue
    gc.collect()
    assert views.use_queue(tensor) == device.id
    assert tensor.tolist() == [0, 0, 0]


@pytest.mark.parametrize("given", [3, "gpu", np.zeros(3), dpctl.SyclDevice()])
def test_object_that_is_not_a_queue_is_named(views, given):
    with pytest.raises(TypeError, match=r"the queue is .*; pass a dpctl\.SyclQueue"):
        views.clear_on(sx.empty(3), given)


def test_type_error_of_from_python_names_the_dtype_that_was_found(views):
    assert views.view_or_error(np.ones(3, "float32")) == 3
    for array, dtype_name in (
        (np.ones(3), "float64, 1"),
        (np.ones((2, 2), "float32"), "float32, 2"),
        (np.ones(3, "int8"), "int8, 1"),
        (np.ones(3, bool), "bool, 1"),
        (np.ones(3, "complex64"), "complex64, 1"),
        (np.ones(3, ml_dtypes.bfloat16), "bfloat16, 1"),
    ):
        said = (
            r"usm_view\[const float32, 1\] is required, but this numpy\.ndarray has a different .*"
            rf": it is usm_view\[{dtype_name}\]"
        )
        with pytest.raises(TypeError, match=said):
            views.view_or_error(array)


# ---- functions with out= -------------------------------------------------------------------------


def test_function_with_out(views, root, private, halves):
    for device in (root, private, *halves):
        for usm_type in ("shared", "host"):
            x = sx.full(3, 2, "float32", usm_type=usm_type, device=device)[::-1]
            made = views.doubled(x)
            assert (made.tolist(), made.usm_type) == ([4, 4, 4], usm_type)
            assert made.device is device
            out = sx.zeros(6, usm_type=usm_type, device=device)[::2]
            assert views.doubled(x, out).ptr == out.ptr
            assert views.doubled_alone(x, out=out).ptr == out.ptr
            assert out.tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="x and out differ in shape"):
        views.doubled(x, out[1:])


@pytest.mark.parametrize("name", ["doubled", "doubled_alone"])
def test_out_that_is_read_only_is_a_buffer_error(views, name):
    """The caster of nanobind for std::optional would end the process."""
    with pytest.raises(BufferError, match="read-only, and this function writes to it"):
        getattr(views, name)(sx.zeros(3), sx.zeros(3).as_readonly())


def test_element_of_a_container_that_cannot_be_viewed_is_refused(views):
    """nanobind converts elements in functions that may not throw: it ended the process."""
    refused = (sx.zeros(3).as_readonly(), np.zeros(3, ">f4"), Raising(np.zeros(3), KeyError()))
    assert views.sizes([sx.zeros(3), np.zeros(4, "float32")]) == [3, 4]
    assert views.size_of_pair((sx.zeros(3), 1)) == 3
    for array in refused:
        with pytest.raises((BufferError, TypeError, KeyError)):
            views.sizes([sx.zeros(3), array])
        with pytest.raises((BufferError, TypeError, KeyError)):
            views.size_of_pair((array, 1))


def test_none_in_a_container(views):
    """nanobind converts all elements by one caster, which kept the array before."""
    assert views.optional_sizes([sx.zeros(3), None, sx.zeros(5), None]) == [3, -1, 5, -1]


def test_element_that_its_container_loses(views):
    """The container had the only reference, and Python code runs while the element is taken."""
    array = np.zeros(3, "float32")

    class Loses:
        def __dlpack_device__(self):
            elements[0] = None
            return array.__dlpack_device__()

        def __dlpack__(self, **keywords):
            return array.__dlpack__(**keywords)

    elements = [Loses()]
    assert views.sizes(elements) == [3]


def test_view_is_moved_into_an_argument_and_a_member(views):
    tensor, holder = sx.zeros(3), views.Holder()
    assert views.size_of_moved(tensor) == 3
    for value in (tensor, None):
        holder.view = value
        assert holder.view is value


@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError, MemoryError, *NO_REFUSALS])
@pytest.mark.parametrize("name", ["total", "which", "never_copied", "doubled_alone"])
def test_exception_of_a_producer_that_is_no_refusal_goes_through(views, name, error):
    """Also where other overloads could be tried, and where nothing may be copied."""
    with pytest.raises(error):
        getattr(views, name)(Raising(np.zeros(3, "float32"), error()))


@pytest.mark.parametrize("error", REFUSALS)
def test_refusal_of_a_producer_is_an_array_that_does_not_fit(views, error):
    """The header names the same classes as the package; the argument has noconvert()."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        views.never_copied(Raising(np.zeros(3, "float32"), error()))


def test_queue_of_an_object_is_looked_up_once(views):
    """An object whose queue is the object itself made it recurse without an end."""

    class Endless:
        @property
        def sycl_queue(self):
            return self

    with pytest.raises(TypeError, match="the queue is .*; pass a dpctl.SyclQueue"):
        views.keep_queue(Endless())


def test_error_of_a_queue_goes_through(views):
    class Closed:
        @property
        def sycl_queue(self):
            raise KeyError("closed")

    class NotCallable:
        _get_capsule = None
        sycl_queue = sx.device().sycl_queue

    with pytest.raises(KeyError, match="closed"):
        views.keep_queue(Closed())
    views.keep_queue(NotCallable())


def test_make_like_is_empty_like(views, root, private, halves):
    queue = dpctl.SyclQueue(root.sycl_context, root.sycl_device)
    strided = sx.empty((3, 4), "bfloat16", usm_type="shared", device=private)[:, ::2]
    for array in (
        np.zeros((2, 3), "int16"),
        dpnp.zeros((2, 3), sycl_queue=queue),
        sx.zeros(3, device=queue),
        sx.zeros((), "complex64"),
        sx.zeros((0, 2), usm_type="host", device=halves[1]),
        sx.zeros(3).as_readonly(),
        strided,
    ):
        made, expected = views.like(array), sx.empty_like(array)
        assert made.ptr != sx.as_tensor(array).ptr or made.size == 0
        for name in ("shape", "strides", "dtype_name", "usm_type", "readonly", "sycl_queue"):
            assert getattr(made, name) == getattr(expected, name), name
        assert made.device is expected.device


def test_make_with_the_shape_and_the_device_of_a_view(views, root, private, halves):
    for device in (root, private, *halves):
        mask = views.mask(sx.zeros((2, 3), device=device))
        assert (mask.shape, mask.dtype, mask.device) == ((2, 3), bool, device)


def test_make_of_another_number_of_dimensions_is_refused(views):
    assert views.matrix_of([2, 3]).shape == (2, 3)
    with pytest.raises(ValueError, match="length of the shape is not the number of dimensions"):
        views.matrix_of([2, 3, 4])


def test_same_shape(views):
    matrix = sx.zeros((2, 3))
    for shape, same in (((2, 3), True), ((3, 2), False), ((2,), False), ((2, 3, 1), False)):
        assert views.same_shape(sx.zeros(shape, "int8"), matrix) is same
    assert views.same_shape(np.zeros((0, 3)), sx.zeros((0, 3)))


# ---- functions without overloads -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (
            (np.ones(3),),
            TypeError,
            "usm_view[const float32, 1] is required, but this numpy.ndarray"
            " has a different dtype: it is usm_view[float64, 1]",
        ),
        (
            (np.ones((3, 1), "float32"),),
            TypeError,
            "but this numpy.ndarray"
            " has a different number of dimensions: it is usm_view[float32, 2]",
        ),
        (
            (sx.zeros(3), sx.zeros(3, "int8").as_readonly()),
            TypeError,
            "usm_view[float32, 1] is required, but this Tensor has a different dtype:"
            " it is usm_view[const int8, 1]",
        ),
        (([1.0],), TypeError, "an object of type list exports no memory"),
        ((sx.zeros(3), "x"), TypeError, "an object of type str exports no memory"),
        ((Raising(np.zeros(3), RuntimeError("no paper")),), BufferError, "no paper"),
    ],
)
def test_error_of_an_argument_says_what_was_found(views, arguments, error, says):
    with pytest.raises(error, match=re.escape(says)):
        views.doubled_alone(*arguments)


def test_argument_takes_what_a_view_takes(views):
    assert views.any_written(bytearray(3)) == 3
    with pytest.raises(BufferError, match="read-only, and this function writes to it"):
        views.any_written(b"123")
    assert views.alone_never_copied(np.zeros(3, "float32")) == 3


@pytest.mark.parametrize("rounds", [1000, pytest.param(10_000, marks=pytest.mark.long)])
def test_calls_leave_nothing_behind(views, rounds):
    """Ten calls in each round: a new tensor, the caller's, and each error."""
    x, out = np.ones(3, "float32"), sx.zeros(3, usm_type="shared")
    wrong = (np.ones(3), np.ones((3, 1), "float32"), sx.zeros(3).as_readonly(), [1.0])

    def call():
        views.doubled(x)
        views.doubled_alone(x, out)
        for function in (views.doubled, views.doubled_alone):
            for argument in wrong:
                with contextlib.suppress(TypeError, BufferError):
                    function(x, argument)

    def counts():
        references = [sys.getrefcount(value) for value in (x, out, *wrong)]
        return references, sx._core._test.live_allocations()

    gc.collect()
    before = counts()
    call()  # the first call of each function loads what it needs
    blocks = sys.getallocatedblocks()
    for _ in range(rounds):
        call()
    assert eventually(lambda: counts() == before)
    gc.collect()
    assert sys.getallocatedblocks() < blocks + rounds


# ---- stubs ---------------------------------------------------------------------------------------

#: The command that writes the stub of a module to a folder.
STUBS = {
    "views_pybind11": ["pybind11_stubgen", "views_pybind11", "-o"],
    "views_nanobind": ["nanobind.stubgen", "-q", "-m", "views_nanobind", "-O"],
}
CALLS = """
import numpy as np
import {name} as views

made = views.doubled(np.ones(3), out=None)
made.fill(1)
made.as_array()                          # wrong
views.doubled_alone(bytearray(12), made)
views.doubled()                          # wrong
views.never_copied(np.ones(3))
size: int = views.same(made)             # wrong
"""
#: The command of a type checker, and its line of an error.  The overloads of `which` differ in the
#: element types of views alone, which type checkers do not know.
CHECKERS = {
    "mypy": ("mypy --strict --disable-error-code overload-cannot-match", r":(\d+): error"),
    "basedpyright": (f"basedpyright --pythonpath {sys.executable}", r":(\d+):\d+ - error"),
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_read_stubs(views, checker, tmp_path):
    pytest.importorskip(checker)
    name = views.__name__
    variables = {**os.environ, "PYTHONPATH": str(labs.library(name).parent)}
    command = [sys.executable, "-m", *STUBS[name], str(tmp_path)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    program, stub = tmp_path / "program.py", tmp_path / f"{name}.pyi"
    program.write_text(CALLS.format(name=name))
    settings = {"typeCheckingMode": "standard", "reportOverlappingOverload": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command, error = CHECKERS[checker]
    project = [] if checker == "mypy" else ["--project", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *project, str(stub), str(program)],
        cwd=labs.ROOT,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = {int(line) for line in re.findall(r"program\.py" + error, done.stdout)}
    wrong = {n for n, line in enumerate(program.read_text().splitlines(), 1) if "# wrong" in line}
    assert lines == wrong, done.stdout + done.stderr
    assert not re.search(rf"{stub.name}{error}", done.stdout), done.stdout


def test_pybind11_of_an_older_version_is_refused_by_name(tmp_path):
    (tmp_path / "pybind11").mkdir()
    (tmp_path / "pybind11" / "pybind11.h").write_text("#define PYBIND11_VERSION_MAJOR 2\n")
    source = tmp_path / "old.cpp"
    source.write_text("#include <sycl_ext/pybind11.hpp>\n")
    command = [*labs.compiler(), "-std=c++17", "-fsyntax-only", f"-I{tmp_path}"]
    done = subprocess.run(
        [*command, f"-I{sx.get_include()}", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "#error" in done.stderr
    assert "sycl_ext needs pybind11 3" in done.stderr
