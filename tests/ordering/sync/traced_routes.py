# SPDX-License-Identifier: Apache-2.0
"""Takes each route of the exchange between two markers, for a run with ``SYCL_UR_TRACE=2``.

The runtime prints its calls to the same stream, so the calls between two markers are the route's.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dpctl
import dpctl.memory
import dpnp
import numpy as np

import sycl_ext as sx
from sycl_ext import _core

V1 = {"max_version": (1, 0)}
HOST = {"dl_device": (1, 0)}
LENGTH = 1000
CPU, GPU, OTHER = "opencl:cpu", "level_zero:gpu:0", "level_zero:gpu:1"


@dataclass(frozen=True)
class Route:
    """`take(make())` is the route; only `take` is traced."""

    make: Callable[[], Any]
    take: Callable[[Any], Any]


def tensor(device: str, usm_type: str) -> Callable[[], sx.Tensor]:
    return lambda: sx.zeros((LENGTH,), "int32", usm_type=usm_type, device=device)


def dpnp_array(device: str, usm_type: str) -> Callable[[], Any]:
    queue = dpctl.SyclQueue(sx.device(device).sycl_device)
    return lambda: dpnp.empty(LENGTH, dtype="int32", usm_type=usm_type, sycl_queue=queue)


def dpctl_memory(device: str, kind: str) -> Callable[[], Any]:
    def make():
        queue = dpctl.SyclQueue(sx.device(device).sycl_device)
        return getattr(dpctl.memory, f"MemoryUSM{kind}")(LENGTH * 4, queue=queue)

    return make


def numpy_array() -> np.ndarray:
    return np.arange(LENGTH, dtype=np.int32)


#: Views of any tensor, wherever it is.
VIEWS = {
    "__dlpack__()": lambda t: t.__dlpack__(),
    "__dlpack__(max_version)": lambda t: t.__dlpack__(**V1),
    "__dlpack__(copy=False)": lambda t: t.__dlpack__(**V1, copy=False),
    "__dlpack__(stream=-1)": lambda t: t.__dlpack__(stream=-1, **V1),
    "__dlpack__(stream=queue)": lambda t: t.__dlpack__(stream=t.sycl_queue, **V1),
    "__dlpack__(dl_device=own)": lambda t: t.__dlpack__(dl_device=t.__dlpack_device__()),
    "from_dlpack": sx.from_dlpack,
    "from_dlpack(capsule)": lambda t: sx.from_dlpack(t.__dlpack__(**V1)),
    "from_dlpack(legacy capsule)": lambda t: sx.from_dlpack(t.__dlpack__()),
    "from_dlpack(copy=False)": lambda t: sx.from_dlpack(t, copy=False),
    "from_dlpack(device=own)": lambda t: sx.from_dlpack(t, device=t.device),
    "as_tensor": sx.as_tensor,
    "as_tensor(copy=False)": lambda t: sx.as_tensor(t, copy=False),
    "to_device(own)": lambda t: t.to_device(t.device),
    "indexing": lambda t: t[::-2],
    "reshape": lambda t: t.reshape(10, -1),
    "T": lambda t: t.reshape(10, -1).T,
    "as_readonly": lambda t: t.as_readonly(),
    "__sycl_usm_array_interface__": lambda t: t.__sycl_usm_array_interface__,
    "dpctl.memory": dpctl.memory.as_usm_memory,
    "exchange(sycl_ext)": lambda t: sx.exchange(t, sx, copy=False),
    "repr": repr,
    "explain": lambda t: [
        str(sx.explain(t, *to, copy=copy))
        for to in ([], [(1, 0)], [np], [dpnp], [t.device])
        for copy in (None, True, False)
    ],
}
#: Views of memory that the host can reach.
HOST_VIEWS = {
    "__dlpack__(dl_device=host)": lambda t: t.__dlpack__(**V1, **HOST),
    "__dlpack__(dl_device=host, copy=False)": lambda t: t.__dlpack__(**V1, **HOST, copy=False),
    "host_view": lambda t: np.from_dlpack(sx.host_view(t)),
    "host_view(copy=False)": lambda t: np.from_dlpack(sx.host_view(t, copy=False)),
    "memoryview": memoryview,
    "memoryview(host_view)": lambda t: memoryview(sx.host_view(t)),
    "numpy.asarray": np.asarray,
    "numpy.from_dlpack(device=cpu)": lambda t: np.from_dlpack(t, device="cpu"),
    "to_numpy": lambda t: t.to_numpy(),
    "to_numpy(copy=False)": lambda t: t.to_numpy(copy=False),
    "exchange(numpy)": lambda t: sx.exchange(t, np, copy=False),
}
#: Ways that copy once, from memory that the host cannot reach.
COPIES = {
    "__dlpack__(copy=True)": lambda t: t.__dlpack__(**V1, copy=True),
    "__dlpack__(dl_device=host, copy=True)": lambda t: t.__dlpack__(**V1, **HOST, copy=True),
    "copy": lambda t: t.copy(),
    "copy(order=F)": lambda t: t.copy(order="F"),
    "from_dlpack(copy=True)": lambda t: sx.from_dlpack(t, copy=True),
    "from_dlpack(capsule, copy=True)": lambda t: sx.from_dlpack(t.__dlpack__(**V1), copy=True),
    "from_dlpack(a copy)": lambda t: sx.from_dlpack(t.__dlpack__(**V1, copy=True), copy=True),
    "as_tensor(copy=True)": lambda t: sx.as_tensor(t, copy=True),
    "to_device(own, copy=True)": lambda t: t.to_device(t.device, copy=True),
    "to_device(other)": lambda t: t.to_device(OTHER),
    "from_dlpack(device=other)": lambda t: sx.from_dlpack(t, device=OTHER),
    "__dlpack__(dl_device=other)": lambda t: t.__dlpack__(
        **V1, dl_device=sx.device(OTHER).__dlpack_device__()
    ),
    "to_numpy(copy=True)": lambda t: t.to_numpy(copy=True),
    "host_view(copy=True)": lambda t: np.from_dlpack(sx.host_view(t, copy=True)),
    "exchange(numpy, copy=True)": lambda t: sx.exchange(t, np, copy=True),
    "copy_from(it)": lambda t: sx.empty(t.shape, t.dtype, device=t.device).copy_from(t),
    "copy_from(array)": lambda t: t.copy_from(numpy_array()),
}
#: Ways that copy once only where the host cannot reach the memory.
HOST_COPIES = {
    "__dlpack__(dl_device=host)": lambda t: t.__dlpack__(**V1, **HOST),
    "host_view": lambda t: np.from_dlpack(sx.host_view(t)),
    "host_view, used three times": lambda t: _use_three_times(sx.host_view(t)),
    "numpy.from_dlpack(device=cpu)": lambda t: np.from_dlpack(t, device="cpu"),
    "to_numpy": lambda t: t.to_numpy(),
    "exchange(numpy)": lambda t: sx.exchange(t, np),
}


def _use_three_times(view):
    return np.from_dlpack(view), memoryview(view), np.asarray(view)


def _routes() -> dict[str, dict[str, Route]]:
    """Claim -> routes that make it."""
    views, copies, host_copies = {}, {}, {}
    for device in (GPU, CPU):
        for kind in ("device", "shared", "host"):
            for name, take in VIEWS.items():
                views[f"{device} {kind}: {name}"] = Route(tensor(device, kind), take)
            if kind != "device" or device == CPU:
                for name, take in HOST_VIEWS.items():
                    views[f"{device} {kind}: {name}"] = Route(tensor(device, kind), take)
    for kind in ("device", "shared"):
        for name, make in (("dpnp", dpnp_array(GPU, kind)), ("dpnp cpu", dpnp_array(CPU, kind))):
            views[f"as_tensor({name} {kind})"] = Route(make, sx.as_tensor)
        memory = dpctl_memory(GPU, kind.title())
        views[f"as_tensor(dpctl.memory {kind})"] = Route(memory, sx.as_tensor)
    # By DLPack, dpnp searches the device each time, which is a long trace: a few of these do.
    for device, kind in ((GPU, "device"), (CPU, "shared")):
        views[f"from_dlpack(dpnp {device} {kind})"] = Route(
            dpnp_array(device, kind), sx.from_dlpack
        )
    views["exchange(dpnp)"] = Route(
        tensor(GPU, "device"), lambda t: sx.exchange(t, dpnp, copy=False)
    )
    views["host_view(dpnp shared)"] = Route(dpnp_array(GPU, "shared"), sx.host_view)
    views["from_dlpack(numpy) on the CPU"] = Route(
        numpy_array, lambda a: sx.from_dlpack(a, device=CPU)
    )
    views["as_tensor(numpy) on the CPU"] = Route(numpy_array, lambda a: sx.as_tensor(a, device=CPU))
    for name, take in {**COPIES, **HOST_COPIES}.items():
        copies[name] = Route(tensor(GPU, "device"), take)
    for name, take in COPIES.items():
        if "other" not in name:
            host_copies[name] = Route(tensor(CPU, "device"), take)
    copies["from_dlpack(numpy)"] = Route(numpy_array, lambda a: sx.from_dlpack(a, device=GPU))
    copies["as_tensor(numpy)"] = Route(numpy_array, lambda a: sx.as_tensor(a, device=GPU))
    copies["as_tensor(dpnp, copy=True)"] = Route(
        dpnp_array(GPU, "device"), lambda x: sx.as_tensor(x, copy=True)
    )
    copies["from_dlpack(dpnp, copy=True)"] = Route(
        dpnp_array(GPU, "device"), lambda x: sx.from_dlpack(x, copy=True)
    )
    copies["host_view(dpnp)"] = Route(
        dpnp_array(GPU, "device"), lambda x: np.from_dlpack(sx.host_view(x))
    )
    copies["exchange(dpnp, numpy)"] = Route(dpnp_array(GPU, "device"), lambda x: sx.exchange(x, np))
    sizes = itertools.count(1)  # a size that nobody had before comes from no pool
    allocation = Route(lambda: next(sizes), lambda n: sx.empty(n << 20, "uint8", device=GPU))
    return {
        "view": views,
        "one copy": copies,
        "one copy by the host": host_copies,
        "allocation": {"empty": allocation},
    }


ROUTES = _routes()


def mark(text: str) -> None:
    os.write(1, f"=== {text}\n".encode())


def wait_for_deferred_frees() -> None:
    """While a block waits to be freed, an OpenCL queue is asked by a barrier instead of a query."""
    while _core.deferred_frees():
        time.sleep(0.001)


def main() -> None:
    for claim, routes in ROUTES.items():
        for name, route in routes.items():
            route.take(route.make())  # whatever is made once is made now
            made = route.make()
            wait_for_deferred_frees()
            mark(f"{claim} | {name}")
            result = route.take(made)
            mark("")
            del result, made


if __name__ == "__main__":
    main()
