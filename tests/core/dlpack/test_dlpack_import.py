# SPDX-License-Identifier: Apache-2.0
"""What comes in: capsules and producers, well-behaved, old, wrong and hostile.

Each refused capsule gives an error that names what was wrong, and its deleter has run once.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import dpctl
import dpctl.memory
import numpy as np
import pytest

import samples
import sycl_ext as sx
from producers import (
    AlwaysCopying,
    BeforeVersions,
    Consumed,
    Foreign,
    Homeless,
    Ignoring,
    Liar,
    Managed,
    NoCapsule,
    Producer,
    Raising,
    Reentrant,
    StreamStrict,
    WithoutKeywords,
    over,
)
from samples import LAYOUTS, assert_same_view, bits, values
from sycl_ext.testing.structs import (
    IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED,
    READ_ONLY,
    capsule_name,
    managed_in,
    new_capsule,
)

BOTH = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])


def numbers(usm_type="shared", shape=(2, 3)):
    return sx.empty(shape, usm_type=usm_type).copy_from(values(shape))


# ---- round trips ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", LAYOUTS)
def test_round_trip(name, usm_type, versioned):
    """Every dtype: values, strides, kind, device and read-only flag survive."""
    live = sx.live_exports()
    version = (1, 0) if versioned else None
    for dtype in samples.DTYPE_NAMES:
        tensor, array = LAYOUTS[name].tensor(dtype, usm_type)
        ours = tensor.__dlpack__(max_version=version)
        theirs = over(tensor, versioned=versioned).capsule()
        for capsule in (ours, theirs):
            again = sx.from_dlpack(capsule)
            assert_same_view(again, array)
            assert again.strides == tensor.strides
            assert again.device is tensor.device
            assert again.readonly is False
            if array.size:
                assert (again.ptr, again.usm_type) == (tensor.ptr, usm_type)
        if versioned:
            readonly = tensor.as_readonly()
            assert sx.from_dlpack(readonly.__dlpack__(max_version=version)).readonly
            assert sx.from_dlpack(over(readonly).capsule()).readonly
    assert sx.live_exports() == live


@BOTH
@pytest.mark.parametrize("name", LAYOUTS)
def test_round_trip_over_the_host(name, usm_type, versioned):
    """As host memory, which is known again for the USM that it is."""
    version = (1, 0) if versioned else None
    for dtype in samples.DTYPE_NAMES:
        tensor, array = LAYOUTS[name].tensor(dtype, usm_type)
        if tensor.size and min(tensor.strides, default=0) < 0:
            continue  # negative strides go to the host as a copy
        again = sx.from_dlpack(tensor.__dlpack__(max_version=version, dl_device=(1, 0)))
        assert_same_view(again, array)
        if array.size:
            assert (again.ptr, again.usm_type) == (tensor.ptr, usm_type)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("exhibit", [Producer, BeforeVersions, WithoutKeywords, StreamStrict])
def test_host_producers(exhibit, name):
    for dtype in samples.DTYPE_NAMES:
        if exhibit is BeforeVersions:
            array = values((3, 4), dtype)  # it has no strides
        else:
            array = np.array(LAYOUTS[name].arrays(dtype)[1], order="K", subok=False)
        producer = exhibit(array)
        tensor = sx.from_dlpack(producer)
        assert_same_view(tensor, array)
        assert tensor.usm_type == "system" or not array.size
        assert producer.deleted == [0]
        del tensor
        assert producer.deleted == [1]


def test_usm_producers(usm_type):
    for exhibit in (Producer, BeforeVersions, WithoutKeywords):
        tensor = numbers(usm_type)
        producer = exhibit(tensor)
        again = sx.from_dlpack(producer)
        assert (again.ptr, again.usm_type, again.device) == (tensor.ptr, usm_type, tensor.device)
        assert again.base is None or again.base is producer


# ---- how a producer is asked ---------------------------------------------------------------------


def test_a_host_producer_is_asked_for_what_is_needed():
    producer = Producer(values(3))
    sx.from_dlpack(producer)
    (call,) = producer.calls
    assert call["stream"] is None
    assert call["max_version"] == sx.DLPACK_VERSION == (1, 3)
    assert call["dl_device"] is None
    assert call["copy"] is None


def test_a_usm_producer_gets_a_stream():
    producer = Producer(numbers())
    sx.from_dlpack(producer)
    (call,) = producer.calls
    assert isinstance(call["stream"], dpctl.SyclQueue)
    assert call["stream"].is_in_order
    assert call["dl_device"] is None


def test_an_old_producer_is_asked_twice():
    producer = BeforeVersions(numbers())
    sx.from_dlpack(producer)
    assert len(producer.calls) == 1
    assert producer.deleted == [1]


class OwnTypeError(Producer):
    """Its TypeError has nothing to do with keywords."""

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        raise TypeError("unsupported operand")


def test_a_type_error_of_the_producers_own():
    producer = OwnTypeError(values(3))
    with pytest.raises(BufferError, match="OwnTypeError.*unsupported operand") as caught:
        sx.from_dlpack(producer)
    assert isinstance(caught.value.__cause__, TypeError)
    assert len(producer.calls) == 2


@pytest.mark.parametrize("copy", [None, True, False])
def test_copy(copy, usm_type):
    for source in (numbers(usm_type), Producer(numbers(usm_type)), numbers(usm_type).__dlpack__()):
        tensor = sx.from_dlpack(source, copy=copy)
        array = source.array if isinstance(source, Producer) else source
        if isinstance(array, sx.Tensor):
            assert (tensor.ptr == array.ptr) == (copy is not True)
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))


def test_copy_of_host_memory():
    array = values((2, 3))
    for source in (array, Producer(array), memoryview(array)):
        for copy in (None, False, True):
            take = sx.as_tensor if isinstance(source, memoryview) else sx.from_dlpack
            tensor = take(source, copy=copy)
            assert (tensor.ptr == array.ctypes.data) == (copy is not True)
            assert (tensor.usm_type == "system") == (copy is not True)
            assert bits(tensor.to_numpy()) == bits(array)


def test_a_producers_copy_is_enough():
    tensor = numbers()
    capsule = over(tensor, flags=IS_COPIED).capsule()
    assert sx.from_dlpack(capsule, copy=True).ptr == tensor.ptr


def test_a_producers_copy_that_was_forbidden():
    class CopiesAnyway(Producer):
        def __dlpack__(self, **keywords):
            return self.make(flags=IS_COPIED)

    for array in (numbers(), values(3)):
        producer = CopiesAnyway(array)
        with pytest.raises(ValueError, match="copy=False.*CopiesAnyway"):
            sx.from_dlpack(producer, copy=False)
        assert producer.deleted == [1]


def test_a_producer_that_only_copies():
    producer = AlwaysCopying(numbers())
    assert bits(sx.from_dlpack(producer).to_numpy()) == bits(values((2, 3)))
    with pytest.raises(BufferError, match="cannot do without a copy"):
        sx.from_dlpack(producer, copy=False)


def test_a_producer_that_ignores_copy_and_dl_device():
    """What it hands out is believed for what it is, not for what was asked."""
    tensor = numbers()
    producer = Ignoring(tensor)
    copied = sx.from_dlpack(producer, copy=True)
    assert copied.ptr != tensor.ptr
    assert sx.from_dlpack(producer, copy=False).ptr == tensor.ptr
    assert sx.from_dlpack(producer, device=0).ptr == tensor.ptr


def test_device(private, usm_type):
    """A producer's memory, wanted on another entry."""
    for source in (numbers(usm_type), Producer(numbers(usm_type)), Producer(values((2, 3)))):
        tensor = sx.from_dlpack(source, device=private)
        assert tensor.device is private
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))
    with pytest.raises(ValueError, match="copy=False"):
        sx.from_dlpack(numbers(usm_type), device=private, copy=False)


