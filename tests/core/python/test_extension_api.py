# SPDX-License-Identifier: Apache-2.0
"""The C table for extensions, with invalid requests; see also test_extension_table."""

import ctypes
import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import pythonapi
from sycl_ext import _core
from waiting import eventually


class Error(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("message", ctypes.c_char * 1020))


Count = ctypes.CFUNCTYPE(ctypes.c_int32)
GetEntry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Error))
QueueOfEntry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(Error))
EntryOf = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Error))
EntryOfPointer = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Error)
)
EntryOfPair = EntryOfPointer
ViewOf = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.py_object, ctypes.c_void_p)
AsTensor = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int32, ctypes.c_int32)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ReleaseWithGil = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class View(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int32),
        ("dtype_code", ctypes.c_uint8),
        ("dtype_bits", ctypes.c_uint8),
        ("dtype_lanes", ctypes.c_uint16),
        ("entry", ctypes.c_int32),
        ("usm_kind", ctypes.c_int32),
        ("readonly", ctypes.c_int32),
        ("owner", ctypes.c_void_p),
    )


Wrap = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(View), ctypes.c_void_p, ctypes.c_void_p, Release
)


class Table(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("nbytes", ctypes.c_uint32),
        ("entry_count", Count),
        ("root_count", Count),
        ("get_entry", GetEntry),
        ("default_entry", EntryOf),
        ("queue_of_entry", QueueOfEntry),
        ("entry_of", EntryOfPair),
        ("entry_of_device", EntryOf),
        ("entry_of_queue", EntryOf),
        ("entry_of_pointer", EntryOfPointer),
        ("as_tensor", AsTensor),
        ("view_of", ViewOf),
        ("wrap", Wrap),
        ("make", ctypes.c_void_p),
        ("queue_of_owner", ctypes.c_void_p),
        ("release_owner", ReleaseWithGil),
        ("release_object", Release),
        ("libsycl_major", ctypes.c_uint32),
    )


def find_table():
    get = pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return Table.from_address(get(_core._C_API, b"sycl_ext._C_API"))


@pytest.fixture(scope="module")
def table():
    return find_table()


def test_rows_that_do_not_exist(table):
    error = Error()
    assert table.get_entry(999, None, ctypes.byref(error)) == -1
    assert (error.kind, b"there is no device 999" in error.message) == (3, True)
    assert table.queue_of_entry(-1, ctypes.byref(error)) is None
    assert b"there is no device -1" in error.message
    assert table.queue_of_entry(-1, None) is None


def test_null_is_no_object_of_sycl(table):
    for find, what in (
        (lambda error: table.entry_of(None, None, error), b"device"),
        (lambda error: table.entry_of_device(None, error), b"device"),
        (lambda error: table.entry_of_queue(None, error), b"queue"),
    ):
        error = Error()
        assert find(ctypes.byref(error)) == -1
        assert (error.kind, error.message) == (3, b"the address of the %s is NULL" % what)


def test_pointer_is_not_host_memory_when_devices_cannot_be_listed():
    """The devices cannot be listed; an extension must not read it as host memory."""
    environments.python(
        """
import ctypes
from test_extension_api import Error, find_table
error = Error()
assert find_table().entry_of_pointer(ctypes.addressof(error), None, ctypes.byref(error)) == -2
assert error.kind == 6 and b"listing the SYCL devices" in error.message, (error.kind, error.message)
assert find_table().entry_of_pointer(ctypes.addressof(error), None, None) == -2
""",
        {"ONEAPI_DEVICE_SELECTOR": "no selector"},
        near=Path(__file__),
    )


def test_view_of_host_memory_is_refused(table):
    with pytest.raises(TypeError, match="HostView is in host memory, so it has no SYCL device"):
        table.view_of(sx.host_view(bytearray(3)), None)
    with pytest.raises(
        TypeError, match="a sycl_ext tensor is required, not an object of type list"
    ):
        table.view_of([], None)


def test_table_names_its_sycl_runtime(table):
    assert table.nbytes == ctypes.sizeof(Table)
    (ours,) = _core.loaded_libsycl()
    assert ours.endswith(f".so.{table.libsycl_major}")


def test_as_tensor_of_a_tensor_copies_when_asked(table, halves):
    tensor = sx.zeros(3, usm_type="shared")
    assert table.as_tensor(tensor, -1, -1) is tensor
    assert table.as_tensor(tensor, -1, 0) is tensor
    copied = table.as_tensor(tensor, -1, 1)
    assert copied.ptr != tensor.ptr
    assert table.as_tensor(tensor, halves[0].id, 1).device is halves[0]
    with pytest.raises(sx.CopyRefusedError):
        table.as_tensor(tensor, halves[0].id, 0)


