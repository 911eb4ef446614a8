# SPDX-License-Identifier: Apache-2.0
"""The data of the plots: exchange by library, and copies by size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import arena
from benchmarks.arena import LARGE, Names, dpnp, libraries, sx
from benchmarks.harness import Contender, Pace, race

__all__ = ["CURVES", "Curve"]

#: Seconds of one run: for each line, [low, median, high] at each x.
Curve = dict[str, Any]

#: Consumers, and how they import.
CONSUMERS = {
    "sycl_ext": "sx.from_dlpack({})",
    "NumPy": "np.from_dlpack({})",
    "dpnp": "dpnp.from_dlpack({})",
    "PyTorch": "torch.from_dlpack({})",
    "tvm-ffi": "tvm_ffi.from_dlpack({})",
    "dpctl.memory": "dpctl.memory.as_usm_memory({})",
}
#: The library of each array, and the name of the array in the arena.
PRODUCERS = {
    "sycl_ext": "t",
    "host view": "view",
    "NumPy": "a",
    "dpnp": "d",
    "PyTorch": "torch_tensor",
    "tvm-ffi": "tvm_tensor",
    "dpctl.memory": "memory",
}
COPIES = {
    "sycl_ext: to_numpy(copy=True)": "tensor.to_numpy(copy=True)",
    "sycl_ext: copy_from, into memory in use": "target.copy_from(tensor)",
    "NumPy: array.copy()": "array.copy()",
    "dpnp: asnumpy": "dpnp.asnumpy(of_dpnp)",
    "memcpy, into memory in use": "bare.copy(to, from_, nbytes)",
}


def _works(statement: str, names: Names) -> bool:
    """Whether a consumer takes an array at all."""
    try:
        eval(statement, dict(names))
    except Exception:
        return False
    return True


def exchange(pace: Pace) -> Curve:
    """Return the time of every consumer for the array of every producer; None: it refuses."""
    names = arena.small()
    contenders = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for consumer, form in CONSUMERS.items():
            for producer, name in PRODUCERS.items():
                speaks_dlpack = (consumer, producer) != ("sycl_ext", "dpctl.memory")
                statement = form.format(name) if speaks_dlpack else f"sx.as_tensor({name})"
                if _works(statement, names):
                    contenders[f"{consumer}|{producer}"] = Contender(statement, names)
        result = race(contenders, pace.scaled(5))

    def seconds(pair: str) -> float | None:
        return result.time(pair).median if pair in contenders else None

    return {
        "consumers": list(CONSUMERS),
        "producers": list(PRODUCERS),
        "seconds": [
            [seconds(f"{consumer}|{producer}") for producer in PRODUCERS] for consumer in CONSUMERS
        ],
    }


def bandwidth(pace: Pace) -> Curve:
    """Return the time of copies to the host, from 4 B to 256 MB."""

    def make(nbytes: int) -> dict[str, Contender]:
        source = sx.zeros(nbytes, "uint8", usm_type="shared")
        sink = sx.zeros(nbytes, "uint8", usm_type="host")
        names = {
            **libraries(),
            "tensor": sx.zeros(nbytes, "uint8", usm_type="shared"),
            "target": sx.zeros(nbytes, "uint8", usm_type="host"),
            "array": np.ones(nbytes, "uint8"),  # zeros would be one page, seen many times
            "of_dpnp": dpnp.ones(nbytes, dtype="uint8"),
            "to": sink.ptr,
            "from_": source.ptr,
            "nbytes": nbytes,
            "keep": (sink, source),
        }
        return {name: Contender(code, names) for name, code in COPIES.items()}

    largest = LARGE if pace.budget > 0.2 else 1 << 20
    sizes = [4**power for power in range(1, 15) if 4**power <= largest]
    lines: dict[str, list[list[float]]] = {name: [] for name in COPIES}
    for nbytes in sizes:
        result = race(make(nbytes), pace.scaled(1.4))
        for name, points in lines.items():
            spread = result.time(name)
            points.append([spread.low, spread.median, spread.high])
    return {"x": sizes, "lines": lines}


#: The measurements for the plots, by name.
CURVES: dict[str, Callable[[Pace], Curve]] = {
    curve.__name__: curve for curve in (exchange, bandwidth)
}
