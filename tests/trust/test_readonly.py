# SPDX-License-Identifier: Apache-2.0
"""Read-only stays read-only in every exchange (R7), also where a write would end the process."""

import numpy as np
import pytest

import sycl_ext as sx
import ways
from dlpack_conformance.structs import READ_ONLY, managed_in
from producers import over
from samples import bits, values
from ways import WAYS, Tag

VERSIONED = {"max_version": (1, 0)}


def array():
    made = values((4, 6))
    made.flags.writeable = False
    return made


#: Ways in: a tensor over the memory of a read-only array or tensor.
WAYS_IN = {
    "from_dlpack of NumPy": sx.from_dlpack,
    "as_tensor of NumPy": sx.as_tensor,
    "as_tensor of a memoryview": lambda array: sx.as_tensor(memoryview(array)),
    "as_tensor of bytes": lambda array: sx.as_tensor(array.tobytes()),
    "capsule": lambda array: sx.from_dlpack(array.__dlpack__(max_version=(1, 0))),
    "host view": lambda array: sx.from_dlpack(sx.host_view(array)),
    "as_tensor of a host view": lambda array: sx.as_tensor(sx.host_view(array)),
    "flag of a third party": lambda array: sx.from_dlpack(
        over(array.copy(), flags=READ_ONLY).capsule()
    ),
    "USM": lambda array: sx.as_tensor(array).copy().as_readonly(),
    "USM through DLPack": lambda array: sx.from_dlpack(sx.as_tensor(array).copy().as_readonly()),
}

#: Ways to the same memory.  A capsule of before versions cannot say that it is read-only, and host
#: memory has no description as USM.
STEPS = ways.select(
    ways.VIEW, ways.HOST, without={Tag.LEGACY, Tag.INTERFACE}, dtype="int64", flagless=False
)
#: Copies that are their owner's: a pickle keeps the flag, and what MPI reads is looked at.
COPIES = ways.select(ways.COPY, without={Tag.KEEPS_FLAG, Tag.INTERFACE, Tag.KERNELS})


def follow(tensor, name):
    """The result of a way, as a tensor; None: it refuses, as a loan to C, or gives a copy."""
    try:
        outcome = WAYS[name].call(tensor) if WAYS[name].takes(tensor) else None
    except BufferError:
        outcome = None
    if outcome is None:
        return None
    first, last = np.lib.array_utils.byte_bounds(tensor.to_numpy())
    outcome = outcome.result() if isinstance(outcome, sx.memory.AsyncCopy) else outcome
    if isinstance(outcome, ways.Address) or not first <= ways.address_of(outcome) < last:
        return None
    return outcome if isinstance(outcome, sx.Tensor) else sx.as_tensor(outcome)


@pytest.mark.parametrize("way", WAYS_IN)
def test_ways_from_readonly_memory_are_readonly(way):
    tensor = WAYS_IN[way](array())
    assert_readonly(tensor)
    followed = {name: result for name in STEPS if (result := follow(tensor, name)) is not None}
    assert len(followed) > 25
    for result in followed.values():
        assert_readonly(result)
        for name in ("Tensor.__getitem__", "Tensor.T", "from_dlpack", "as_tensor", "host_view"):
            if (again := follow(result, name)) is not None:
                assert_readonly(again)


def assert_readonly(tensor):
    assert tensor.readonly
    assert "readonly" in repr(tensor)
    if tensor.usm_type != "system":  # that one is copied when it is exported
        assert managed_in(tensor.__dlpack__(**VERSIONED)).flags & READ_ONLY
        with pytest.raises(BufferError, match="read-only"):
            tensor.__dlpack__()
    host = sx.host_view(tensor)
    if host.is_copy:  # negative strides go to the host as a copy, which is its owner's own
        assert not host.readonly
        assert host.ptr != tensor.ptr
        assert not host.readonly
        return
    assert host.readonly
    for capsule in (tensor.__dlpack__(dl_device=(1, 0), **VERSIONED), host.__dlpack__(**VERSIONED)):
        managed = managed_in(capsule)
        if managed.dl_tensor.data == tensor.ptr:
            assert managed.flags & READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        host.__dlpack__()
    assert tensor.__sycl_usm_array_interface__["data"][1] is True
    for view in (tensor.to_numpy(), np.asarray(tensor), np.asarray(host), np.from_dlpack(host)):
        if np.shares_memory(view, tensor.to_numpy()):
            assert not view.flags.writeable
    assert memoryview(tensor).readonly
    assert memoryview(host).readonly
    with pytest.raises(BufferError, match="read-only"):
        tensor.copy_from(np.zeros((), tensor.dtype))


@pytest.mark.parametrize("way", WAYS_IN)
def test_copy_of_readonly_memory_is_writable(way):
    tensor = WAYS_IN[way](array())
    before = bits(tensor.to_numpy())
    for name, copy_of in COPIES.items():
        if copy_of.takes(tensor):
            copied = copy_of.call(tensor)
            assert ways.is_writable(copied), name
            if isinstance(copied, sx.Tensor):
                copied.copy_from(np.zeros((), tensor.dtype))
    assert bits(tensor.to_numpy()) == before
