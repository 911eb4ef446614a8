# SPDX-License-Identifier: Apache-2.0
"""C++ extensions and the C table: memory that becomes tensors, memory for containers, the rows."""

import gc
import sys

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import environments
import sycl_ext as sx
from extensions import labs
from samples import values
from sycl_ext import _core
from waiting import eventually

pytestmark = pytest.mark.timeout(300)  # the first test builds the modules


@pytest.fixture(scope="module")
def table():
    return labs.load("table_lab")


# ---- the way back --------------------------------------------------------------------------------


def test_block_of_an_extension_is_released_with_the_last_view(table, root, private, halves):
    for entry in (root, private, halves[0]):
        released = table.count_released()
        tensor = table.block(entry.id, 6, entry.id, False)
        assert (tensor.device, tensor.usm_type, tensor.readonly) == (entry, "shared", False)
        assert (tensor.shape, tensor.strides) == ((3, 2), (1, 3))
        assert tensor.to_numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
        array = dpnp.from_dlpack(tensor)
        assert dpnp.asnumpy(array).tolist() == [[0, 3], [1, 4], [2, 5]]
        view = tensor[1:]
        del tensor, array
        gc.collect()
        assert table.count_released() == released
        del view  # dpctl's own thread may have held the array until now
        gc.collect()
        assert eventually(lambda wanted=released + 1: table.count_released() == wanted)


def test_read_only_block_refuses_writes(table, root):
    tensor = table.block(root.id, 6, root.id, True)
    assert tensor.readonly
    with pytest.raises(BufferError, match="read-only"):
        tensor.copy_from(np.zeros(6, "float32"))


def test_functions_that_need_the_gil_say_so(table):
    """Without it, the interpreter crashed."""
    tensor = sx.zeros(3, "float32")
    references = sys.getrefcount(tensor)
    assert table.needs_gil(tensor) == 6
    assert sys.getrefcount(tensor) == references


def test_block_of_another_context_is_refused_and_released(table, root, private):
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
        match=r"usm_view\[float32\] is required, but this Tensor has a different dtype: "
        r"it is usm_view\[float64, 1\]",
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


def test_queue_of_another_device_or_context_is_refused(table, root, private, halves):
    tensor = sx.zeros(3, "float32", device=root)
    references = sys.getrefcount(tensor)
    for entry in (private, *halves):
        queue = entry.sycl_queue
        words = f"the queue is on device {entry.id}, but the memory is on device {root.id}; pass a"
        with pytest.raises(ValueError, match=words):
            table.make(root.id, 0, queue.addressof_ref())
        with pytest.raises(ValueError, match=words):
            table.over(tensor, queue.addressof_ref())
        assert table.make(entry.id, 0, queue.addressof_ref()).device == entry
    assert sys.getrefcount(tensor) == references


# ---- usm_resource --------------------------------------------------------------------------------


@pytest.fixture
def with_resource(table):
    """The functions of a resource, which is dropped at the end of the test."""
    yield table
    table.drop_resource()


@pytest.mark.parametrize("on_thread", [False, True])
def test_memory_for_containers(with_resource, on_thread, root, private, halves):
    """Each alignment that a container may ask for, also beyond that of the runtime."""
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


def test_resource_for_a_queue_registers_its_context(with_resource, root):
    """Its context becomes an entry of the table."""
    context = dpctl.SyclContext([root.sycl_device])
    queue = dpctl.SyclQueue(context, root.sycl_device, property="in_order")
    entry = with_resource.use_resource(0, 1, queue.addressof_ref())
    assert sx.device(entry).sycl_context == context
    address = with_resource.allocate(100, 64, False)
    assert with_resource.entry_of_pointer(address) == (entry, 1)


def test_dropped_resource_frees_its_blocks(with_resource, root):
    before = _core._test.live_allocations()
    with_resource.use_resource(root.id, 0, 0)
    with_resource.allocate(100, 64, True)
    assert _core._test.live_allocations() == before + 1
    with_resource.drop_resource()
    assert eventually(lambda: _core._test.live_allocations() == before)


@pytest.mark.parametrize("on_thread", [False, True])
@pytest.mark.parametrize("nbytes", [1 << 50, sys.maxsize, -1])  # -1: the largest size_t
def test_exhausted_resource_throws_and_recovers(with_resource, root, nbytes, on_thread):
    """A size that no memory has, and two that overflow when they are rounded up."""
    before = _core._test.live_allocations()
    with_resource.use_resource(root.id, 0, 0)
    with pytest.raises(MemoryError):
        with_resource.allocate(nbytes, 64, on_thread)
    assert _core._test.live_allocations() == before
    assert with_resource.allocate(64, 64, on_thread)


@pytest.mark.parametrize("on_thread", [False, True])
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_exception_of_on_pressure_is_reported(with_resource, root, error, on_thread, monkeypatch):
    """`std::bad_alloc` does not carry it."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_type))

    def fails(nbytes):
        raise error

    sx.memory.limit(root, 1000, fails)
    try:
        with_resource.use_resource(root.id, 0, 0)
        with pytest.raises(MemoryError):
            with_resource.allocate(1 << 20, 64, on_thread)
    finally:
        sx.memory.limit(root, None)
    assert reported == [error]
    assert with_resource.allocate(64, 64, on_thread)


def test_resource_after_the_end_of_python_throws_bad_alloc(table):
    """As a container that is a static does."""
    code = """
from extensions import labs
table = labs.load("table_lab")
table.use_resource(0, 1, 0)
table.allocate_after_python()
"""
    assert environments.python(code, inherit=True) == "bad_alloc\n"


def test_resource_of_an_unknown_usm_kind_is_refused(with_resource, root):
    with pytest.raises(ValueError, match="device, shared or host USM"):
        with_resource.use_resource(root.id, 3, 0)


def test_block_with_pending_work_is_not_reused(table, root):
    """Of 64 KiB: the largest block that the pool of small blocks keeps."""
    assert not table.reused_while_pending(root.id, 1 << 16)


def test_vector_becomes_a_tensor(table, root, private):
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


def test_c_table_lists_the_devices_of_python(table, private, halves):
    kinds = ("root", "sub_device", "context")
    for id_, root_id, parent_id, kind, default, host_memory, in_context in table.entries():
        entry = sx.device(id_)
        parent = None if parent_id < 0 else sx.device(parent_id)
        assert (entry.root_id, entry.parent, entry.kind) == (root_id, parent, kinds[kind])
        assert (entry.default_context, entry.host_accessible("device")) == (default, host_memory)
        assert in_context


def test_pointer_is_attributed_to_its_entry(table, private):
    tensor = sx.zeros(3, usm_type="shared", device=private)
    assert table.entry_of_pointer(tensor.ptr) == (private.id, 1)
    assert table.entry_of_pointer(np.zeros(3).ctypes.data) == (-1, -1)


@pytest.mark.parametrize(("major", "nbytes"), [(99, 4096), (1, 64)])
def test_c_table_of_another_version_is_refused(major, nbytes):
    labs.build_all()
    environments.python(f"""
import ctypes
import sycl_ext
from dlpack_conformance import structs as dlpack_ctypes
from extensions import labs
table = (ctypes.c_uint32 * 2)({major}, {nbytes})
name = b"sycl_ext._C_API"
sycl_ext._C_API = dlpack_ctypes.new_capsule(ctypes.addressof(table), name)
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


def test_extension_for_another_sycl_runtime_is_refused():
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
