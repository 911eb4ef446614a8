# SPDX-License-Identifier: Apache-2.0
"""Imports of well-behaved and of old producers: `test_dlpack_hostile` has the rest."""

import enum
import types

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import IS_COPIED, READ_ONLY, capsule_name, managed_in
from needs import needs
from producers import (
    BeforeVersions,
    Foreign,
    Ignoring,
    Managed,
    Producer,
    Raising,
    Table,
    over,
    with_table,
)
from samples import bits, numbers, values

#: USM, and host memory as the default device's system USM views it.
viewed = pytest.mark.parametrize("made", [numbers, values], ids=["USM", "host memory"])

# ---- how a producer is asked ---------------------------------------------------------------------


def test_producer_is_asked_with_all_keywords():
    assert sx.dlpack.VERSION == (1, 3)
    shared = dpctl.get_device_cached_queue(sx.device().sycl_device)
    for array, stream in ((values(3), None), (numbers(), shared)):
        producer = Producer(array)
        sx.from_dlpack(producer)
        asked = {"stream": stream, "max_version": (1, 3), "dl_device": None, "copy": None}
        assert producer.calls == [asked]


def test_type_error_of_a_producer_is_chained():
    """It has nothing to do with keywords."""
    producer = Raising(values(3), TypeError("unsupported operand"))
    with pytest.raises(BufferError, match="Raising.*unsupported operand") as caught:
        sx.from_dlpack(producer)
    assert isinstance(caught.value.__cause__, TypeError)
    assert len(producer.calls) == 2


class WithoutCopy(Producer):
    """Knows the keywords of DLPack 1.0 but ``copy``; its legacy struct cannot say "read-only"."""

    def __dlpack__(self, *, stream=None, max_version=None):
        self.calls.append({"stream": stream, "max_version": max_version})
        return self.make(versioned=max_version is not None, flags=READ_ONLY)


@pytest.mark.parametrize("import_it", [
    lambda x: sx.as_tensor(x, copy=False),
    lambda x: sx.from_dlpack(x, copy=False),
    lambda x: sx.from_dlpack(x, device=[sx.device()]),
    lambda x: sx.exchange(x, [sx.device()], copy=False),
])  # fmt: skip
def test_producer_that_lacks_one_keyword_is_asked_with_the_others(import_it):
    producer = WithoutCopy(numbers())
    assert import_it(producer).readonly
    assert producer.calls == [{"stream": sx.device()._entry.queue, "max_version": (1, 3)}]


def test_producers_copy_is_not_copied_again():
    tensor = numbers()
    capsule = over(tensor, flags=IS_COPIED).capsule()
    assert sx.from_dlpack(capsule, copy=True).ptr == tensor.ptr


def test_producers_copy_is_refused_with_copy_false():
    for array in (numbers(), values(3)):
        producer = Ignoring(array, flags=IS_COPIED)
        with pytest.raises(ValueError, match="copy=False.*Ignoring"):
            sx.from_dlpack(producer, copy=False)
        assert producer.deleted == [1]


def test_memory_of_a_producer_that_ignores_keywords_counts_where_it_is():
    """The returned memory counts for its actual device, not for the requested one."""
    tensor = numbers()
    producer = Ignoring(tensor)
    copied = sx.from_dlpack(producer, copy=True)
    assert copied.ptr != tensor.ptr
    assert sx.from_dlpack(producer, copy=False).ptr == tensor.ptr
    assert sx.from_dlpack(producer, device=tensor.device.id).ptr == tensor.ptr


# ---- a producer elsewhere ------------------------------------------------------------------------


@needs("system_usm")
def test_foreign_producer_is_asked_for_host_memory():
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        for copy in (None, True):
            producer = Foreign(values((2, 3)))
            taken = take(producer, copy=copy)
            assert bits(np.asarray(taken)) == bits(values((2, 3)))
            assert [call["dl_device"] for call in producer.calls] == [(1, 0)]
            assert producer.calls[0]["stream"] is None
            del taken
            assert producer.deleted == [1]


def test_foreign_producer_is_refused_with_copy_false():
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        producer = Foreign(values(3))
        with pytest.raises(sx.CopyRefusedError, match=r"copy=False.*Foreign.*\(2, 0\)"):
            take(producer, copy=False)
        assert producer.deleted == []