def test_a_queue_as_device():
    queue = dpctl.SyclQueue(property="in_order")
    for source in (values(3), Producer(values(3))):
        assert sx.from_dlpack(source, device=queue, copy=True).sycl_queue == queue


def test_device_of_the_host():
    for source in (numbers(), values(3)):
        with pytest.raises(ValueError, match=r"host_view\(\)"):
            sx.from_dlpack(source, device=(1, 0))


# ---- a producer elsewhere ------------------------------------------------------------------------


def test_a_producer_elsewhere_is_asked_for_the_host():
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        for copy in (None, True):
            producer = Foreign(values((2, 3)))
            taken = take(producer, copy=copy)
            assert bits(np.asarray(taken)) == bits(values((2, 3)))
            assert [call["dl_device"] for call in producer.calls] == [(1, 0)]
            assert producer.calls[0]["stream"] is None
            del taken
            assert producer.deleted == [1]


def test_a_producer_elsewhere_without_a_copy():
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        producer = Foreign(values(3))
        with pytest.raises(sx.CopyRefusedError, match=r"copy=False.*Foreign.*\(2, 0\)"):
            take(producer, copy=False)
        assert producer.deleted == []


def test_a_producer_elsewhere_that_is_deaf():
    """Asked for the host, it hands out memory of its own device."""

    class Deaf(Foreign):
        def __dlpack__(self, **keywords):
            return self.make(device=(2, 0))

    producer = Deaf(values(3))
    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        with pytest.raises(BufferError, match=r"\(2, 0\)"):
            take(producer)
    assert set(producer.deleted) == {1}


