# SPDX-License-Identifier: Apache-2.0
"""What the plots show: exchange by library, copies by size, and what more of something costs."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks import arena
from benchmarks.arena import LARGE, VERSION, Names, dpnp, libraries, sx
from benchmarks.harness import Contender, Pace, Race, Sample, race

__all__ = ["CURVES", "Curve"]

#: Seconds of one run: for each line, [low, median, high] at each x.
Curve = dict[str, Any]

#: Who imports, and how.
CONSUMERS = {
    "sycl_ext": "sx.from_dlpack({})",
    "NumPy": "np.from_dlpack({})",
    "dpnp": "dpnp.from_dlpack({})",
    "PyTorch": "torch.from_dlpack({})",
    "tvm-ffi": "tvm_ffi.from_dlpack({})",
    "dpctl.memory": "dpctl.memory.as_usm_memory({})",
}
#: Whose array it is, and its name in the arena.
PRODUCERS = {
    "sycl_ext": "t",
    "sycl_ext\nhost view": "view",
    "NumPy": "a",
    "dpnp": "d",
    "PyTorch": "torch_tensor",
    "tvm-ffi": "tvm_tensor",
    "dpctl.memory": "memory",
}


def _works(statement: str, names: Names) -> bool:
    """Whether a consumer takes an array at all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(statement, dict(names))
    except Exception:
        return False
    return True


