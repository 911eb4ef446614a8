# SPDX-License-Identifier: Apache-2.0
"""What SECURITY.md promises about memory: read-only on every way out, and no bytes of others.

`test_readonly` follows read-only memory through all ways between tensors; here are the ways out,
each with a consumer's attempt to write.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import pickle

import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import (
    READ_ONLY,
    Deleter,
    DLManagedTensorVersioned,
    DLTensor,
    exchange_api,
    managed_in,
)
from samples import USM_TYPES, bits, values

VERSIONED = {"max_version": (1, 0)}

# ---- the C exchange table, as C sees it ----------------------------------------------------------


def through_the_table(tensor):
    """Flags and address of an export through the C table."""
    out = ctypes.c_void_p()
    assert exchange_api(type(tensor)).from_object(tensor, ctypes.byref(out)) == 0
    managed = DLManagedTensorVersioned.from_address(out.value)
    flags, data = managed.flags, managed.dl_tensor.data
    Deleter(managed.deleter)(out.value)
    return flags, data


# ---- read-only on every way out -----------------------------------------------------------------


def writable_dlpack(**asked):
    def way(tensor):
        managed = managed_in(tensor.__dlpack__(**asked))
        same = managed.dl_tensor.data == tensor.ptr
        return same and not (hasattr(managed, "flags") and managed.flags & READ_ONLY)

    return way


def writable_interface(tensor):
    return not tensor.__sycl_usm_array_interface__["data"][1]


def writable_table(tensor):
    flags, data = through_the_table(tensor)
    return data == tensor.ptr and not flags & READ_ONLY


def writable_borrow(tensor):
    return exchange_api(type(tensor)).borrow(tensor, ctypes.byref(DLTensor())) == 0


def writable_array(array, tensor):
    return np.shares_memory(array, tensor.to_numpy()) and array.flags.writeable


def writable_tensor(other, tensor):
    return np.shares_memory(other.to_numpy(), tensor.to_numpy()) and not other.readonly


def writable_pickle(tensor):
    buffers = []
    again = pickle.loads(pickle.dumps(tensor, 5, buffer_callback=buffers.append), buffers=buffers)
    given = any(not memoryview(buffer.raw()).readonly for buffer in buffers)
    return given or writable_tensor(again, tensor)


#: name -> whether a consumer gets at the memory of a tensor so that it may write
WAYS_OUT = {
    "legacy DLPack": writable_dlpack(),
    "DLPack 1.0": writable_dlpack(**VERSIONED),
    "DLPack, no stream": writable_dlpack(stream=-1, **VERSIONED),
    "DLPack, own device": writable_dlpack(dl_device=(14, 0), **VERSIONED),
    "DLPack, host": writable_dlpack(dl_device=(1, 0), **VERSIONED),
    "legacy DLPack, host": writable_dlpack(dl_device=(1, 0)),
    "host view, legacy": lambda t: writable_dlpack()(sx.host_view(t)),
    "host view, DLPack": lambda t: writable_dlpack(**VERSIONED)(sx.host_view(t)),
    "host view, buffer": lambda t: not memoryview(sx.host_view(t)).readonly,
    "host view, __array__": lambda t: writable_array(np.asarray(sx.host_view(t)), t),
    "interface": writable_interface,
    "C table": writable_table,
    "C table, borrowed": writable_borrow,
    "C table of a host view": lambda t: writable_table(sx.host_view(t)),
    "C table of a host view, borrowed": lambda t: writable_borrow(sx.host_view(t)),
    "buffer": lambda t: not memoryview(t).readonly,
    "writable buffer": lambda t: (ctypes.c_char * 8).from_buffer(t) is not None,
    "__array__": lambda t: writable_array(t.__array__(), t),
    "to_numpy": lambda t: writable_array(t.to_numpy(), t),
    "exchange": lambda t: writable_array(sx.exchange(t, np), t),
    "numpy.from_dlpack": lambda t: writable_array(np.from_dlpack(sx.host_view(t)), t),
    "index": lambda t: writable_tensor(t[1:, ::-1], t),
    "iteration": lambda t: writable_tensor(next(iter(t)), t),
    "reshape": lambda t: writable_tensor(t.reshape(-1), t),
    "transposed": lambda t: writable_tensor(t.T, t),
    "to_device": lambda t: writable_tensor(t.to_device(t.device), t),
    "from_dlpack": lambda t: writable_tensor(sx.from_dlpack(t), t),
    "as_tensor": lambda t: writable_tensor(sx.as_tensor(t), t),
    "copy.copy": lambda t: writable_tensor(copy.copy(t), t),
    "pickle, out of band": writable_pickle,
    "copy_from": lambda t: t.copy_from(np.zeros((), t.dtype)) is not None,
    "assignment": lambda t: t.__setitem__(0, 1) is None,
    "readonly": lambda t: setattr(t, "readonly", False) is None,
}


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("usm_type", USM_TYPES)
def test_no_way_is_writable(way, usm_type):
    tensor = sx.empty((4, 6), usm_type=usm_type).copy_from(values((4, 6)))
    with contextlib.suppress(BufferError, TypeError, ValueError, AttributeError):
        assert not WAYS_OUT[way](tensor.as_readonly())
    assert bits(tensor.to_numpy()) == bits(values((4, 6)))


#: Ways on which nobody can write to any tensor.
NEVER = {"assignment", "readonly", "copy.copy", "pickle, out of band"}


@pytest.mark.parametrize("way", [name for name in WAYS_OUT if name not in NEVER])
def test_the_same_ways_are_open_for_writable_memory(way):
    """So the test above sees what it has to."""
    tensor = sx.zeros((4, 6), usm_type="shared")
    assert WAYS_OUT[way](tensor)


def test_dpctl_memory_cannot_be_told():
    """dpctl.memory reads the flag, and has no read-only memory: it keeps no promise of ours."""
    tensor = sx.zeros(8, "uint8", usm_type="shared").as_readonly()
    assert tensor.__sycl_usm_array_interface__["data"][1] is True
    assert dpctl.memory.as_usm_memory(tensor).nbytes == 8


# ---- no bytes of others --------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [1, 64, 4096, 65_536, 1 << 20, (5 << 20) + 3])
def test_zeros_are_zero(nbytes, usm_type):
    """In memory that was used just before, of the same size."""
    for _ in range(3):
        used = sx.empty(nbytes, "uint8", usm_type=usm_type)
        used.copy_from(np.full(nbytes, 0xEE, "uint8"))
        address = used.ptr
        del used
        zeros = sx.zeros(nbytes, "uint8", usm_type=usm_type)
        assert not zeros.to_numpy().any()
        del zeros
    assert address


def test_a_host_copy_shows_nothing_but_the_elements():
    """Blocks of the host pool are larger than what they are for; the rest stays out of sight."""
    for _ in range(3):
        secret = sx.host_view(np.full(5000, 0xEE, "uint8"), copy=True)
        assert np.asarray(secret)[0] == 0xEE
        del secret
        tensor = sx.zeros((50, 100), "uint8")[:, ::2]
        copied = sx.host_view(tensor, copy=True)
        buffer = memoryview(copied)
        assert (buffer.nbytes, buffer.shape) == (2500, (50, 50))
        assert not any(buffer.tobytes())
        managed = managed_in(copied.__dlpack__(**VERSIONED)).dl_tensor
        seen = (ctypes.c_uint8 * 2500).from_address(managed.data)
        assert not any(seen)
        del buffer, copied, managed


def test_an_export_of_padding_is_refused():
    """A consumer that alters an export of ours cannot see the rest of a pooled block."""
    tensor = sx.zeros(10, "uint8", usm_type="shared")
    for _ in range(2):
        capsule = tensor.__dlpack__(**VERSIONED)
        managed_in(capsule).dl_tensor.shape[0] = 11
        with pytest.raises(BufferError, match=r"a block of 10 bytes"):
            sx.from_dlpack(capsule)
