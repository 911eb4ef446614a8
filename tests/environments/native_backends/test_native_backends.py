# SPDX-License-Identifier: Apache-2.0
"""Devices of CUDA and HIP under the names that DLPack has for them, without such hardware.

An adapter poses as the backend: the drivers of these are not tested here.
"""

import os
import sys
import types

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import IS_COPIED, READ_ONLY, DLManagedTensorVersioned
from extensions import labs
from level_zero import control
from producers import over, read
from samples import bits, values
from sycl_ext import _core
from sycl_ext._cli import main
from waiting import eventually

BACKEND = os.environ["SYCL_EXT_ENVIRONMENT"]
#: DLPack's device types of the kinds of USM, as dlpack.h numbers them.
TYPES = {"cuda": {"device": 2, "shared": 13, "host": 3}, "hip": {"device": 10, "host": 11}}[BACKEND]
OTHERS = {"cuda": (10, 11), "hip": (2, 3, 13)}[BACKEND]
KINDS = list(TYPES)
NUMBERS = values((4, 5), "int32")
V1 = {"max_version": (1, 3)}


def numbers(device, usm_type="device"):
    return sx.empty((4, 5), "int32", usm_type=usm_type, device=device).copy_from(NUMBERS)


class Array:
    """An array of a library of that backend, over memory that SYCL can reach."""

    def __init__(self, tensor, device, **fields):
        self.tensor, self.device, self.fields = tensor, device, fields
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append((stream, dl_device, copy))
        if dl_device not in (None, self.device):
            raise BufferError("that library copies to nobody")
        self.made = over(self.tensor, device=self.device, **self.fields)
        return self.made.capsule()


# ---- names ---------------------------------------------------------------------------------------


def test_backend_is_the_posed_one(gpus, capsys):
    assert {gpu.backend for gpu in gpus} == {BACKEND}
    assert [gpu.id for gpu in gpus] == [1, 2]
    assert main(["devices"]) == 0
    assert "warning" not in capsys.readouterr().out  # of a selector without Level Zero


def test_native_types_resolve_to_the_gpus(gpus):
    for ordinal, gpu in enumerate(gpus):
        for usm_type, number in TYPES.items():
            _, may_be_host, entry, kind = _core.resolve(number, ordinal)
            assert may_be_host == (usm_type != "device")
            assert (entry.id, kind) == (gpu.id, usm_type)
            assert sx.device((number, ordinal)) is gpu
    assert {sx.dlpack.DeviceType(number).name.partition("_")[0] for number in TYPES.values()} == {
        {"cuda": "CUDA", "hip": "ROCM"}[BACKEND]
    }


@pytest.mark.parametrize("ordinal", [2, -1, 1 << 40])
def test_native_device_of_unknown_ordinal_is_refused(gpus, ordinal):
    pair = (TYPES["device"], ordinal)
    with pytest.raises(ValueError, match="must be a kDLOneAPI device"):
        sx.device(pair)
    with pytest.raises(BufferError, match="there is no such device"):
        numbers(gpus[0]).__dlpack__(dl_device=pair)


def test_types_of_the_other_backend_are_refused(gpus):
    for number in OTHERS:
        with pytest.raises(BufferError, match="there is no such device"):
            numbers(gpus[0]).__dlpack__(dl_device=(number, 0))
        with pytest.raises(BufferError):
            sx.from_dlpack(Array(numbers(gpus[0]), (number, 0)))