def test_host_memory_is_finished_when_its_owner_is_released():
    """The owner of a pointer is found without a queue."""
    environments.python(
        """
import ctypes, threading
import dpctl, dpctl.memory, dpctl.utils
import numpy as np
import sycl_ext as sx
from test_extension_api import Table, View, find_table

table = find_table()
queue = sx.device().sycl_queue
array = np.zeros(8, "uint8")
tensor = sx.as_tensor(array, copy=False)
view = View()
assert table.view_of(tensor, ctypes.addressof(view)) == 0
gate = threading.Event()
source = dpctl.memory.MemoryUSMHost(8, queue=queue)
memoryview(source)[:] = b"1" * 8

class Gate:  # a host task of dpctl drops it, with the GIL: the queue waits for that
    def __del__(self):
        gate.wait(20)

event = queue.memcpy_async(dpctl.memory.MemoryUSMHost(8, queue=queue), source, 8)
queue._submit_keep_args_alive((Gate(),), [event])
barrier = queue.submit_barrier()
pending = queue.memcpy_async(array, source, 8, [barrier])
dpctl.utils.SequentialOrderManager[queue].add_event_pair(pending, pending)
threading.Timer(0.3, gate.set).start()
table.release_owner(view.owner)
assert array.tobytes() == b"1" * 8
queue.wait()
""",
        near=__file__,
    )


@pytest.mark.parametrize("own_queue", [False, True], ids=["device's queue", "own queue"])
def test_view_queue_comes_after_pending_copies(own_queue):
    """An extension looks at the queue, which copies are not on."""
    environments.python(
        f"""
import ctypes, threading
import dpctl, dpctl.memory
import sycl_ext as sx
from sycl_ext import _core
from test_extension_api import View, find_table

class Gate:  # a host task of dpctl drops it, with the GIL: the queue waits for that
    def __del__(self):
        gate.wait(20)

gate, device = threading.Event(), sx.device()
own, before = (
    dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order") for _ in range(2)
)
tensor = sx.zeros(8, "uint8", device=own if {own_queue} else device)
source = sx.zeros(8, "uint8", usm_type="host", device=before)
source.copy_from(b"1" * 8)
memory = dpctl.memory.as_usm_memory(tensor)
landing = dpctl.memory.MemoryUSMHost(8, queue=own)
before._submit_keep_args_alive((Gate(),), [])
copy = tensor.copy_from(source, wait=False)
assert not copy.done()
threading.Timer(0.3, gate.set).start()
view = View()
assert find_table().view_of(tensor, ctypes.addressof(view)) == 0
address = ctypes.cast(
    find_table().queue_of_owner, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
)
queue = dpctl.SyclQueue(_core.queue_at_untrusted(address(view.owner))._get_capsule())
queue.memcpy_async(landing, memory, 8)
queue.wait()
assert bytes(landing.copy_to_host()) == b"1" * 8
before.wait()
copy.wait()
""",
        near=__file__,
    )


#: The defect of a view, and the exception for it.
WRONG_VIEWS = {
    "entry": ({"entry": 1_000_000}, ValueError),
    "dtype": ({"dtype_bits": 7}, BufferError),
    "ndim": ({"ndim": -1}, ValueError),
    "memory": ({"data": 1 << 40}, BufferError),
}


@pytest.mark.parametrize("owner", [None, 0x1234])
@pytest.mark.parametrize("wrong", [None, *WRONG_VIEWS])
def test_owner_is_released_once(table, owner, wrong):
    """On every path, and also when it is NULL: memory may be kept without a pointer."""
    memory = sx.zeros(3, usm_type="shared")
    shape = (ctypes.c_int64 * 1)(3)
    view = View(memory.ptr, shape, None, 1, 2, 32, 1, memory.device.id)
    changes, error = WRONG_VIEWS[wrong] if wrong else ({}, None)
    for name, value in changes.items():
        setattr(view, name, value)
    released = []
    release = Release(released.append)
    if error is None:
        tensor = table.wrap(ctypes.byref(view), None, owner, release)
        other = tensor[1:]
        assert tensor.ptr == memory.ptr
        del tensor
        assert released == []
        del other
    else:
        with pytest.raises(error):
            table.wrap(ctypes.byref(view), None, owner, release)
    gc.collect()
    assert eventually(lambda: released == [owner])
    assert eventually(lambda: not _core._test.deferred_frees())
    if error is None:
        exports = [sx.host_view(table.wrap(ctypes.byref(view), None, owner, release))]
        with pytest.raises(ZeroDivisionError):  # which the function, in Python, does not meet
            (np.from_dlpack(exports.pop()), 1 / 0)
        assert eventually(lambda: released == [owner, owner])
        holder = type("Holder", (), {})()  # in a cycle, which the collector finds
        pythonapi.Py_IncRef(ctypes.py_object(holder))
        holder.t = table.wrap(ctypes.byref(view), None, id(holder), table.release_object)
        seen = weakref.ref(holder)
        del holder
        assert eventually(lambda: gc.collect() >= 0 and seen() is None)
        # Without `release` there is nothing to do; and what drops Python objects drops no NULL.
        for function in (Release(), table.release_object):
            assert table.wrap(ctypes.byref(view), None, None, function).ptr == memory.ptr
