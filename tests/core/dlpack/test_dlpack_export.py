# SPDX-License-Identifier: Apache-2.0
"""Exports: capsules, every field in them, and every answer to ``__dlpack__``'s keywords."""

import inspect
import threading

import dpctl
import numpy as np
import pytest

import environments
import samples
import sycl_ext as sx
from dlpack_conformance.structs import (
    IS_COPIED,
    READ_ONLY,
    call_deleter,
    capsule_name,
    lengths,
    managed_in,
    take,
)
from producers import check_export
from samples import LAYOUTS, bits, values

VERSIONED = {"max_version": (1, 0)}
HOST = {"dl_device": (1, 0), **VERSIONED}


def read(capsule):
    """The device, flags and address in a versioned capsule."""
    managed = managed_in(capsule)
    dl = managed.dl_tensor
    return (dl.device.device_type, dl.device.device_id), managed.flags, dl.data


def content(capsule):
    """The bytes behind a capsule, as this package reads it."""
    return bits(sx.from_dlpack(capsule).to_numpy())


# ---- the contract --------------------------------------------------------------------------------


def test_contract(usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, _ = layout.tensor(dtype, usm_type)
            check_export(tensor)
            check_export(tensor.as_readonly())


def test_contract_of_host_views(usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, array = layout.tensor(dtype, usm_type)
            for source in (tensor, tensor.as_readonly(), array):
                check_export(sx.host_view(source))


def test_signature():
    with pytest.raises(TypeError, match="takes 0 positional"):
        sx.zeros(3).__dlpack__(None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'strem'"):
        sx.zeros(3).__dlpack__(strem=None)
    parameters = inspect.signature(sx.Tensor.__dlpack__).parameters
    assert list(parameters) == ["self", "stream", "max_version", "dl_device", "copy"]
    with pytest.raises(TypeError):
        sx.zeros(3).__dlpack_device__(1)


def test_dlpack_is_defined_on_the_type():
    """nanobind looks it up there."""
    for cls in (sx.Tensor, sx.HostView):
        assert callable(cls.__dlpack__)
        assert callable(cls.__dlpack_device__)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 99), "dltensor_versioned"),
        ((2, 0), "dltensor_versioned"),
        ((10**30, 0), "dltensor_versioned"),
        ([1, 0], "dltensor_versioned"),
        (np.array([1, 0]), "dltensor_versioned"),
    ],
)
def test_versions(version, name):
    assert capsule_name(sx.zeros(3).__dlpack__(max_version=version)) == name


@pytest.mark.parametrize("version", [(1,), (1, 0, 0), 1, "1.0", (None, 0), True])
def test_no_version(version):
    with pytest.raises(TypeError, match="max_version"):
        sx.zeros(3).__dlpack__(max_version=version)


# ---- the export table (R1) -----------------------------------------------------------------------


def test_root_memory(usm_type):
    tensor = sx.empty((2, 3), usm_type=usm_type).copy_from(values((2, 3)))
    for device in (None, (14, 0), [14, 0]):
        for copy in (None, False):
            asked = {"dl_device": device, "copy": copy, **VERSIONED}
            assert read(tensor.__dlpack__(**asked)) == ((14, 0), 0, tensor.ptr)
        capsule = tensor.__dlpack__(dl_device=device, copy=True, **VERSIONED)
        found, flags, pointer = read(capsule)
        assert (found, flags) == ((14, 0), IS_COPIED)
        assert pointer != tensor.ptr
        assert content(capsule) == bits(values((2, 3)))


