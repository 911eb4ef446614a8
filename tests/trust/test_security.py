# SPDX-License-Identifier: Apache-2.0
"""The promises of SECURITY.md about memory: read-only on every way out, and no bytes of others.

`test_readonly` follows read-only memory through all ways between tensors; here are the ways out,
each with a consumer's attempt to write.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np
import pytest

import sycl_ext as sx
import ways
from dlpack_conformance.structs import managed_in
from needs import needs
from samples import bits
from ways import WAYS

VERSIONED = {"max_version": (1, 0)}

# ---- read-only on every way out -----------------------------------------------------------------

VIEWS = ways.select(ways.VIEW, ways.HOST, dtype="int64")
REFUSED = {
    "writable buffer": lambda t: (ctypes.c_char * 8).from_buffer(t),
    "assignment": lambda t: t.__setitem__(0, 1),
    "readonly": lambda t: setattr(t, "readonly", False),
    **{
        name: lambda t, way=way: way.call(t, np.zeros(64, "int64"))
        for name, way in ways.select(ways.WRITES).items()
    },
}


def is_open(name, tensor):
    """Whether a consumer gets at the memory of a tensor so that it may write."""
    result = WAYS[name].call(tensor)
    return ways.is_within(ways.address_of(result), tensor) and ways.is_writable(result)


@pytest.mark.parametrize("name", [name for name in VIEWS if not WAYS[name].flagless])
def test_views_of_readonly_memory_are_readonly(name, usm_type):
    tensor = sx.empty(64, "int64", usm_type=usm_type).copy_from(np.arange(64))
    with contextlib.suppress(BufferError):
        assert is_open(name, tensor.as_readonly()) is False
    assert bits(tensor.to_numpy()) == bits(np.arange(64))
    assert is_open(name, tensor) is not WAYS[name].readonly


@needs("halves", "Tensor.copy_from(a tensor of a part)")
@pytest.mark.parametrize("name", REFUSED)
def test_writes_to_readonly_memory_are_refused(name, usm_type):
    tensor = sx.empty(64, "int64", usm_type=usm_type).copy_from(np.arange(64))
    with pytest.raises((BufferError, TypeError, ValueError, AttributeError)):
        REFUSED[name](tensor.as_readonly())
    assert bits(tensor.to_numpy()) == bits(np.arange(64))


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


def test_host_copy_shows_only_its_elements():
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


def test_export_of_padding_is_refused():
    """A consumer that alters an export of ours cannot see the rest of a pooled block."""
    tensor = sx.zeros(10, "uint8", usm_type="shared")
    for _ in range(2):
        capsule = tensor.__dlpack__(**VERSIONED)
        managed_in(capsule).dl_tensor.shape[0] = 11
        with pytest.raises(BufferError, match=r"the block of 10 bytes"):
            sx.from_dlpack(capsule)