def test_a_producer_elsewhere_that_is_old():
    """It cannot be asked for the host."""

    class Old(BeforeVersions):
        def __dlpack_device__(self):
            return (2, 0)

    producer = Old(values(3))
    with pytest.raises(BufferError, match=r"Old.*\(2, 0\)|\(2, 0\).*Old"):
        sx.from_dlpack(producer)
    assert producer.made == []


def test_a_producer_that_copies_to_our_device(private):
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


def test_host_memory_that_is_usm_is_taken_as_the_usm_it_is(usm_type):
    tensor = numbers(usm_type)
    for source in (np.from_dlpack(sx.host_view(tensor)), tensor.to_numpy(), sx.host_view(tensor)):
        again = sx.from_dlpack(source)
        assert (again.ptr, again.usm_type, again.device) == (tensor.ptr, usm_type, tensor.device)
    row = sx.from_dlpack(tensor.to_numpy()[1:, ::2])
    assert (row.ptr, row.usm_type) == (tensor[1:].ptr, usm_type)


def test_an_array_that_only_begins_in_usm():
    """Host memory is believed, but is no USM where it reaches beyond the end of an allocation."""
    memory = dpctl.memory.MemoryUSMShared(64)
    inside = sx.from_dlpack(Managed(memory._pointer, (16,), keep=memory).capsule())
    assert inside.usm_type == "shared"
    beyond = sx.from_dlpack(Managed(memory._pointer, (17,), keep=memory).capsule())
    assert beyond.usm_type == "system"
    with pytest.raises(BufferError):
        beyond.__dlpack__(copy=False)


def test_whose_host_memory_is_decides_nothing_until_it_is_asked():
    """It is asked once, by whoever comes first; a device that reads the memory sees it so."""
    context = dpctl.SyclContext([sx.device().sycl_device])
    queue = dpctl.SyclQueue(context, sx.device().sycl_device)
    memory = dpctl.memory.MemoryUSMShared(64, queue=queue)
    tensors = [
        sx.from_dlpack(Managed(memory._pointer, (16,), keep=memory).capsule()) for _ in "123"
    ]
    device = sx.register_context(context)
    assert (tensors[0].usm_type, tensors[0].device) == ("shared", device)
    assert (tensors[1].device, tensors[1].usm_type) == (device, "shared")
    assert sx.from_dlpack(tensors[2].__dlpack__(dl_device=(14, device.id))).ptr == memory._pointer
    with ThreadPoolExecutor(8) as threads:
        for _ in range(50):
            view = sx.from_dlpack(Managed(memory._pointer, (16,), keep=memory).capsule())
            seen = threads.map(lambda tensor: (tensor.device, tensor.usm_type), [view] * 8)
            assert set(seen) == {(device, "shared")}


# ---- capsules ------------------------------------------------------------------------------------