@pytest.mark.parametrize("where", ["private", "sub-device"])
def test_memory_of_another_context(where, private, halves, usm_type):
    entry = {"private": private, "sub-device": halves[0]}[where]
    tensor = sx.empty((2, 3), usm_type=usm_type, device=entry).copy_from(values((2, 3)))
    for device in (None, (14, 0)):
        for copy in (None, True):
            capsule = tensor.__dlpack__(dl_device=device, copy=copy, **VERSIONED)
            found, flags, pointer = read(capsule)
            assert (found, flags) == ((14, 0), IS_COPIED)
            assert pointer != tensor.ptr
            assert content(capsule) == bits(values((2, 3)))
        with pytest.raises(BufferError, match="copy=False.*default context.*pass copy=None"):
            tensor.__dlpack__(dl_device=device, copy=False, **VERSIONED)
    for copy in (None, False):
        asked = {"dl_device": (14, entry.id), "copy": copy, **VERSIONED}
        assert read(tensor.__dlpack__(**asked)) == ((14, entry.id), 0, tensor.ptr)
    other = halves[1].id
    capsule = tensor.__dlpack__(dl_device=(14, other), **VERSIONED)
    assert read(capsule)[:2] == ((14, other), IS_COPIED)
    assert content(capsule) == bits(values((2, 3)))
    with pytest.raises(BufferError, match="copy=False"):
        tensor.__dlpack__(dl_device=(14, other), copy=False, **VERSIONED)


def test_system_memory():
    array = values((2, 3))
    tensor = sx.from_dlpack(array)
    assert tensor.usm_type == "system"
    assert tensor.__dlpack_device__() == (14, 0)
    for device in (None, (14, 0)):
        for copy in (None, True):
            capsule = tensor.__dlpack__(dl_device=device, copy=copy, **VERSIONED)
            assert read(capsule)[:2] == ((14, 0), IS_COPIED)
            taken = sx.from_dlpack(capsule)
            assert taken.usm_type in samples.USM_TYPES
            assert bits(taken.to_numpy()) == bits(array)
        with pytest.raises(BufferError, match="copy=False"):
            tensor.__dlpack__(dl_device=device, copy=False, **VERSIONED)
    assert read(tensor.__dlpack__(**HOST)) == ((1, 0), 0, tensor.ptr)


def test_to_the_host(usm_type):
    tensor = sx.empty((2, 3), usm_type=usm_type).copy_from(values((2, 3)))
    for copy in (None, False):
        assert read(tensor.__dlpack__(copy=copy, **HOST)) == ((1, 0), 0, tensor.ptr)
    capsule = tensor.__dlpack__(copy=True, **HOST)
    device, flags, pointer = read(capsule)
    assert (device, flags) == ((1, 0), IS_COPIED)
    assert pointer != tensor.ptr
    assert pointer % 4096 == 0
    assert content(capsule) == bits(values((2, 3)))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_host_copy_is_compact(name):
    tensor, array = LAYOUTS[name].tensor("float64")
    capsule = tensor.__dlpack__(copy=True, **HOST)
    dl = managed_in(capsule).dl_tensor
    if array.ndim:
        assert lengths(dl.strides, array.ndim) == sx.empty(array.shape).strides
    assert content(capsule) == bits(array)


def test_no_negative_stride_reaches_the_host():
    """torch 2.13 ends the process when it meets one."""
    tensor = sx.empty((3, 4), "int32", usm_type="shared").copy_from(values((3, 4), "int32"))
    capsule = tensor[::-1].__dlpack__(**HOST)
    assert read(capsule)[:2] == ((1, 0), IS_COPIED)
    assert content(capsule) == bits(values((3, 4), "int32")[::-1])
    with pytest.raises(BufferError, match="negative stride"):
        tensor[::-1].__dlpack__(copy=False, **HOST)
    assert read(tensor[:1][::-1].__dlpack__(copy=False, **HOST))[2] == tensor.ptr


@pytest.mark.parametrize(
    "device", [(14, 1_000_000), (14, -1), (2, 0), (0, 0), (1, 1), (13, 0), (14, 2**40)]
)
@pytest.mark.parametrize("copy", [None, True, False])
def test_no_such_device(device, copy):
    for tensor in (sx.zeros(3), sx.host_view(np.zeros(3))):
        with pytest.raises(BufferError, match=rf"\({device[0]}, {device[1]}\)"):
            tensor.__dlpack__(dl_device=device, copy=copy, **VERSIONED)


@pytest.mark.parametrize("device", [14, "cpu", (14,), (14, 0, 0), ("a", "b"), (None, 0)])
def test_no_device_at_all(device):
    with pytest.raises(TypeError, match="pair"):
        sx.zeros(3).__dlpack__(dl_device=device, **VERSIONED)


