# SPDX-License-Identifier: Apache-2.0
"""Bytes that go to each kind of memory and come back, by each protocol."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product

import dpctl.memory
import numpy as np

import sycl_ext as sx
from sycl_ext_hardware.samples import Cannot, DidNotHoldError, Numbers, Row, expect, numbers
from sycl_ext_hardware.setup import ALLOCATED, NEW, OLD, QUEUES, Setup, UsmType

#: Bytes of the blocks: one element, a page, and some MiB that end within a page.
SIZES = (8, 4096, (3 << 20) + 8)


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for kind, name in product(ALLOCATED, setup.without_libraries(TRIPS)):
        yield f"{kind} USM, {name}", partial(each_size, setup, kind, TRIPS[name])
    for source, target in product(ALLOCATED, ALLOCATED):
        if source != target:
            yield f"{source} USM to {target} USM", partial(between, setup, source, target)
    yield "memory of NumPy as system USM", lambda: system(setup)
    yield "more memory than there is", lambda: too_much(setup)


def each_size(setup: Setup, kind: UsmType, trip: Callable[[sx.Tensor, Numbers], str | None]) -> str:
    """Make a trip with each size, and return the detail of the last one."""
    need(setup, kind)
    detail = ""
    for nbytes in SIZES:
        data = numbers(NEW, nbytes)
        detail = trip(setup.tensor(kind, data), data) or ""
    return detail


def need(setup: Setup, *kinds: str) -> None:
    """Raise Cannot if the device does not allocate such memory."""
    for kind in kinds:
        if kind not in setup.kinds:
            raise Cannot(f"it allocates no {kind} USM")


def to_the_host(tensor: sx.Tensor, data: Numbers) -> None:
    """Copy to NumPy."""
    expect(tensor.to_numpy(copy=True), data, "to_numpy")


def strided(tensor: sx.Tensor, data: Numbers) -> None:
    """Copy every third element, last to first, and write to them."""
    expect(tensor[::-3].to_numpy(copy=True), data[::-3], "t[::-3]")
    changed = data.copy()
    changed[::3] = 7
    tensor[::3].copy_from(np.full(changed[::3].size, 7, "int64"))
    expect(tensor.to_numpy(copy=True), changed, "after a write to t[::3]")


def on_the_device(tensor: sx.Tensor, data: Numbers) -> None:
    """Copy to another tensor."""
    expect(tensor.copy().to_numpy(copy=True), data, "copy")


def later(tensor: sx.Tensor, data: Numbers) -> None:
    """Copy in both directions without waiting."""
    copy = sx.empty_like(tensor).copy_from(tensor, wait=False)
    expect(copy.result().to_numpy(wait=False).result(), data, "wait=False")


def capsules(tensor: sx.Tensor, data: Numbers) -> None:
    """Make capsules, versioned and legacy, and take them as views."""
    for version in (None, (1, 0)):
        taken = sx.from_dlpack(tensor.__dlpack__(max_version=version))
        if taken.ptr != tensor.ptr:
            raise DidNotHoldError("the capsule came back at another address")
        expect(taken.to_numpy(copy=True), data, "a view of a capsule")


def with_dpctl(tensor: sx.Tensor, data: Numbers) -> None:
    """Let dpctl read the memory, and read memory of dpctl."""
    expect(dpctl.memory.as_usm_memory(tensor), data, "dpctl.memory")
    theirs = type(dpctl.memory.as_usm_memory(tensor))(tensor.nbytes, queue=tensor.sycl_queue)
    theirs.copy_from_host(data.view("uint8"))
    expect(sx.as_tensor(theirs).to_numpy(copy=True), data, "memory of dpctl")


def with_host_view(tensor: sx.Tensor, data: Numbers) -> str:
    """Show the memory to NumPy, in place where the host reaches it."""
    view = np.from_dlpack(sx.host_view(tensor))
    expect(view, data, "host_view")
    return "a view" if view.ctypes.data == tensor.ptr else "a copy: the host cannot reach it"


def with_dpnp(tensor: sx.Tensor, data: Numbers) -> str:
    """Let dpnp view the memory, and view dpnp's array in turn."""
    if find_spec("dpnp") is None:
        raise Cannot("dpnp is not installed")
    import dpnp

    theirs = sx.exchange(tensor, dpnp)
    expect(dpnp.asnumpy(theirs), data, "dpnp")
    expect(sx.from_dlpack(theirs).to_numpy(copy=True), data, "back from dpnp")
    return "a view" if sx.from_dlpack(theirs).ptr == tensor.ptr else "a copy"


def with_torch(tensor: sx.Tensor, data: Numbers) -> str:
    """Give the elements to PyTorch."""
    if find_spec("torch") is None:
        raise Cannot("torch is not installed")
    import torch

    plan = sx.explain(tensor, torch)
    theirs = sx.exchange(tensor, torch)
    expect(theirs.cpu().numpy(), data, "torch")
    return f"on {theirs.device.type}: {plan}"


#: name -> the trip, which returns a detail or nothing
TRIPS: dict[str, Callable[[sx.Tensor, Numbers], str | None]] = {
    "NumPy and back": to_the_host,
    "strided": strided,
    "copied on the device": on_the_device,
    "copied without waiting": later,
    "capsules of DLPack": capsules,
    "dpctl.memory": with_dpctl,
    "host_view": with_host_view,
    "dpnp": with_dpnp,
    "PyTorch": with_torch,
}


def between(setup: Setup, source: UsmType, target: UsmType) -> None:
    """Copy between two kinds of memory."""
    need(setup, source, target)
    for nbytes in SIZES:
        data = numbers(NEW, nbytes)
        copy = setup.tensor(target, numbers(OLD, nbytes))
        copy.copy_from(setup.tensor(source, data))
        expect(copy.to_numpy(copy=True), data, f"{nbytes} bytes")


def system(setup: Setup) -> str:
    """Let the device read memory of NumPy where it is."""
    data = numbers(NEW, 4096)
    try:
        view = sx.as_tensor(data, device=setup.device, copy=False)
    except sx.CopyRefusedError as reason:
        raise Cannot(str(reason)) from reason
    expect(view.copy().to_numpy(copy=True), data, "copied on the device")
    return f"usm_type {view.usm_type!r}"


def too_much(setup: Setup) -> str:
    """Ask for twice the memory of the device, and then for a little."""
    nbytes = 2 * setup.device.sycl_device.global_mem_size
    kind = setup.kinds[0]
    try:
        sx.empty(nbytes, "uint8", usm_type=kind, device=setup.device)
    except MemoryError as error:
        to_the_host(setup.tensor(kind, numbers(NEW, 4096), QUEUES[0]), numbers(NEW, 4096))
        return f"MemoryError, and a small block afterwards ({error})"
    raise Cannot(f"its driver grants {nbytes} bytes, twice its memory, of {kind} USM")