@BOTH
def test_a_capsule_is_consumed_once(versioned):
    managed = over(numbers(), versioned=versioned)
    capsule = managed.capsule()
    tensor = sx.from_dlpack(capsule)
    assert capsule_name(capsule).startswith("used_dltensor")
    for _ in range(2):
        with pytest.raises(BufferError, match="consumed before"):
            sx.from_dlpack(capsule)
    assert managed.deleted == 0
    del capsule
    assert managed.deleted == 0
    del tensor
    assert managed.deleted == 1


@BOTH
def test_the_last_view_frees_the_memory(versioned):
    managed = over(numbers(), versioned=versioned)
    tensor = sx.from_dlpack(managed.capsule())
    views = [tensor[0], tensor.T, tensor.as_readonly(), np.asarray(tensor), memoryview(tensor)]
    views.append(sx.from_dlpack(tensor))
    del tensor
    while views:
        assert managed.deleted == 0
        views.pop()
    assert managed.deleted == 1


@BOTH
def test_a_null_deleter(versioned):
    for array in (numbers(), values((2, 3))):
        managed = over(array, versioned=versioned, deleter=False)
        tensor = sx.from_dlpack(managed.capsule())
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))
        del tensor
        bad = over(array, versioned=versioned, deleter=False, ndim=-1)
        with pytest.raises(BufferError):
            sx.from_dlpack(bad.capsule())


@BOTH
def test_null_strides_are_compact(versioned):
    """Allowed before DLPack 1.2."""
    for array in (numbers(shape=(2, 3, 4)), values((2, 3, 4))):
        tensor = sx.from_dlpack(over(array, strides=None, versioned=versioned).capsule())
        assert tensor.strides == (12, 4, 1)
        assert bits(tensor.to_numpy()) == bits(values((2, 3, 4)))


@BOTH
def test_null_shape_and_strides_of_0_dimensions(versioned):
    for array in (numbers(shape=()), values(())):
        managed = over(array, shape=None, strides=None, ndim=0, versioned=versioned)
        tensor = sx.from_dlpack(managed.capsule())
        assert (tensor.shape, tensor.strides) == ((), ())
        assert bits(tensor.to_numpy()) == bits(values(()))


@BOTH
def test_byte_offset(versioned):
    """Others ignore it; here it counts, also beyond the itemsize."""
    for array in (numbers(shape=8), values(8)):
        start = array.ptr if isinstance(array, sx.Tensor) else array.ctypes.data
        managed = over(array, shape=(4,), strides=(1,), byte_offset=16, versioned=versioned)
        tensor = sx.from_dlpack(managed.capsule())
        assert tensor.ptr == start + 16
        assert bits(tensor.to_numpy()) == bits(values(8)[4:])


@BOTH
@pytest.mark.parametrize("device", [(1, 0), (14, 0)])
def test_size_0(device, versioned):
    for data in (0, 1, 2**64 - 1):
        for shape, strides in (((0,), (1,)), ((3, 0, 2), None), ((0, 2**40), (2**40, 1))):
            managed = Managed(data, shape, strides, device=device, versioned=versioned)
            tensor = sx.from_dlpack(managed.capsule())
            assert (tensor.shape, tensor.size, tensor.device.id) == (shape, 0, 0)
            assert tensor.to_numpy().shape == tensor.copy().shape == shape
            del tensor
            assert managed.deleted == 1


def test_flags():
    for array in (numbers(), values((2, 3))):
        assert sx.from_dlpack(over(array, flags=READ_ONLY).capsule()).readonly
        assert not sx.from_dlpack(over(array, flags=0).capsule()).readonly
        # a newer minor version may have more of them
        assert not sx.from_dlpack(over(array, flags=1 << 40, version=(1, 99)).capsule()).readonly


def test_versions():
    for version in ((1, 0), (1, 3), (1, 99)):
        sx.from_dlpack(over(numbers(), version=version).capsule())


# ---- hostile capsules ----------------------------------------------------------------------------


class Elsewhere:
    """Memory of a context that is not the default one."""

    def __init__(self):
        context = dpctl.SyclContext([dpctl.SyclDevice()])
        queue = dpctl.SyclQueue(context, dpctl.SyclDevice())
        self.memory = dpctl.memory.MemoryUSMShared(64, queue=queue)
        self.address = self.memory._pointer


elsewhere = Elsewhere()
plain = np.zeros(16, "float32")
plain_address = plain.__array_interface__["data"][0]

