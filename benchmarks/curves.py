# SPDX-License-Identifier: Apache-2.0
"""What the plots show: exchange by library, copies by size, and what more of something costs."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from benchmarks import arena
from benchmarks.arena import LARGE, VERSION, Names, dpnp, libraries, sx
from benchmarks.harness import Contender, Pace, Sample, race

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
#: By number of axes and of live exports.
EXCHANGES = {
    "t.__dlpack__()": "t.__dlpack__(max_version=(1, 3))",
    "NumPy's __dlpack__()": "a.__dlpack__(max_version=(1, 3))",
    "sx.from_dlpack(t)": "sx.from_dlpack(t)",
    "np.from_dlpack(a)": "np.from_dlpack(a)",
    "sx.from_dlpack(a)": "sx.from_dlpack(a)",
}
COPIES = {
    "sycl_ext: to_numpy(copy=True)": "tensor.to_numpy(copy=True)",
    "sycl_ext: copy_from, into memory in use": "target.copy_from(tensor)",
    "NumPy: array.copy()": "array.copy()",
    "dpnp: asnumpy": "dpnp.asnumpy(of_dpnp)",
    "memcpy, into memory in use": "bare.copy(to, from_, nbytes)",
}
THREADED = {
    "sx.from_dlpack(t)": "sx.from_dlpack(t)",
    "np.from_dlpack(a)": "np.from_dlpack(a)",
    "t.to_numpy(copy=True), 4 MB": "tensor.to_numpy(copy=True)",
    "np.copy(a), 4 MB": "array.copy()",
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
        "seconds": [[seconds(f"{one}|{other}") for other in PRODUCERS] for one in CONSUMERS],
    }


def _lines(
    points: Iterable[int], make: Callable[[int], Mapping[str, Contender | Sample]], pace: Pace
) -> Curve:
    """Return one line for each contender, from one race at each point."""
    lines: dict[str, list[list[float]]] = {}
    points = list(points)
    for point in points:
        contenders = make(point)
        result = race(contenders, pace)
        for name in contenders:
            spread = result.time(name)
            lines.setdefault(name, []).append([spread.low, spread.median, spread.high])
    return {"x": points, "lines": lines}


def _contenders(statements: Mapping[str, str], names: Names) -> dict[str, Contender]:
    return {name: Contender(code, names) for name, code in statements.items()}


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
        return _contenders(COPIES, names)

    largest = LARGE if pace.budget > 0.2 else 1 << 20
    sizes = (4**power for power in range(1, 15) if 4**power <= largest)
    return _lines(sizes, make, pace.scaled(1.4))


def ranks(pace: Pace) -> Curve:
    """Return the time of exchanges of arrays with 0 to 8 axes."""

    def make(ndim: int) -> dict[str, Contender]:
        tensor = sx.zeros((2,) * ndim, "float32", usm_type="shared")
        array = np.zeros((2,) * ndim, "float32")
        return _contenders(EXCHANGES, {**libraries(), "t": tensor, "a": array})

    return _lines(range(9), make, pace.scaled(0.6))


def live_exports(pace: Pace) -> Curve:
    """Return the time of an exchange while others are alive, each of an array of its own."""
    held: list[object] = []

    def make(count: int) -> dict[str, Contender]:
        while len(held) < 2 * count:
            held.append(sx.empty((4, 4)).__dlpack__(max_version=VERSION))
            held.append(np.empty((4, 4), "float32").__dlpack__(max_version=VERSION))
        return _contenders(EXCHANGES, arena.small())

    most = 5 if pace.budget > 0.2 else 3
    return _lines((10**power for power in range(most + 1)), make, pace.scaled(0.8))


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

    def make(count: int) -> dict[str, Sample]:
        return {name: _in_threads(count, code, names) for name, code in THREADED.items()}

    slow = Pace(pace.budget, 4e-3, pace.turns)  # a thread takes a while to start
    return _lines((1, 2, 3, 4), make, slow)


#: What is measured for the plots, by name.
CURVES: dict[str, Callable[[Pace], Curve]] = {
    curve.__name__: curve for curve in (exchange, bandwidth, ranks, live_exports, threads)
}
