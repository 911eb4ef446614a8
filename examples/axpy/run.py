# SPDX-License-Identifier: Apache-2.0
"""Run one kernel on the arrays of every library, on every kind of device and context.

python run.py [device]
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import sycl_ext as sx  # isort: skip (before dpctl, so that the SYCL runtime finds the CPU device)

import dpctl
import numpy as np
from axpy import axpy

X, Y = np.arange(6, dtype=np.float32), np.ones(6, np.float32)


def places_of(root: sx.Device) -> dict[str, sx.Device]:
    """Return the device, a sub-device of it, and the device in a private context."""
    places = {"root": root}
    for partition in ("numa", 1):  # tiles of a GPU; one compute unit of a CPU
        with contextlib.suppress(sx.SyclError):
            places.setdefault("tile", root.create_sub_devices(partition)[0])
    places["private context"] = sx.register_context(dpctl.SyclContext([root.sycl_device]))
    return places


def makers(root: sx.Device) -> Iterator[tuple[str, Callable[[np.ndarray], Any]]]:
    """Yield names, and functions that make an array."""
    places = places_of(root)
    for name, place in places.items():
        yield f"sycl_ext, {name}", lambda a, p=place: sx.empty(a.shape, device=p).copy_from(a)
    try:
        import dpnp

        for name, place in places.items():
            queue = place.sycl_queue
            yield f"dpnp, {name}", lambda a, q=queue: dpnp.asarray(a, sycl_queue=q)
    except ImportError:
        print("dpnp is not installed")
    if "system" in root.usm_types:  # the device reads and writes host memory
        yield "NumPy", np.copy
        try:
            import torch

            yield "torch", lambda a: torch.from_numpy(a.copy())
        except ImportError:
            print("torch is not installed")


def main() -> None:
    """Run the kernel on each of them, and compare."""
    root = sx.device(sys.argv[1] if len(sys.argv) > 1 else None)
    for name, make in makers(root):
        x, y = make(X), make(Y)
        start = time.perf_counter()
        axpy(2, x, y)
        result = sx.exchange(y, np)
        milliseconds = 1e3 * (time.perf_counter() - start)
        assert (result == 1 + 2 * X).all(), (name, result)
        # A strided view is not a copy, and x may be read-only.
        view = sx.as_tensor(y)
        axpy(1, sx.as_tensor(x)[::-2].as_readonly(), view[1::2])
        assert (sx.exchange(y, np)[1::2] == 1 + 2 * X[1::2] + X[::-2]).all(), name
        print(f"{name:26} ok, {milliseconds:6.1f} ms, entry {view.device.id}")


if __name__ == "__main__":
    main()