#: fields of a capsule -> words of the error
HOSTILE = {
    "newer major version": ({"version": (2, 0)}, r"version 2\.0.*1\.x"),
    "older major version": ({"version": (0, 9)}, r"version 0\.9"),
    "absurd version": ({"version": (2**32 - 1, 2**32 - 1)}, "version 4294967295"),
    "negative ndim": ({"ndim": -1}, "-1 dimensions"),
    "ndim of 65": ({"ndim": 65}, "65 dimensions"),
    "absurd ndim": ({"ndim": 2**31 - 1}, "2147483647 dimensions"),
    "NULL shape": ({"shape": None, "strides": None, "ndim": 1}, "NULL shape"),
    "NULL shape with strides": ({"shape": None, "strides": (1,), "ndim": 1}, "NULL shape"),
    "negative length": ({"shape": (2, -3)}, r"shape\[1\] is -3"),
    "most negative length": ({"shape": (-(2**63),), "strides": (1,)}, r"shape\[0\] is -9223"),
    "unknown dtype code": ({"dtype": (99, 32, 1)}, "code 99"),
    "opaque handle": ({"dtype": (3, 64, 1)}, "code 3"),
    "odd bits": ({"dtype": (2, 24, 1)}, "bits 24"),
    "no bits": ({"dtype": (2, 0, 1)}, "bits 0"),
    "one-bit bool": ({"dtype": (6, 1, 1)}, "bits 1"),
    "lanes": ({"dtype": (2, 32, 4)}, "lanes 4"),
    "no lanes": ({"dtype": (2, 32, 0)}, "lanes 0"),
    "float4": ({"dtype": (17, 4, 2)}, "code 17"),
    "padded sub-byte dtype": ({"flags": IS_SUBBYTE_TYPE_PADDED}, "sub-byte"),
    "CUDA": ({"device": (2, 0)}, r"\(2, 0\).*kDLOneAPI"),
    "CUDA host": ({"device": (3, 0)}, r"\(3, 0\)"),
    "device type 0": ({"device": (0, 0)}, r"\(0, 0\)"),
    "negative device type": ({"device": (-1, 0)}, r"\(-1, 0\)"),
    "device id that is not there": (
        {"device": (14, 1_000_000)},
        r"\(14, 1000000\).*no such device",
    ),
    "negative device id": ({"device": (14, -1)}, r"\(14, -1\).*no such device"),
    "NULL with elements": ({"data": 0}, "NULL pointer"),
    "NULL with an offset": ({"data": 0, "byte_offset": 64}, "NULL pointer"),
    "offset that overflows": ({"byte_offset": 2**64 - 8}, "byte_offset|USM"),
    # Far enough that no other block is there: only the first and the last byte are looked at.
    "extent beyond the allocation": ({"shape": (2**38,), "strides": None}, "end beyond"),
    "begin before the allocation": ({"shape": (2**38,), "strides": (-1,)}, "not USM"),
    "stride beyond the allocation": ({"shape": (2,), "strides": (2**38,)}, "end beyond"),
    "plain memory as USM": ({"data": plain_address}, r"not USM.*default\s+context"),
    "wild pointer as USM": ({"data": 0xDEAD0000}, "0xdead0000.*not USM"),
    "pointer at the end of the world": ({"data": 2**64 - 4}, "address space|not USM"),
    "USM of another context": ({"data": elsewhere.address}, r"not USM.*default\s+context"),
    "more elements than fit": ({"shape": (2**62, 4), "strides": (0, 0)}, "overflow"),
}


@BOTH
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(case, versioned, usm_type):
    fields, words = HOSTILE[case]
    if not versioned and {"version", "flags"} & set(fields):
        versioned = True  # the legacy struct has none
    live = sx.live_exports()
    managed = over(numbers(usm_type), **{"versioned": versioned, **fields})
    capsule = managed.capsule()
    with pytest.raises(BufferError, match=words):
        sx.from_dlpack(capsule)
    assert managed.deleted == 1
    with pytest.raises(BufferError, match="consumed before"):
        sx.from_dlpack(capsule)
    del capsule
    assert managed.deleted == 1
    del managed
    assert sx.live_exports() == live


