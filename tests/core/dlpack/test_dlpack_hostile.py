# SPDX-License-Identifier: Apache-2.0
"""Imports of wrong or hostile capsules and producers.

Each refused capsule gives an error that names the defect, and its deleter has run once.
"""

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor

import dpctl
import dpctl.memory
import numpy as np
import pytest
from dpctl.utils import SequentialOrderManager

import samples
import sycl_ext as sx
from dlpack_conformance.structs import IS_SUBBYTE_TYPE_PADDED, managed_in, new_capsule
from needs import needs
from producers import Consumed, Producer, Raising, Reentrant, Table, over, with_table
from samples import bits, numbers, values

# ---- hostile capsules ----------------------------------------------------------------------------

context = dpctl.SyclContext([dpctl.SyclDevice()])  # not the default one
queue = dpctl.SyclQueue(context, dpctl.SyclDevice())
elsewhere = dpctl.memory.MemoryUSMShared(64, queue=queue)
plain = np.zeros(16, "float32")
plain_address = plain.__array_interface__["data"][0]

#: fields of a capsule -> words of the error
HOSTILE = {
    "newer major version": ({"version": (2, 0)}, r"version 2\.0.*1\.x"),
    "older major version": ({"version": (0, 9)}, r"version 0\.9"),
    "absurd version": ({"version": (2**32 - 1, 2**32 - 1)}, "version 4294967295"),
    "negative ndim": ({"ndim": -1}, "ndim is -1"),
    "ndim of 65": ({"ndim": 65}, "ndim is 65"),
    "absurd ndim": ({"ndim": 2**31 - 1}, "ndim is 2147483647"),
    "NULL shape": ({"shape": None, "strides": None, "ndim": 1}, "shape is NULL"),
    "NULL shape with strides": ({"shape": None, "strides": (1,), "ndim": 1}, "shape is NULL"),
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
    "CUDA host, not readable": ({"device": (3, 0), "data": 16}, r"\(3, 0\).*cannot read"),
    "device type 0": ({"device": (0, 0)}, r"\(0, 0\)"),
    "negative device type": ({"device": (-1, 0)}, r"\(-1, 0\)"),
    "no such device": ({"device": (14, 1_000_000)}, r"\(14, 1000000\).*no such device"),
    "negative device id": ({"device": (14, -1)}, r"\(14, -1\).*no such device"),
    "NULL with elements": ({"data": 0}, "pointer is NULL"),
    "NULL with an offset": ({"data": 0, "byte_offset": 64}, "pointer is NULL"),
    "offset that overflows": ({"byte_offset": 2**64 - 8}, "byte_offset|USM"),
    # Far enough that no other block is there: only the first and the last byte are looked at.
    "extent beyond the allocation": ({"shape": (2**38,), "strides": None}, "extend beyond"),
    # The second text where the heap is in the first terabyte.
    "begin before it": ({"shape": (2**38,), "strides": (-1,)}, "not USM|address space"),
    "stride beyond the allocation": ({"shape": (2,), "strides": (2**38,)}, "extend beyond"),
    "plain memory as USM": ({"data": plain_address}, r"not USM.*default\s+context"),
    "wild pointer as USM": ({"data": 0xDEAD0000}, "0xdead0000.*not USM"),
    "pointer at the end of the world": ({"data": 2**64 - 4}, "address space|not USM"),
    "USM of another context": ({"data": elsewhere._pointer}, r"not USM.*default\s+context"),
    "more elements than fit": ({"shape": (2**62, 4), "strides": (0, 0)}, "address space"),
}


def test_exception_left_by_a_deleter_is_dropped():
    managed = over(values(3))
    managed._struct.deleter = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p)
    assert (lambda: sx.from_dlpack(managed.capsule()).ndim + len([]))() == 1  # dropped before len
    assert (lambda: np.from_dlpack(sx.host_view(managed.capsule())).ndim + len([]))() == 1


def test_failed_wait_for_the_producers_queue_runs_a_python_deleter(monkeypatch):
    monkeypatch.setitem(SequentialOrderManager._map.get(), queue, None)
    shows = type("Shows", (Producer,), {"sycl_queue": queue})
    for cls in (shows, with_table(Table(stream=queue.addressof_ref()))):
        producer = cls(numbers())
        with pytest.raises(AttributeError, match="submitted_events"):
            sx.from_dlpack(producer)
        assert [managed.deleted for managed in producer.made or cls.table.made] == [1]