# ---- export --------------------------------------------------------------------------------------


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("ordinal", [0, 1])
def test_export_under_the_native_type_is_a_view(gpus, usm_type, ordinal):
    t = numbers(gpus[ordinal], usm_type)
    asked = (TYPES[usm_type], ordinal)
    assert read(t.__dlpack__(**V1))[0] == t.__dlpack_device__() == (14, gpus[ordinal].id)
    for copy in (None, False):
        assert read(t.__dlpack__(dl_device=asked, copy=copy, **V1)) == (asked, 0, t.ptr)
    again = sx.from_dlpack(t.__dlpack__(dl_device=asked, **V1))
    assert (again.ptr, again.device, again.usm_type) == (t.ptr, gpus[ordinal], usm_type)
    device, flags, data = read(t.as_readonly().__dlpack__(dl_device=asked, **V1))
    assert (device, flags, data) == (asked, READ_ONLY, t.ptr)
    device, flags, data = read(t.__dlpack__(dl_device=asked, copy=True, **V1))
    assert (device, flags) == (asked, IS_COPIED)
    assert data != t.ptr


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("asked", KINDS)
def test_export_under_another_kind_is_a_copy(gpus, usm_type, asked):
    t = numbers(gpus[0], usm_type)
    wanted = (TYPES[asked], 0)
    if asked == usm_type:
        return
    capsule = t.__dlpack__(dl_device=wanted, **V1)
    device, flags, data = read(capsule)
    assert (device, flags) == (wanted, IS_COPIED)
    assert data != t.ptr
    with pytest.raises(sx.CopyRefusedError, match="a different kind of memory"):
        t.__dlpack__(dl_device=wanted, copy=False)
    back = sx.from_dlpack(capsule)
    assert (back.usm_type, back.device) == (asked, gpus[0])
    assert bits(back.to_numpy()) == bits(NUMBERS)


def test_from_elsewhere(gpus):
    """A private context, the CPU device, the other GPU."""
    private = sx.register_context(dpctl.SyclContext([gpus[0].sycl_device]))
    asked = (TYPES["device"], 0)
    for device in (private, "opencl:cpu", gpus[1]):
        t = numbers(device)
        capsule = t.__dlpack__(dl_device=asked, copy=True, **V1)
        assert read(capsule)[:2] == (asked, IS_COPIED)
        assert bits(sx.from_dlpack(capsule).to_numpy()) == bits(NUMBERS)
        with pytest.raises(sx.CopyRefusedError):
            t.__dlpack__(dl_device=asked, copy=False)


def test_streams(gpus):
    """The library's stream is an int; the host waits, because SYCL cannot order such a stream."""
    t = numbers(gpus[0])
    asked = (TYPES["device"], 0)
    source = sx.empty((4, 5), "int32", usm_type="host", device=gpus[0]).copy_from(NUMBERS + 1)
    set_delay_us = control.loaded().fakegpu_set_delay_us
    for stream in (None, 0, 1, 2, np.int64(2), 0x7F00DEADBEEF):
        t.copy_from(NUMBERS)
        set_delay_us(20_000)
        copy = t.copy_from(source, wait=False)
        capsule = t.__dlpack__(dl_device=asked, stream=stream, **V1)
        assert copy.done()
        set_delay_us(0)
        assert read(capsule)[2] == t.ptr
    t.__dlpack__(dl_device=asked, stream=-1)
    for stream in ("1", 1.0, True, t.sycl_queue):
        with pytest.raises(TypeError, match="stream is"):
            t.__dlpack__(dl_device=asked, stream=stream)


# ---- import --------------------------------------------------------------------------------------


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("importer", [sx.from_dlpack, sx.as_tensor])
def test_import_of_the_native_type_is_a_view(gpus, usm_type, importer):
    owner = numbers(gpus[1], usm_type)
    array = Array(owner, (TYPES[usm_type], 1))
    t = importer(array)
    assert (t.ptr, t.device, t.usm_type) == (owner.ptr, gpus[1], usm_type)
    assert bits(t.to_numpy()) == bits(NUMBERS)
    # It was told a stream to be ready on: that of the device's queue.
    ((stream, dl_device, _copy),) = array.asked
    assert dl_device is None
    assert stream == _core.native_stream(gpus[1]._entry)
    assert stream > 2
    assert importer(array, copy=False).ptr == owner.ptr
    assert importer(array, copy=True).ptr != owner.ptr
    assert importer(array, device=gpus[0], copy=True).device is gpus[0]
    assert bits(sx.exchange(array, np)) == bits(NUMBERS)
    assert bits(np.from_dlpack(sx.host_view(array))) == bits(NUMBERS)