@pytest.mark.parametrize("case", [case for case in HOSTILE if "device" not in HOSTILE[case][0]])
def test_hostile_producers(case):
    """The same through an object: its refusal is final, and it was asked once."""
    fields, words = HOSTILE[case]
    producer = Producer(numbers(), **fields)
    producer.made_now = lambda: over(numbers())._struct.dl_tensor
    with pytest.raises(BufferError, match=words):
        sx.from_dlpack(producer)
    assert producer.deleted
    assert set(producer.deleted) == {1}


@pytest.mark.parametrize(
    "name", [b"dltensor_versiones", b"", None, b"used_dltensor", b"arrow_array"]
)
def test_capsules_of_another_name(name):
    managed = over(numbers())
    capsule = new_capsule(managed.address, name)
    with pytest.raises(
        BufferError, match="consumed before" if name == b"used_dltensor" else "named"
    ):
        sx.from_dlpack(capsule)
    assert managed.deleted == 0


def test_an_export_of_ours_that_somebody_changed():
    """It is known again, and believed no more than a third party's."""
    changes = {
        "shape": (lambda dl: dl.shape.__setitem__(0, 10**6), "USM|beyond|block"),
        "negative length": (lambda dl: dl.shape.__setitem__(0, -1), "-1"),
        "stride": (lambda dl: dl.strides.__setitem__(0, -50), "USM|beyond|block"),
        "overflow": (lambda dl: dl.strides.__setitem__(0, 2**62), "overflow|address space"),
        "address": (lambda dl: setattr(dl, "data", dl.data + 2**30), "USM|beyond|block"),
        "offset": (lambda dl: setattr(dl, "byte_offset", 4096), "USM|beyond|block"),
        "dtype": (lambda dl: setattr(dl.dtype, "bits", 64), "USM|beyond|block"),
        "no dtype": (lambda dl: setattr(dl.dtype, "code", 99), "code 99"),
        "device": (lambda dl: setattr(dl.device, "device_id", 77), "77"),
        "ndim": (lambda dl: setattr(dl, "ndim", 99), "99 dimensions"),
    }
    live = sx.live_exports()
    for change, words in changes.values():
        for usm_type in samples.USM_TYPES:
            # a megabyte, which no pool serves
            tensor = sx.empty((512, 512), "float32", usm_type=usm_type)
            capsule = tensor.__dlpack__(max_version=(1, 0))
            change(managed_in(capsule).dl_tensor)
            with pytest.raises(BufferError, match=words):
                sx.from_dlpack(capsule)
            del capsule
            assert sx.live_exports() == live


# ---- hostile producers ---------------------------------------------------------------------------


def test_a_liar():
    """The capsule contradicts ``__dlpack_device__``."""
    for array, announces in ((values(3), (14, 0)), (numbers(), (1, 0)), (numbers(), (14, 1))):
        producer = Liar(array, announces)
        with pytest.raises(
            BufferError, match=r"capsule is on device \(\d+, 0\), but .* was announced"
        ):
            sx.from_dlpack(producer)
        assert set(producer.deleted) == {1}


@pytest.mark.parametrize("answer", [None, 14, (14,), (14, 0, 0), ("a", 0), "14"])
def test_no_device(answer):
    with pytest.raises((TypeError, BufferError), match="pair"):
        sx.from_dlpack(Liar(values(3), answer))


def test_a_device_as_a_list_of_numpy_integers():
    sx.from_dlpack(Liar(values(3), [np.int32(1), np.int64(0)]))


def test_no_dlpack_device():
    class Half:
        def __dlpack__(self):
            raise AssertionError("not to be called")

    for producer in (Half(), 3, None, "x", object(), [1, 2]):
        with pytest.raises(TypeError, match=f"{type(producer).__name__} has no __dlpack"):
            sx.from_dlpack(producer)


def test_no_dlpack():
    class Half:
        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises((TypeError, BufferError), match="__dlpack__"):
        sx.from_dlpack(Half())


def test_a_producer_that_cannot_say_where_it_is():
    with pytest.raises(BufferError, match="Homeless.*could not determine") as caught:
        sx.from_dlpack(Homeless(values(3)))
    assert isinstance(caught.value.__cause__, ValueError)