def exchange(pace: Pace) -> Curve:
    """Return the time of every consumer for the array of every producer; None: it refuses."""
    names = arena.small()
    contenders = {}
    for consumer, form in CONSUMERS.items():
        for producer, name in PRODUCERS.items():
            statement = form.format(name)
            if producer == "dpctl.memory" and consumer == "sycl_ext":
                statement = f"sx.as_tensor({name})"  # it speaks no DLPack
            if _works(statement, names):
                contenders[f"{consumer}|{producer}"] = Contender(statement, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = race(contenders, pace.scaled(5))
    return {
        "consumers": list(CONSUMERS),
        "producers": list(PRODUCERS),
        "seconds": [
            [
                result.time(f"{consumer}|{producer}").median
                if f"{consumer}|{producer}" in contenders
                else None
                for producer in PRODUCERS
            ]
            for consumer in CONSUMERS
        ],
    }


def _lines(
    points: list[int], make: Callable[[int], tuple[Mapping[str, Contender | Sample], Pace]]
) -> Curve:
    """Return one line for each contender, from one race at each point."""
    lines: dict[str, list[list[float]]] = {}
    for point in points:
        contenders, pace = make(point)
        result: Race = race(contenders, pace)
        for name in contenders:
            spread = result.time(name)
            lines.setdefault(name, []).append([spread.low, spread.median, spread.high])
    return {"x": points, "lines": lines}


def bandwidth(pace: Pace) -> Curve:
    """Return the time of copies to the host, from 4 B to 256 MB."""

    def make(nbytes: int) -> tuple[dict[str, Contender], Pace]:
        tensor = sx.zeros(nbytes, "uint8", usm_type="shared")
        target = sx.zeros(nbytes, "uint8", usm_type="host")
        source = sx.zeros(nbytes, "uint8", usm_type="shared")
        sink = sx.zeros(nbytes, "uint8", usm_type="host")
        names = {
            **libraries(),
            "tensor": tensor,
            "target": target,
            "array": np.ones(nbytes, "uint8"),  # zeros would be one page, seen many times
            "of_dpnp": dpnp.ones(nbytes, dtype="uint8"),
            "to": sink.ptr,
            "from_": source.ptr,
            "nbytes": nbytes,
            "keep": (sink, source),
        }
        statements = {
            "sycl_ext: to_numpy(copy=True)": "tensor.to_numpy(copy=True)",
            "sycl_ext: copy_from, into memory in use": "target.copy_from(tensor)",
            "NumPy: array.copy()": "array.copy()",
            "dpnp: asnumpy": "dpnp.asnumpy(of_dpnp)",
            "memcpy, into memory in use": "bare.copy(to, from_, nbytes)",
        }
        contenders = {name: Contender(code, names) for name, code in statements.items()}
        return contenders, pace.scaled(1.2 if nbytes < LARGE else 3)

    largest = LARGE if pace.budget > 0.2 else 1 << 20
    return _lines([4**power for power in range(1, 15) if 4**power <= largest], make)


def ranks(pace: Pace) -> Curve:
    """Return the time of exchanges of arrays with 0 to 8 axes."""

    def make(ndim: int) -> tuple[dict[str, Contender], Pace]:
        shape = (2,) * ndim
        tensor = sx.zeros(shape, "float32", usm_type="shared")
        array = np.zeros(shape, "float32")
        usm = tensor.__dlpack_device__()
        names = {
            **libraries(),
            "t": tensor,
            "a": array,
            "usm": arena.Ready(lambda: tensor.__dlpack__(max_version=VERSION), usm),
        }
        statements = {
            "t.__dlpack__()": "t.__dlpack__(max_version=(1, 3))",
            "NumPy's __dlpack__()": "a.__dlpack__(max_version=(1, 3))",
            "sx.from_dlpack(t)": "sx.from_dlpack(t)",
            "np.from_dlpack(a)": "np.from_dlpack(a)",
            "sx.from_dlpack(a)": "sx.from_dlpack(a)",
        }
        contenders = {name: Contender(code, names) for name, code in statements.items()}
        return contenders, pace.scaled(0.6)

    return _lines(list(range(9)), make)


def live_exports(pace: Pace) -> Curve:
    """Return the time of an exchange while others are alive, each of an array of its own."""
    held: list[object] = []

    def make(count: int) -> tuple[dict[str, Contender], Pace]:
        while len(held) < 2 * count:
            held.append(sx.empty((4, 4)).__dlpack__(max_version=VERSION))
            held.append(np.empty((4, 4), "float32").__dlpack__(max_version=VERSION))
        names = arena.small()
        statements = {
            "t.__dlpack__()": "t.__dlpack__(max_version=(1, 3))",
            "NumPy's __dlpack__()": "a.__dlpack__(max_version=(1, 3))",
            "sx.from_dlpack(t)": "sx.from_dlpack(t)",
            "np.from_dlpack(a)": "np.from_dlpack(a)",
            "sx.from_dlpack(a)": "sx.from_dlpack(a)",
        }
        contenders = {name: Contender(code, names) for name, code in statements.items()}
        return contenders, pace.scaled(0.8)

    most = 5 if pace.budget > 0.2 else 3
    return _lines([10**power for power in range(most + 1)], make)


def _in_threads(count: int, statement: str, names: Names) -> Sample:
    """Return what times n runs of a statement in each of some threads at once."""
    samples = [Contender(statement, names).compiled() for _ in range(count)]

    def sample(runs: int) -> float:
        together = threading.Barrier(count + 1)

        def work(one: Sample) -> None:
            together.wait()
            one(runs)

        workers = [threading.Thread(target=work, args=(one,)) for one in samples]
        for worker in workers:
            worker.start()
        together.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    return sample


def threads(pace: Pace) -> Curve:
    """Return the time of one run in each of 1 to 4 threads."""
    tensor = sx.zeros(4 << 20, "uint8", usm_type="shared")
    names = {**arena.small(), "tensor": tensor, "array": tensor.to_numpy()}
    statements = {
        "sx.from_dlpack(t)": "sx.from_dlpack(t)",
        "np.from_dlpack(a)": "np.from_dlpack(a)",
        "t.to_numpy(copy=True), 4 MB": "tensor.to_numpy(copy=True)",
        "np.copy(a), 4 MB": "array.copy()",
    }
    slow = Pace(pace.budget, 4e-3, pace.turns)  # a thread takes a while to start

    def make(count: int) -> tuple[dict[str, Sample], Pace]:
        samples = {name: _in_threads(count, code, names) for name, code in statements.items()}
        return samples, slow.scaled(1.0)

    return _lines([1, 2, 3, 4], make)


#: What is measured for the plots, by name.
CURVES: dict[str, Callable[[Pace], Curve]] = {
    "exchange": exchange,
    "bandwidth": bandwidth,
    "ranks": ranks,
    "live_exports": live_exports,
    "threads": threads,
}