@pytest.mark.parametrize("copy", [1, 0, "yes", object()])
def test_no_copy_argument(copy):
    with pytest.raises(TypeError, match="copy is"):
        sx.zeros(3).__dlpack__(copy=copy)


def test_a_refused_copy_is_both_errors():
    """The array API names BufferError in one place and ValueError in another."""
    tensor = sx.from_dlpack(np.zeros(3))
    for error in (BufferError, ValueError, sx.CopyRefusedError):
        with pytest.raises(error):
            tensor.__dlpack__(copy=False)


def test_whatever_leaves_as_usm_is_usm(private, halves):
    """A third-party consumer takes memory under (14, id) for USM of that entry, and so may we."""
    array = values((2, 3))
    sources = [
        sx.zeros((2, 3), device=where).copy_from(array) for where in (0, private, *halves)
    ] + [sx.from_dlpack(array), sx.host_view(array), sx.host_view(sx.from_dlpack(array).copy())]
    for source in sources:
        for entry in sx.devices():
            for copy in (None, True):
                capsule = source.__dlpack__(dl_device=(14, entry.id), copy=copy, **VERSIONED)
                taken = sx.from_dlpack(capsule)
                assert taken.device is entry
                assert taken.usm_type in samples.USM_TYPES
                assert bits(taken.to_numpy()) == bits(array)


# ---- read-only -----------------------------------------------------------------------------------


def test_read_only_memory():
    tensor = sx.zeros(3, usm_type="shared").as_readonly()
    for asked in (VERSIONED, HOST, {**VERSIONED, "copy": False}):
        assert read(tensor.__dlpack__(**asked))[1] == READ_ONLY
    for asked in ({}, {"max_version": (0, 8)}, {"dl_device": (1, 0)}, {"copy": False}):
        with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\).*copy=True"):
            tensor.__dlpack__(**asked)


def test_a_copy_of_read_only_memory_is_its_owners_own():
    tensor = sx.zeros(3, usm_type="shared").as_readonly()
    for asked in ({"copy": True}, {"copy": True, "dl_device": (1, 0)}):
        assert read(tensor.__dlpack__(**asked, **VERSIONED))[1] == IS_COPIED
        assert capsule_name(tensor.__dlpack__(**asked)) == "dltensor"
        assert not sx.from_dlpack(tensor.__dlpack__(**asked)).readonly


# ---- streams (R3) --------------------------------------------------------------------------------


class LikeTorchStream:
    """``torch.xpu.Stream``: the address of a ``sycl::queue`` as an int."""

    def __init__(self, queue):
        self.sycl_queue = queue.addressof_ref()


class WithCapsule:
    def __init__(self, queue):
        self._queue = queue

    def _get_capsule(self):
        return self._queue._get_capsule()


STREAMS = {
    "None": lambda queue: None,
    "-1": lambda queue: -1,
    "SyclQueue": lambda queue: queue,
    "capsule": lambda queue: queue._get_capsule(),
    "object with a capsule": WithCapsule,
    "address": lambda queue: queue.addressof_ref(),
    "torch.xpu.Stream": LikeTorchStream,
}


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("order", ["in_order", "enable_profiling"])
def test_streams(form, order, private):
    queues = [
        dpctl.SyclQueue(property=order),
        dpctl.SyclQueue(private.sycl_context, private.sycl_device, property=order),
    ]
    assert {queue.is_in_order for queue in queues} == {order == "in_order"}
    for tensor in (sx.zeros(3), sx.zeros(3, device=private), sx.zeros(3, device=queues[0])):
        for queue in queues:
            for copy in (None, True):
                stream = STREAMS[form](queue)
                capsule = tensor.__dlpack__(stream=stream, copy=copy, **VERSIONED)
                assert read(capsule)[0] == (14, 0)


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (0, ValueError),
        (1, ValueError),
        (2, ValueError),
        (-2, ValueError),
        (4096, ValueError),
        (2**63, ValueError),
        (2**70, ValueError),
        (True, TypeError),
        (1.5, TypeError),
        ("stream", TypeError),
        ({}, TypeError),
        (object(), TypeError),
        (dpctl.SyclDevice(), TypeError),
        (dpctl.SyclQueue().sycl_context._get_capsule(), TypeError),
    ],
)
def test_no_stream(stream, error):
    tensor = sx.zeros(3)
    for asked in ({}, VERSIONED, {"copy": True}, {"copy": False}):
        with pytest.raises(error, match="[qQ]ueue"):
            tensor.__dlpack__(stream=stream, **asked)