REFUSALS = (
    BufferError,
    RuntimeError,
    ValueError,
    NotImplementedError,
    AssertionError,
    AttributeError,
    MemoryError,
    OSError,
)


@pytest.mark.parametrize("error_type", REFUSALS)
def test_a_producer_that_refuses(error_type):
    """Whatever it raises, one family comes out, with its own words as the cause."""
    for array in (values(3), numbers()):
        error = error_type("none of your business")
        with pytest.raises(
            sx.ExchangeError, match=f"Raising.*{error_type.__name__}: none of"
        ) as caught:
            sx.from_dlpack(Raising(array, error))
        assert caught.value.__cause__ is error
        assert isinstance(caught.value, BufferError)


@pytest.mark.parametrize("error_type", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_refusal_goes_through(error_type):
    with pytest.raises(error_type):
        sx.from_dlpack(Raising(values(3), error_type()))


@pytest.mark.parametrize("answer", [None, 42, "capsule", object(), np.zeros(3)])
def test_no_capsule(answer):
    for array in (values(3), numbers()):
        with pytest.raises((TypeError, BufferError), match=f"{type(answer).__name__}.*capsule"):
            sx.from_dlpack(NoCapsule(array, answer))


def test_a_consumed_capsule():
    for array in (values(3), numbers()):
        producer = Consumed(array)
        with pytest.raises(BufferError, match="consumed before"):
            sx.from_dlpack(producer)
        assert set(producer.deleted) == {1}


def test_a_producer_that_uses_us_meanwhile():
    for array in (values(3), numbers()):
        producer = Reentrant(array)
        tensor = sx.from_dlpack(producer)
        del tensor
        assert producer.deleted == [1]


def test_a_producer_that_imports_itself_for_ever():
    class Endless(Producer):
        def __dlpack__(self, **keywords):
            return sx.from_dlpack(self).__dlpack__(**keywords)

    with pytest.raises((RecursionError, BufferError), match="recursion"):
        sx.from_dlpack(Endless(values(3)))


def test_a_producer_whose_deleter_imports():
    """A deleter that runs Python, and uses the package."""
    seen = []

    class Noisy:
        def __init__(self, array):
            self.array = array

        def __del__(self):
            seen.append(bits(sx.from_dlpack(self.array).copy().to_numpy()))

    array = values(3)
    tensor = sx.from_dlpack(over(array, keep=Noisy(array)).capsule())
    del tensor
    assert seen == [bits(array)]
    with pytest.raises(BufferError):
        sx.from_dlpack(over(array, keep=Noisy(array), ndim=-1).capsule())
    assert len(seen) == 2


def test_many_threads_consume_one_capsule():
    for _ in range(20):
        managed = over(values(3))
        capsule = managed.capsule()
        results, start = [], threading.Barrier(4)

        def consume(capsule=capsule, results=results, start=start):
            start.wait()
            try:
                results.append(sx.from_dlpack(capsule).size)
            except BufferError:
                results.append(None)

        threads = [threading.Thread(target=consume) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results, key=str) == [3, None, None, None]
        del capsule
        assert managed.deleted == 1


# ---- capsules out of C ---------------------------------------------------------------------------


@BOTH
def test_capsule_from_pointer(versioned):
    managed = over(numbers(), versioned=versioned)
    capsule = sx.capsule_from_pointer(managed.address, versioned=versioned)
    assert capsule_name(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    tensor = sx.from_dlpack(capsule)
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))
    del tensor, capsule
    assert managed.deleted == 1
    dropped = over(numbers(), versioned=versioned)
    sx.capsule_from_pointer(dropped.address, versioned=versioned)
    assert dropped.deleted == 1


def test_capsule_from_pointer_is_versioned_by_default():
    managed = over(numbers())
    assert capsule_name(sx.capsule_from_pointer(managed.address)) == "dltensor_versioned"
    assert managed.deleted == 1


def test_capsule_from_no_pointer():
    with pytest.raises(ValueError, match="address 0"):
        sx.capsule_from_pointer(0)
    for address in (-1, 2**64, 1.5, "x", None):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            sx.capsule_from_pointer(address)