def test_foreign_producer_that_ignores_dl_device_is_refused():
    """Asked for the host, it hands out memory of its own device."""
    producer = Ignoring(values(3), device=(2, 0))
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        with pytest.raises(BufferError, match=r"\(2, 0\)"):
            take(producer)
    assert set(producer.deleted) == {1}


@needs("device_copies")
@pytest.mark.parametrize("kind", [enum.Enum, enum.IntEnum])
def test_enum_device_type_is_taken(kind):
    """As the array API has it, and Open3D."""
    on_host, usm = kind("DLDeviceType", {"kDLCPU": 1, "kDLOneAPI": 14})

    class Typed:
        def __dlpack__(self, **keywords):
            return values(3).__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (on_host, 0)

    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        assert bits(take(Typed()).to_numpy()) == bits(values(3))
    assert sx.device(types.SimpleNamespace(__dlpack_device__=lambda: (usm, 0))) is sx.device(0)
    capsule = sx.zeros(3).__dlpack__(dl_device=(on_host, 0), max_version=(1, 0))
    assert managed_in(capsule).dl_tensor.device.device_type == 1
    for odd in ("kDLCPU", 1.0):
        with pytest.raises(TypeError, match="a DLPack device is a pair of ints"):
            sx.zeros(3).__dlpack__(dl_device=(enum.Enum("Odd", {"odd": odd}).odd, 0))


@pytest.mark.parametrize("second", [TypeError, DeprecationWarning])
def test_error_tells_the_reason_of_the_first_call(second):
    """pyarrow has nulls, and warns of a call without max_version; a filter makes that an error."""

    class WithNulls(Producer):
        def __dlpack__(self, **keywords):
            raise TypeError("there are nulls") if keywords else second("pass max_version")

    with pytest.raises(sx.ExchangeError, match="TypeError: there are nulls"):
        sx.from_dlpack(WithNulls(values(3)))


def test_foreign_producer_before_versions_is_refused():
    """It cannot be asked for the host."""
    producer = BeforeVersions(values(3), device=(2, 0))
    with pytest.raises(BufferError, match=r"BeforeVersions.*\(2, 0\)"):
        sx.from_dlpack(producer)
    assert producer.made == []


@needs("device_copies")
def test_producer_is_asked_first_to_copy_to_the_device(private):
    """Asked first: it knows its memory best."""

    class Generous(Foreign):
        def __dlpack__(self, *, dl_device=None, **keywords):
            self.calls.append(dl_device)
            if dl_device == (14, private.id):
                self.array = sx.empty(3, device=private).copy_from(values(3))
                return self.make(device=dl_device, flags=IS_COPIED)
            raise BufferError("no")

    producer = Generous(values(3))
    tensor = sx.from_dlpack(producer, device=private)
    assert tensor.device is private
    assert bits(tensor.to_numpy()) == bits(values(3))
    assert producer.calls == [(14, private.id)]


# ---- host memory that is USM ---------------------------------------------------------------------


@needs("system_usm")
def test_array_that_only_begins_in_usm_is_system_memory():
    """Host memory is trusted, but is not USM where it reaches beyond the end of an allocation."""
    memory = dpctl.memory.MemoryUSMShared(64)
    inside = sx.from_dlpack(Managed(memory._pointer, (16,), keep=memory).capsule())
    assert inside.usm_type == "shared"
    beyond = sx.from_dlpack(Managed(memory._pointer, (17,), keep=memory).capsule())
    assert beyond.usm_type == "system"
    with pytest.raises(BufferError):
        beyond.__dlpack__(copy=False)


# ---- capsules ------------------------------------------------------------------------------------


def test_capsule_is_consumed_once(versioned):
    managed = over(numbers(), versioned=versioned)
    capsule = managed.capsule()
    tensor = sx.from_dlpack(capsule)
    assert capsule_name(capsule).startswith("used_dltensor")
    for _ in range(2):
        with pytest.raises(BufferError, match="already been consumed"):
            sx.from_dlpack(capsule)
    assert managed.deleted == 0
    del capsule
    assert managed.deleted == 0
    del tensor
    assert managed.deleted == 1


