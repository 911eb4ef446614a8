# SPDX-License-Identifier: Apache-2.0
"""Arrays packed for another process: by a handle, in shared memory, as bytes.  Of a GPU:
``environments/stand_in_gpu/test_gpu_packing.py``."""

import copy
import gc
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import assert_equal, values

COPIES = ["shared memory", "bytes"]

OPENS = """
import pickle
import sycl_ext as sx
t = pickle.loads(bytes.fromhex(MESSAGE)).open()
print(t.tolist(), t.usm_type, t.strides, t.readonly)
"""


def opened_elsewhere(packed):
    return environments.python(OPENS.replace("MESSAGE", repr(pickle.dumps(packed).hex()))).strip()


def numbers(usm_type="device", **how):
    return sx.empty((2, 3), "int16", usm_type=usm_type, **how).copy_from(values((2, 3), "int16"))


def test_memory_that_can_be_shared_is_not_copied():
    t = sx.ipc.empty(3, "int8", device="cpu").copy_from(np.array([1, 2, 3], "int8"))
    packed = sx.ipc.pack(t)
    assert (packed.how, packed.reason) == ("handle", "")
    packed.open()[0].fill(9)
    assert t.tolist() == [9, 2, 3]
    assert opened_elsewhere(packed) == "[9, 2, 3] system (1,) False"


def test_other_memory_is_copied_to_shared_memory(usm_type):
    t = numbers(usm_type, order="F").as_readonly()
    packed = sx.ipc.pack(t)
    assert packed.how == "shared memory"
    assert "is not in memory that processes can share" in packed.reason
    assert len(pickle.dumps(packed)) < 900
    assert opened_elsewhere(packed) == f"{t.tolist()} {usm_type} (1, 2) True"


@pytest.mark.parametrize("how", COPIES)
def test_copy_does_not_change_with_its_source(how):
    t = numbers()
    packed = sx.ipc.pack(t, how=how)
    t.fill(0)
    opened = packed.open()
    opened.fill(1)
    assert_equal(packed.open(), values((2, 3), "int16"))
    assert packed.reason == ""


def test_bytes_are_taken_where_no_memory_can_be_shared(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    packed = sx.ipc.pack(numbers())
    assert packed.how == "bytes"
    assert packed.reason.count("; ") >= 2  # both ways, and their ways out
    assert "memfd_create" in packed.reason
    assert_equal(packed.open(), values((2, 3), "int16"))
    with pytest.raises(BufferError, match="memfd_create"):
        sx.ipc.pack(numbers(), how="shared memory")


def test_array_without_elements_is_sent_as_bytes():
    packed = sx.ipc.pack(sx.zeros((0, 3), device="cpu"))
    assert (packed.how, packed.open().shape) == ("bytes", (0, 3))
    assert "the array has no elements, and so no memory to share" in packed.reason


@pytest.mark.parametrize("make", [lambda: sx.zeros((0, 3), device="cpu"), lambda: np.zeros((0, 3))])
def test_advice_for_an_array_without_elements_works(make):
    x = make()
    for share in (sx.ipc.handle, lambda x: sx.ipc.pack(x, how="shared memory")):
        with pytest.raises(BufferError, match="no elements") as refused:
            share(x)
        packed = eval(str(refused.value).rpartition("send a copy: ")[2], {"sycl_ext": sx, "x": x})
        assert packed.open().shape == (0, 3)


@pytest.mark.parametrize("how", COPIES)
def test_arrays_of_libraries_arrive_as_tensors(how):
    for x in (values((2, 3), "int16"), sx.host_view(numbers("host"))):
        assert_equal(sx.ipc.pack(x, how=how).open(), values((2, 3), "int16"))


@pytest.mark.parametrize("how", COPIES)
def test_repeated_elements_are_sent_once(how):
    t = sx.from_dlpack(np.broadcast_to(np.int16(7), (2, 3)))
    assert sx.ipc.pack(t, how=how).open().tolist() == [[7] * 3] * 2


@pytest.mark.parametrize("how", ["handle", "shared memory"])
def test_memory_of_a_sender_that_has_dropped_it_is_refused(how):
    packed = sx.ipc.pack(sx.ipc.empty(3, device="cpu"), how=how)
    message = pickle.dumps(packed)
    del packed
    gc.collect()
    with pytest.raises(BufferError, match=r"or send a copy: sycl_ext.ipc.pack\(x, how='bytes'\)"):
        pickle.loads(message).open()


def test_killed_sender_leaves_nothing():
    shown = environments.python("""
import pickle, os, signal
import sycl_ext as sx
packed = sx.ipc.pack(sx.ones(3, device="cpu"))
print(pickle.dumps(packed).hex(), flush=True)
os.write(1, b"x\\n") and os._exit(0)
""")
    packed = pickle.loads(bytes.fromhex(shown.split()[0]))
    assert packed.how == "shared memory"
    with pytest.raises(BufferError, match="has ended"):
        packed.open()
    assert not list(Path("/dev/shm").glob("*sycl*"))


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy])
def test_copy_of_a_packed_array_keeps_the_memory(of):
    copied = of(sx.ipc.pack(numbers()))
    gc.collect()
    assert_equal(copied.open(), values((2, 3), "int16"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("pigeon", "", b""), "it has 'pigeon', '', bytes; use the same version"),
        (("bytes", "", 5), "it has 'bytes', '', int;"),
        (("handle", "", b""), "it has 'handle', '', bytes;"),
        (("shared memory", "", (b"", (1, 2, 3), 4)), "it has 'shared memory', '', tuple;"),
        (("bytes", b""), "it has 'bytes', bytes;"),
    ],
)
def test_pickle_of_another_version_is_refused(fields, words):
    read, _ = sx.ipc.pack(numbers()).__reduce__()
    with pytest.raises(ValueError, match=f"not a pickle of a sycl_ext.ipc.Packed: {words}"):
        read(*fields)


def test_lack_of_descriptors_is_no_refusal_of_the_sender():
    shown = environments.python("""
import errno, os, resource
import sycl_ext as sx
packed = sx.ipc.pack(sx.zeros(3, device="cpu"))
assert packed.how == "shared memory"
packed.open()
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0), most))
try:
    packed.open()
except OSError as error:
    print(isinstance(error, BufferError), errno.errorcode[error.errno])
""")
    assert shown == "True EMFILE\n"
