# SPDX-License-Identifier: Apache-2.0
"""Memory that another process opens (`sycl_ext.ipc`)."""

import pickle
from collections.abc import Callable, Iterator
from functools import partial

import sycl_ext as sx
from sycl_ext_hardware.late import memory_of
from sycl_ext_hardware.samples import Cannot, DidNotHoldError, Row, expect, numbers
from sycl_ext_hardware.scenes import NBYTES, play
from sycl_ext_hardware.setup import NEW, OLD, OTHER, Setup

#: How many seconds the other process may take.
LIMIT = 60


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for name, made in MEMORY.items():
        yield f"another process: {name}", partial(other_process, setup, made)
    yield "this process", lambda: this_process(setup)
    yield "a handle made while work is pending", lambda: while_pending(setup)


def of_ipc(setup: Setup) -> sx.Tensor:
    return sx.ipc.empty(NBYTES // 8, "int64", device=setup.device)


def of_empty(setup: Setup) -> sx.Tensor:
    return sx.empty(NBYTES // 8, "int64", device=setup.device)


def part_of_empty(setup: Setup) -> sx.Tensor:
    return sx.empty(NBYTES // 4, "int64", device=setup.device)[64 : 64 + NBYTES // 8]


#: name -> memory of which a handle is made
MEMORY: dict[str, Callable[[Setup], sx.Tensor]] = {
    "ipc.empty": of_ipc,
    "a tensor of device USM": of_empty,
    "a part of a tensor of device USM": part_of_empty,
}


def handle_of(setup: Setup, made: Callable[[Setup], sx.Tensor]) -> tuple[sx.Tensor, sx.ipc.Handle]:
    """Return memory with a handle of it, or say why the device has none."""
    try:
        tensor = made(setup)
        return tensor, sx.ipc.handle(tensor)
    except BufferError as reason:
        raise Cannot(str(reason)) from reason


def other_process(setup: Setup, made: Callable[[Setup], sx.Tensor]) -> str:
    """Let another process read and write, and compare what it wrote."""
    tensor, handle = handle_of(setup, made)
    tensor.copy_from(numbers(NEW, NBYTES))
    tensor.wait()
    said = play(setup, "peer", LIMIT, pickle.dumps(handle).hex() + "\n")
    if said != "the same":
        raise DidNotHoldError(f"the other process read wrong elements: {said}")
    expect(tensor.to_numpy(copy=True), numbers(OTHER, NBYTES), "after its write")
    return "device USM" if handle.mechanism == "sycl" else "shared host memory"


def this_process(setup: Setup) -> None:
    """Open a handle in the process that made it."""
    tensor, handle = handle_of(setup, of_ipc)
    tensor.copy_from(numbers(NEW, NBYTES))
    tensor.wait()
    expect(sx.ipc.open(handle).to_numpy(copy=True), numbers(NEW, NBYTES), "opened here")


def while_pending(setup: Setup) -> None:
    """Make a handle while the work that writes the elements is pending."""
    tensor = handle_of(setup, of_ipc)[0]
    if tensor.usm_type == "system":
        raise Cannot("processes share host memory for it, and no queue works on that")
    tensor.copy_from(numbers(OLD, NBYTES))
    tensor.wait()
    source = setup.tensor("device", numbers(NEW, NBYTES))
    memories = memory_of(tensor), memory_of(source)
    event = setup.late.submit(tensor.sycl_queue, *memories)
    handle = sx.ipc.handle(tensor)
    said = play(setup, "peer", LIMIT, pickle.dumps(handle).hex() + "\n")
    event.wait()
    if said != "the same":
        raise DidNotHoldError(f"the other process read wrong elements: {said}")
