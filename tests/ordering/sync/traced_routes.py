# SPDX-License-Identifier: Apache-2.0
"""Takes each way of the registry between two markers, for a run with ``SYCL_UR_TRACE=2``.

The runtime prints its calls to the same stream, so the calls between two markers are the route's.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import dpctl
import dpctl.memory
import dpnp
import numpy as np

import sycl_ext as sx
import ways
from samples import USM_TYPES
from sycl_ext import _core
from ways import COPY, HOST, VIEW, WAYS, WRITES, Tag

LENGTH = 1000
CPU, GPU = "opencl:cpu", "level_zero:gpu:0"
ONES = np.ones(LENGTH, "int32")


class Route(NamedTuple):
    """`take(make())` is the route; only `take` is traced."""

    claim: str
    name: str
    make: Callable[[], Any]
    take: Callable[[Any], Any]
    copies: int = 0


def tensor(device: str, usm_type: str) -> Callable[[], sx.Tensor]:
    return lambda: sx.zeros(LENGTH, "int32", usm_type=usm_type, device=device)


def dpnp_array(device: str, usm_type: str) -> Callable[[], Any]:
    queue = dpctl.SyclQueue(sx.device(device).sycl_device)
    return lambda: dpnp.empty(LENGTH, dtype="int32", usm_type=usm_type, sycl_queue=queue)


def dpctl_memory(kind: str) -> Callable[[], Any]:
    queue = dpctl.SyclQueue(sx.device(GPU).sycl_device)
    return lambda: getattr(dpctl.memory, f"MemoryUSM{kind}")(LENGTH * 4, queue=queue)


def of_ways() -> Iterator[Route]:
    """Each way on both devices; views with the kinds of USM by turns."""
    on_each = ways.select(without={Tag.KERNELS, Tag.SUB_DEVICE}, dtype="int64")
    for turn, (name, way) in enumerate(on_each.items()):
        kind = USM_TYPES[turn % 3]
        reached = "shared" if kind == "device" else kind
        if way.gives == VIEW:
            yield Route("view", f"{GPU} {kind}: {name}", tensor(GPU, kind), way.call)
            yield Route("view", f"{CPU} {kind}: {name}", tensor(CPU, kind), way.call)
        if way.gives == HOST:
            yield Route("view", f"{GPU} {reached}: {name}", tensor(GPU, reached), way.call)
            yield Route("view", f"{CPU} {kind}: {name}", tensor(CPU, kind), way.call)
        call = way.call if way.gives != WRITES else lambda t, way=way: way.call(t, ONES)
        if way.gives in (COPY, HOST, WRITES) and not way.host:
            yield Route("copies", name, tensor(GPU, "device"), call, way.copies)
            if Tag.COMMAND not in way.tags:
                yield Route("copies by the host", name, tensor(CPU, "device"), call)


def of_others() -> Iterator[Route]:
    """From other libraries, by the way that is for each."""
    for kind in ("device", "shared"):
        for device in (GPU, CPU):
            array = dpnp_array(device, kind)
            yield Route("view", f"as_tensor(dpnp {device} {kind})", array, sx.as_tensor)
        memory = dpctl_memory(kind.title())
        yield Route("view", f"as_tensor(dpctl.memory {kind})", memory, sx.as_tensor)
    # By DLPack, dpnp searches the device each time, which is a long trace: a few of these do.
    yield Route("view", "from_dlpack(dpnp)", dpnp_array(GPU, "device"), sx.from_dlpack)
    yield Route("view", "host_view(dpnp shared)", dpnp_array(GPU, "shared"), sx.host_view)
    for take in (sx.from_dlpack, sx.as_tensor):
        name = f"{take.__name__}(numpy)"
        yield Route("view", f"{name} on the CPU", lambda: ONES, lambda x, f=take: f(x, device=CPU))
        yield Route("copies", name, lambda: ONES, lambda x, f=take: f(x, device=GPU), 1)
        yield Route("copies", f"{take.__name__}(dpnp, copy=True)", dpnp_array(GPU, "device"),
                    lambda x, f=take: f(x, copy=True), 1)  # fmt: skip
    for name in ("HostView, np.from_dlpack", "exchange(numpy)"):
        yield Route("copies", f"{name} of dpnp", dpnp_array(GPU, "device"), WAYS[name].call, 1)
    sizes = itertools.count(1)  # a size that nobody had before comes from no pool
    yield Route("allocation", "empty", lambda: next(sizes),
                lambda n: sx.empty(n << 20, "uint8", device=GPU))  # fmt: skip


def mark(text: str) -> None:
    os.write(1, f"=== {text}\n".encode())


def main() -> None:
    for route in itertools.chain(of_ways(), of_others()):
        route.take(route.make())  # whatever is made once is made now
        made = route.make()
        while (
            _core._test.deferred_frees()
        ):  # or an OpenCL queue is asked by a barrier, and not a query
            time.sleep(0.001)
        mark(f"{route.claim} | {route.name} | {route.copies}")
        result = route.take(made)
        mark("")
        del result, made


if __name__ == "__main__":
    main()