def test_own_export_comes_back_on_the_queue_of_its_producer():
    """The producer works on the memory on a queue of its own, and forwards the tensor's export."""
    tensor = numbers()
    shared = tensor.sycl_queue
    own = dpctl.SyclQueue(shared.sycl_context, shared.sycl_device)

    class Forwards:
        sycl_queue = own
        __dlpack_device__ = tensor.__dlpack_device__
        __dlpack__ = tensor.__dlpack__

    view = sx.from_dlpack(Forwards())
    assert (view.ptr, view.sycl_queue) == (tensor.ptr, own)
    Forwards.sycl_queue = shared
    assert sx.from_dlpack(Forwards()).sycl_queue == shared


@needs("device_copies")
def test_null_deleter_is_never_called(versioned):
    for array in (numbers(), values((2, 3))):
        managed = over(array, versioned=versioned, deleter=False)
        tensor = sx.from_dlpack(managed.capsule())
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))
        managed._struct.deleter = 1  # its memory is used for something else
        del tensor
        bad = over(array, versioned=versioned, deleter=False, ndim=-1)
        with pytest.raises(BufferError):
            sx.from_dlpack(bad.capsule())
        for cls in (Producer, with_table(Table(stream=sx.device().sycl_queue.addressof_ref()))):
            for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
                assert bits(take(cls(array, deleter=False)).to_numpy()) == bits(values((2, 3)))


@needs("device_copies")
def test_null_strides_are_compact(versioned):
    """Allowed before DLPack 1.2."""
    for array in (numbers(shape=(2, 3, 4)), values((2, 3, 4))):
        tensor = sx.from_dlpack(over(array, strides=None, versioned=versioned).capsule())
        assert tensor.strides == (12, 4, 1)
        assert bits(tensor.to_numpy()) == bits(values((2, 3, 4)))


@needs("device_copies")
def test_null_shape_and_strides_of_0_dimensions(versioned):
    for array in (numbers(shape=()), values(())):
        managed = over(array, shape=None, strides=None, ndim=0, versioned=versioned)
        tensor = sx.from_dlpack(managed.capsule())
        assert (tensor.shape, tensor.strides) == ((), ())
        assert bits(tensor.to_numpy()) == bits(values(()))


@needs("system_usm", "host memory")
@viewed
def test_byte_offset(made, versioned):
    """Others ignore it; here it counts, also beyond the itemsize."""
    array = made(shape=8)
    start = array.ptr if isinstance(array, sx.Tensor) else array.ctypes.data
    managed = over(array, shape=(4,), strides=(1,), byte_offset=16, versioned=versioned)
    tensor = sx.from_dlpack(managed.capsule())
    assert tensor.ptr == start + 16
    assert bits(tensor.to_numpy()) == bits(values(8)[4:])


@pytest.mark.parametrize("device", [(1, 0), (14, 0)])
def test_size_0(device, versioned):
    for data in (0, 1, 2**64 - 1):
        for shape, strides in (((0,), (1,)), ((3, 0, 2), None), ((0, 2**40), (2**40, 1))):
            managed = Managed(data, shape, strides, device=device, versioned=versioned)
            tensor = sx.from_dlpack(managed.capsule())
            id_of_device = 0 if device == (14, 0) else sx.device().id
            assert (tensor.shape, tensor.size, tensor.device.id) == (shape, 0, id_of_device)
            assert tensor.to_numpy().shape == tensor.copy().shape == shape
            del tensor
            assert managed.deleted == 1


@needs("system_usm", "host memory")
@viewed
def test_flags(made):
    array = made(shape=(2, 3))
    assert sx.from_dlpack(over(array, flags=READ_ONLY).capsule()).readonly
    assert not sx.from_dlpack(over(array, flags=0).capsule()).readonly
    # a newer minor version may have more of them
    assert not sx.from_dlpack(over(array, flags=1 << 40, version=(1, 99)).capsule()).readonly


# ---- capsules out of C ---------------------------------------------------------------------------


def test_capsule_from_pointer(versioned):
    managed = over(numbers(), versioned=versioned)
    capsule = sx.dlpack.capsule_from_pointer(managed.address, versioned=versioned)
    assert capsule_name(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    tensor = sx.from_dlpack(capsule)
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))
    del tensor, capsule
    assert managed.deleted == 1
    dropped = over(numbers())  # versioned by default
    assert capsule_name(sx.dlpack.capsule_from_pointer(dropped.address)) == "dltensor_versioned"
    assert dropped.deleted == 1
