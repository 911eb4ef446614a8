# SPDX-License-Identifier: Apache-2.0
"""Call one C++ function with arrays of every library, on every kind of device and context.

PYTHONPATH=build/scatter_rows python examples/scatter_rows/run.py [device]
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import sycl_ext as sx  # isort: skip (before dpctl, so that the SYCL runtime finds the CPU device)

import dpctl
import numpy as np
from scatter_rows import arena, scale_rows, scatter_rows

Maker = Callable[[], Any]

SHAPE, ROWS = (6, 4), [4, 1, 0]
SOURCE = np.arange(12, dtype=np.float32).reshape(3, 4)
EXPECTED = np.zeros(SHAPE, np.float32)
EXPECTED[ROWS] = SOURCE


def tensor_on(device: sx.Device) -> Maker:
    """Return a function that makes a tensor of zeros on a device."""
    return lambda: sx.zeros(SHAPE, device=device)


def dpnp_on(device: sx.Device) -> Maker:
    """Return a function that makes a dpnp array of zeros on a device."""
    import dpnp

    return lambda: dpnp.asarray(np.zeros(SHAPE, np.float32), sycl_queue=device.sycl_queue)


def makers(root: sx.Device) -> Iterator[tuple[str, Maker]]:
    """Yield names, and functions that make a target."""
    places = {"root": root}
    for partition in ("numa", 1):  # tiles of a GPU; one compute unit of a CPU
        with contextlib.suppress(sx.SyclError):
            places.setdefault("tile", root.create_sub_devices(partition)[0])
    places["private context"] = sx.register_context(dpctl.SyclContext([root.sycl_device]))
    yield from ((f"sycl_ext, {name}", tensor_on(place)) for name, place in places.items())
    try:
        yield from [(f"dpnp, {name}", dpnp_on(place)) for name, place in places.items()]
    except ImportError:
        print("dpnp is not installed")
    if "system" in sx.device().usm_types:  # the default device reads and writes host memory
        yield "NumPy", lambda: np.zeros(SHAPE, np.float32)
        try:
            import torch

            yield "torch", lambda: torch.zeros(SHAPE)
        except ImportError:
            print("torch is not installed")


def main() -> None:
    """Scatter into each target, and compare the result."""
    root = sx.device(sys.argv[1] if len(sys.argv) > 1 else None)
    for name, make in makers(root):
        target = make()
        scatter_rows(target, ROWS, SOURCE)
        result = np.asarray(sx.host_view(target))
        assert (result == EXPECTED).all(), (name, result)
        if root.host_accessible("device"):
            scale_rows(target, sx.as_tensor(np.full(len(EXPECTED), 2, "float32"), device=root))
            assert (np.asarray(sx.host_view(target)) == 2 * EXPECTED).all(), name
        scatter_rows(target, [0, 1], arena(8, root.id).reshape((2, 4)))
        assert not np.asarray(sx.host_view(target))[:2].any(), name
        print(f"{name:26} ok, entry {sx.as_tensor(target).device.id}")


if __name__ == "__main__":
    main()