def test_an_address_that_holds_no_queue():
    """Readable memory that is not a ``sycl::queue`` is told from one that is."""
    context, junk = dpctl.SyclQueue().sycl_context, np.zeros(64)
    for address in (context.addressof_ref(), junk.ctypes.data, sx.zeros(64).ptr, id(junk)):
        with pytest.raises(ValueError, match="no sycl::queue"):
            sx.zeros(3).__dlpack__(stream=address)


def test_no_stream_to_the_host():
    for tensor in (sx.zeros(3, usm_type="shared"), sx.host_view(np.zeros(3))):
        for stream in (-1, dpctl.SyclQueue(), 7):
            with pytest.raises(BufferError, match="stream=None"):
                tensor.__dlpack__(stream=stream, **HOST)
    with pytest.raises(BufferError, match="stream=None"):
        sx.host_view(np.zeros(3)).__dlpack__(stream=-1)


# ---- deleters ------------------------------------------------------------------------------------


def test_the_deleter_needs_no_gil():
    """torch and jax call it without; here threads that Python does not know of do."""
    live = sx.memory.live_exports()
    owned = [take(sx.zeros(3).__dlpack__(**VERSIONED)) for _ in range(50)]
    owned += [take(sx.host_view(np.zeros(3)).__dlpack__()) for _ in range(50)]
    assert sx.memory.live_exports() == live + 100
    threads = [
        threading.Thread(target=call_deleter, args=(address,), kwargs={"versioned": versioned})
        for address, versioned in owned
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sx.memory.live_exports() == live


def test_the_deleter_keeps_a_pending_exception():
    """numpy, dpnp and pyarrow drop a capsule that they refuse while their exception is set."""
    live = sx.memory.live_exports()
    for source in (sx.zeros(3), sx.as_tensor(np.zeros(3)).copy()):
        # RuntimeError before NumPy 2.5
        with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
            np.from_dlpack(source)
    assert sx.memory.live_exports() == live


def test_the_deleter_works_after_the_interpreter():
    environments.python("""
import ctypes, numpy as np
import sycl_ext as sx
from dlpack_conformance.structs import STRUCTS, take

libc = ctypes.CDLL(None)
for source in (sx.zeros(3), sx.host_view(np.zeros(3)), sx.as_tensor(np.zeros(1000))):
    address, versioned = take(source.__dlpack__(max_version=(1, 0)))
    deleter = STRUCTS[versioned].from_address(address).deleter
    # C calls it at exit, when the interpreter is gone
    assert libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None) == 0
""")


def test_an_export_keeps_the_memory():
    capsule = sx.zeros(100_000, "uint8").copy_from(values(100_000, "uint8")).__dlpack__(**VERSIONED)
    others = [sx.empty(100_000, "uint8").copy_from(np.zeros(100_000, "uint8")) for _ in range(5)]
    assert content(capsule) == bits(values(100_000, "uint8"))
    del others


def test_live_exports():
    live = sx.memory.live_exports()
    tensor = sx.zeros(3)
    view = sx.host_view(tensor)
    capsules = [tensor.__dlpack__(**VERSIONED), tensor.__dlpack__(), tensor.__dlpack__(**HOST)]
    assert sx.memory.live_exports() == live + 3
    arrays = [np.from_dlpack(view), np.from_dlpack(view)]
    assert sx.memory.live_exports() == live + 5
    del capsules[1], tensor, view
    assert sx.memory.live_exports() == live + 4
    arrays.pop()
    assert sx.memory.live_exports() == live + 3
    del capsules, arrays
    assert sx.memory.live_exports() == live
