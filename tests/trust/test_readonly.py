# SPDX-License-Identifier: Apache-2.0
"""Read-only stays read-only in every exchange (R7), also where a write would end the process."""

import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import READ_ONLY, managed_in
from producers import over
from samples import bits, values

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

#: From one tensor to another over the same memory.
STEPS = {
    "nothing": lambda t: t,
    "index": lambda t: t[...],
    "slice": lambda t: t[1:],
    "reversed": lambda t: t[::-1],
    "transposed": lambda t: t.T,
    "reshaped": lambda t: t.reshape(-1),
    "from_dlpack": sx.from_dlpack,
    "as_tensor": sx.as_tensor,
    "capsule of the own entry": lambda t: sx.from_dlpack(
        t.__dlpack__(dl_device=(14, t.device.id), **VERSIONED)
    ) if t.usm_type != "system" else t,
    "over the host": lambda t: sx.from_dlpack(t.__dlpack__(dl_device=(1, 0), **VERSIONED)),
    "NumPy": lambda t: sx.from_dlpack(t.to_numpy()),
    "memoryview": lambda t: sx.as_tensor(memoryview(t)),
    "to_device": lambda t: t.to_device(t.device),
    "iteration": lambda t: next(iter(t)),
}  # fmt: skip


def follow(tensor, *steps):
    """Take the steps, but for those that would copy this tensor, or need a dimension more."""
    for step in steps:
        no_view = {
            "over the host": min(tensor.strides, default=0) < 0,
            "reshaped": not tensor.to_numpy().flags.c_contiguous,
            "iteration": tensor.ndim == 0,
            "slice": tensor.ndim == 0,
            "reversed": tensor.ndim == 0,
        }
        if not no_view.get(step):
            tensor = STEPS[step](tensor)
    return tensor


@pytest.mark.parametrize("way", WAYS_IN)
def test_every_way(way):
    for first in STEPS:
        for second in STEPS:
            assert_readonly(follow(WAYS_IN[way](array()), first, second))


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
    for capsule in (
        tensor.__dlpack__(dl_device=(1, 0), **VERSIONED),
        host.__dlpack__(**VERSIONED),
    ):
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
def test_a_copy_is_its_owners_own(way):
    tensor = WAYS_IN[way](array())
    before = bits(tensor.to_numpy())
    for copy in (
        tensor.copy(),
        sx.from_dlpack(tensor, copy=True),
        sx.as_tensor(tensor, copy=True),
        tensor.to_device(0, copy=True),
        sx.from_dlpack(tensor.__dlpack__(copy=True)),
        sx.from_dlpack(tensor.__dlpack__(copy=True, dl_device=(1, 0))),
        sx.from_dlpack(sx.host_view(tensor, copy=True)),
    ):
        assert not copy.readonly
        copy.copy_from(np.zeros((), tensor.dtype))
    for array_copy in (tensor.to_numpy(copy=True), np.array(tensor)):
        assert array_copy.flags.writeable
    assert bits(tensor.to_numpy()) == before


def test_a_memory_map(tmp_path):
    """``np.load(mmap_mode="r")``: a write that slips through ends the process."""
    np.save(tmp_path / "numbers.npy", values((4, 6)))
    program = f"""
import numpy as np
import sycl_ext as sx
import test_readonly as ways

mapped = np.load({str(tmp_path / "numbers.npy")!r}, mmap_mode="r")
content = mapped.tobytes()
one = np.float32(1).reshape(())
for way in (sx.from_dlpack, sx.as_tensor, lambda a: sx.from_dlpack(sx.host_view(a)),
            lambda a: sx.as_tensor(memoryview(a)), lambda a: sx.from_dlpack(a[::2, ::-1])):
    for step in ways.STEPS:
        tensor = ways.follow(way(mapped), step)
        ways.assert_readonly(tensor)
        host = sx.host_view(tensor)
        writes = [
            lambda: tensor.copy_from(one),
            lambda: tensor.to_numpy().__setitem__(..., 1),
            lambda: np.asarray(tensor).__setitem__(..., 1),
            lambda: memoryview(tensor).cast("B").__setitem__(0, 1),
            lambda: np.asarray(memoryview(tensor)).__setitem__(..., 1),
            lambda: tensor.to_numpy().flags.__setattr__("writeable", True),
        ]
        if not host.is_copy:
            writes += [
                lambda: np.asarray(host).__setitem__(..., 1),
                lambda: memoryview(host).cast("B").__setitem__(0, 1),
                lambda: np.from_dlpack(host).__setitem__(..., 1),
                lambda: np.from_dlpack(host).flags.__setattr__("writeable", True),
                lambda: sx.from_dlpack(host).copy_from(one),
                lambda: sx.as_tensor(host).copy_from(one),
            ]
        for write in writes:
            try:
                write()
            except (ValueError, TypeError, BufferError):
                continue
            raise AssertionError("written")
        copy = tensor.copy().copy_from(one)
        assert (copy.to_numpy() == 1).all()
assert mapped.tobytes() == content
print("alive")
"""
    output = environments.python(program, near=__file__)
    assert output.endswith("alive\n")


def test_a_memory_map_reaches_no_consumer_writable(tmp_path):
    """Whoever ignores the flag gets a copy."""
    np.save(tmp_path / "numbers.npy", values((4, 6)))
    output = environments.python(f"""
import dpnp, numpy as np, torch
import sycl_ext as sx

mapped = np.load({str(tmp_path / "numbers.npy")!r}, mmap_mode="r")
content = mapped.tobytes()
for consumer in (torch, dpnp):
    taken = sx.exchange(mapped, consumer)
    taken[0, 0] = 5
    assert float(taken[0, 0]) == 5
assert not sx.exchange(mapped, np).flags.writeable
assert mapped.tobytes() == content
print("alive")
""")
    assert output.endswith("alive\n")