def test_wrong_native_claim_is_refused(gpus):
    """Memory of another device, and memory that is none of the device's."""
    t = numbers(gpus[0])
    with pytest.raises(BufferError):
        sx.from_dlpack(Array(t, (TYPES["device"], 7)))
    with pytest.raises(BufferError):
        sx.from_dlpack(Array(NUMBERS.copy(), (TYPES["device"], 0)))
    with pytest.raises(BufferError, match="labelled device 2 .'Fake GPU 1'.*on device .14, 1"):
        sx.from_dlpack(Array(t, (TYPES["device"], 1)), copy=False)
    capsule = _core.make_capsule(t, versioned=True, device=(TYPES["device"], 1))
    with pytest.raises(BufferError, match="its memory is not accessible there"):
        sx.from_dlpack(capsule)


# ---- exchange ------------------------------------------------------------------------------------


class Library(types.ModuleType):
    """A library of that backend, which knows no other device and names its stream."""

    def __init__(self, name, *, has_gpus=True):
        super().__init__(name)
        self.cuda = types.SimpleNamespace(is_available=lambda: has_gpus)

    def from_dlpack(self, x):
        device = x.__dlpack_device__()
        if device[0] not in TYPES.values():
            raise ValueError(f"unsupported device {device}")
        capsule = x.__dlpack__(stream=2, max_version=(1, 3))
        return *read(capsule), sx.from_dlpack(capsule).to_numpy()


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("name", ["a_library_of_gpus", "torch"])
def test_library_of_the_backend_is_given_a_view_under_its_name(gpus, usm_type, name, monkeypatch):
    library = Library(name)
    monkeypatch.setitem(sys.modules, name, library)
    for ordinal, gpu in enumerate(gpus):
        t = numbers(gpu, usm_type)
        for consumer in (library, library.from_dlpack) if name == "torch" else (library,):
            for copy in (None, False, True):
                plan = sx.explain(t, consumer, copy=copy)
                device, _, data, elements = sx.exchange(t, consumer, copy=copy)
                assert device == (TYPES[usm_type], ordinal)
                assert (data == t.ptr) == (plan.copies == 0) == (copy is not True)
                assert bits(elements) == bits(NUMBERS)


def test_library_without_gpus_is_given_host_memory(gpus, monkeypatch):
    torch = Library("torch", has_gpus=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    torch.from_dlpack = np.from_dlpack
    assert sx.explain(numbers(gpus[0]), torch).route is sx.Route.HOST_COPY
    assert bits(sx.exchange(numbers(gpus[0]), torch)) == bits(NUMBERS)
    with pytest.raises(sx.CopyRefusedError):
        sx.exchange(numbers(gpus[0]), torch, host_copy=False)


# ---- memory for others ---------------------------------------------------------------------------


def test_c_table_allocates_each_native_kind(gpus):
    """These device types say the kind of USM as well."""
    lab = labs.load("allocator_lab")
    for ordinal, gpu in enumerate(gpus):
        for usm_type, number in TYPES.items():
            device = (number, ordinal)
            address = lab.allocate(sx.Tensor, 2, device, (0, 32, 1), (4, 5))
            dl = DLManagedTensorVersioned.from_address(address).dl_tensor
            assert (dl.device.device_type, dl.device.device_id) == device
            tensor = lab.to_object(sx.Tensor, address)
            assert (tensor.device, tensor.usm_type) == (gpu, usm_type)
            assert bits(tensor.copy_from(NUMBERS).to_numpy()) == bits(NUMBERS)
        assert lab.stream(sx.Tensor, (TYPES["device"], ordinal))
        assert lab.stream(sx.Tensor, (TYPES["device"], ordinal)) != gpu.sycl_queue.addressof_ref()
    for device in ((TYPES["device"], 2), (TYPES["device"], -1), *((n, 0) for n in OTHERS)):
        kind, message = lab.allocate(sx.Tensor, 0, device, (0, 32, 1), (4, 5))
        assert kind == "BufferError"
        assert f"on device {device}" in message
        assert lab.stream(sx.Tensor, device) == 0


def test_block_that_a_native_stream_had_is_not_handed_out(gpus):
    """Nobody can ask a stream of CUDA or HIP: a free that waits gets its block, not a pool."""
    tensor = sx.empty(1000, "uint8", device=gpus[0])
    for stream in (None, -1, 1):
        tensor.__dlpack__(stream=stream, dl_device=(TYPES["device"], 0), **V1)
    sx.memory.release_cached()
    before = sx.memory.cached()
    del tensor
    assert eventually(lambda: not _core._test.deferred_frees())
    assert sx.memory.cached() == before