@needs("contexts", "USM of another context")
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(case, versioned, usm_type):
    fields, words = HOSTILE[case]
    if not versioned and {"version", "flags"} & set(fields):
        versioned = True  # the legacy struct has none
    live = sx.memory.live_exports()
    managed = over(numbers(usm_type), **{"versioned": versioned, **fields})
    capsule = managed.capsule()
    with pytest.raises(BufferError, match=words):
        sx.from_dlpack(capsule)
    assert managed.deleted == 1
    with pytest.raises(BufferError, match="already been consumed"):
        sx.from_dlpack(capsule)
    del capsule
    assert managed.deleted == 1
    del managed
    assert sx.memory.live_exports() == live


@needs("contexts", "USM of another context")
@pytest.mark.parametrize("case", [case for case in HOSTILE if "device" not in HOSTILE[case][0]])
def test_hostile_producers(case):
    """The same through an object: its refusal is final, and it was asked once."""
    fields, words = HOSTILE[case]
    producer = Producer(numbers(), **fields)
    producer.made_now = lambda: over(numbers())._struct.dl_tensor
    with pytest.raises(BufferError, match=words):
        sx.from_dlpack(producer)
    assert set(producer.deleted) == {1}


@pytest.mark.parametrize("name", [b"dltensor_version", b"", None, b"used_dltensor", b"arrow_array"])
def test_capsules_of_another_name(name):
    managed = over(numbers())
    capsule = new_capsule(managed.address, name)
    with pytest.raises(BufferError, match="consumed" if name == b"used_dltensor" else "named"):
        sx.from_dlpack(capsule)
    assert managed.deleted == 0


def test_changed_export_of_ours_is_checked_again():
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
        "ndim": (lambda dl: setattr(dl, "ndim", 99), "ndim is 99"),
    }
    live = sx.memory.live_exports()
    for change, words in changes.values():
        for usm_type in samples.USM_TYPES:
            # a megabyte, which no pool serves
            tensor = sx.empty((512, 512), "float32", usm_type=usm_type)
            capsule = tensor.__dlpack__(max_version=(1, 0))
            change(managed_in(capsule).dl_tensor)
            with pytest.raises(BufferError, match=words):
                sx.from_dlpack(capsule)
            del capsule
            assert sx.memory.live_exports() == live


# ---- hostile producers ---------------------------------------------------------------------------


@pytest.mark.parametrize("error_type", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_base_exceptions_of_a_producer_go_through(error_type):
    with pytest.raises(error_type):
        sx.from_dlpack(Raising(values(3), error_type()))


def test_producer_of_a_consumed_capsule_is_refused():
    for producer in (Consumed(values(3)), Consumed(numbers())):
        with pytest.raises(BufferError, match="already been consumed"):
            sx.from_dlpack(producer)
        assert set(producer.deleted) == {1}


def test_reentrant_producer_is_imported():
    for array in (values(3), numbers()):
        producer = Reentrant(array)
        sx.from_dlpack(producer)
        assert producer.deleted == [1]


@needs("device_copies")
def test_deleter_may_import():
    """A deleter that runs Python, and uses the package."""
    seen = []

    class Noisy:
        def __init__(self, array):
            self.array = array

        def __del__(self):
            seen.append(bits(sx.from_dlpack(self.array).copy().to_numpy()))

    array = values(3)
    sx.from_dlpack(over(array, keep=Noisy(array)).capsule())
    assert seen == [bits(array)]
    with pytest.raises(BufferError):
        sx.from_dlpack(over(array, keep=Noisy(array), ndim=-1).capsule())
    assert len(seen) == 2


def test_capsule_consumed_by_many_threads_is_taken_once():
    """Twenty attempts, so that the threads meet in some of them."""
    start = threading.Barrier(4)

    def consume(capsule):
        start.wait()
        try:
            return sx.from_dlpack(capsule).size
        except BufferError:
            return 0

    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            managed = over(values(3))
            results = pool.map(consume, [managed.capsule()] * 4)
            assert sorted(results) == [0, 0, 0, 3]
            assert managed.deleted == 1
