# SPDX-License-Identifier: Apache-2.0
"""Figures that need a process of their own: other devices, a clean heap, a first import."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.build import ROOT, SCRATCH, stand_in_gpu
from benchmarks.harness import Contender, Outcome, Pace, Race, Spread, Target, race

MIB = 1 << 20
HUGE_PAGE = 2 * MIB
#: The number of live exports to measure.
EXPORTS = 100_000
STAGED = (
    "Staging copies every byte twice, the second time from a block that is still in the cache. The "
    "stand-in's own copy is a memcpy at the speed of the host's memory, so the second one shows; "
    "behind a bus it would not."
)


# ---- in the process that is measured -------------------------------------------------------------


def resident(field: str) -> int:
    """Return bytes of this process: VmRSS, or VmHWM for the highest so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    raise KeyError(field)


def _extra_memory(work: Callable[[], Any], result_bytes: int) -> int:
    """Return the peak memory of a piece of work, without its result."""
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    before = resident("VmRSS")
    result = work()
    peak = resident("VmHWM")
    del result
    return peak - before - result_bytes


def _copy_to_fresh_memory(queue: Any, block: Any, nbytes: int) -> None:
    """Copy a block of USM to new host memory, by one command."""
    import numpy as np

    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, nbytes + HUGE_PAGE, flags=flags) as fresh:
        fresh.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(fresh, "uint8")
        start = -whole.ctypes.data % HUGE_PAGE
        target = whole[start : start + nbytes]
        queue.memcpy(target, block, nbytes)
        queue.wait()
        del target, whole


def _staging(budget: str, size: str) -> dict[str, Any]:
    import dpctl.memory
    import numpy as np

    import sycl_ext as sx
    from sycl_ext import _core

    nbytes = int(size)
    gpu = sx.device("level_zero:gpu:0")
    queue = gpu.sycl_queue
    source = np.arange(nbytes // 4, dtype="uint32").view("uint8")
    tensor = sx.empty(nbytes, "uint8", device=gpu).copy_from(source)
    block = dpctl.memory.MemoryUSMDevice(nbytes, queue=queue)
    queue.memcpy(block, source, nbytes)
    queue.wait()
    ours = sx.zeros(nbytes, "uint8", usm_type="host")  # of the CPU device: plain memory to a GPU
    theirs = sx.zeros(nbytes, "uint8", usm_type="host").to_numpy()
    if not (tensor.to_numpy() == source).all():
        raise RuntimeError("the copy is wrong")
    _core.release_cached_memory()  # includes the blocks that are kept between copies
    extra = _extra_memory(tensor.to_numpy, nbytes)

    statements = {
        "fresh": "tensor.to_numpy()",
        "fresh single": "single(queue, block, nbytes)",
        "warm": "ours.copy_from(tensor)",
        "warm single": "queue.memcpy(theirs, block, nbytes); queue.wait()",
    }
    names = {**locals(), "single": _copy_to_fresh_memory}
    contenders = {who: Contender(statement, names) for who, statement in statements.items()}
    return {"extra": extra, "seconds": race(contenders, Pace(float(budget), 0.0, (5, 60))).seconds}


def _footprint(count: str) -> dict[str, float]:
    import numpy as np

    import sycl_ext as sx
    from benchmarks.build import load_bare

    version = sx.dlpack.VERSION
    makers: dict[str, Callable[..., object]] = {
        "ours": sx.zeros((4, 4), "float32").__dlpack__,
        "peer": np.zeros((4, 4), "float32").__dlpack__,
        "lower bound": load_bare().capsule,
    }
    kept = []
    result = {}
    for name, make in makers.items():
        capsules: list[object] = [make(max_version=version) for _ in range(100)]
        capsules += [None] * int(count)
        before = resident("VmRSS")
        for i in range(100, len(capsules)):
            capsules[i] = make(max_version=version)
        result[name] = (resident("VmRSS") - before) / int(count)
        kept.append(capsules)
    return result


# Only this thread, because the threads of NumPy's BLAS spin for a while.
_IMPORT = """
import json, time
import importlib.util  # of the finder of an editable installation
start = time.thread_time()
import sycl_ext
print(json.dumps(time.thread_time() - start))
"""


# ---- in the process that asks --------------------------------------------------------------------


def run_json(*arguments: object, variables: dict[str, str] | None = None) -> Any:
    """Run Python, and read the JSON that it prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def staging(pace: Pace) -> Iterator[Outcome]:
    """Device -> host on the stand-in GPU, with memory that the host cannot access."""
    nbytes = 256 * MIB if pace.budget > 0.5 else 64 * MIB  # more than is recycled
    words = ("-m", "benchmarks.isolated", "staging", pace.budget * 10, nbytes)
    measured = run_json(*words, variables=stand_in_gpu())
    result = Race(measured["seconds"])
    size = f"{nbytes // MIB} MB"
    for who, method, memory in (
        ("fresh", "to_numpy()", "fresh memory"),
        ("warm", "copy_from", "memory in use"),
    ):
        yield Outcome(
            f"stand-in GPU, device to host, {size}, `{method}` / its own single memcpy, "
            f"both into {memory}",
            result.ratio(who, f"{who} single"),
            Target("<=", 1.1),
            1.0,
            "the peer is the lower bound: one command of the queue",
            STAGED,
        )
    yield Outcome(
        f"extra memory of that `to_numpy()` at its peak, {size}",
        Spread.of([measured["extra"] / MIB]),
        Target("<=", 16, "MB"),
        0.0,
        "a single memcpy needs none",
    )


def footprint(pace: Pace) -> Iterator[Outcome]:
    """Memory that one live export takes."""
    rounds = 3 if pace.budget > 0.5 else 1
    measured = [run_json("-m", "benchmarks.isolated", "footprint", EXPORTS) for _ in range(rounds)]
    values = {who: Spread.of([entry[who] for entry in measured]) for who in measured[0]}
    yield Outcome(
        f"memory per live export, of {EXPORTS:,}",
        values["ours"],
        Target("<=", 256, "B"),
        values["lower bound"].median,
        f"a bare C call that makes such a capsule; NumPy's takes {values['peer'].median:.0f} B",
    )


def imports(pace: Pace) -> Iterator[Outcome]:
    """Time that ``import sycl_ext`` takes in a process that has loaded nothing."""
    rounds = 30 if pace.budget > 0.5 else 3 if pace.budget > 0.1 else 1
    # With bytecode, as an installed package has it.
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(SCRATCH / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    run_json("-c", _IMPORT, variables=variables)  # which is written here
    seconds = [run_json("-c", _IMPORT, variables=variables) for _ in range(rounds)]
    yield Outcome(
        "processor time of `import sycl_ext`",
        Spread.of([1e3 * time for time in seconds]),
        Target("<=", 3, "ms"),
        None,
        "no lower bound",
        "Of four small modules; the core and NumPy are loaded with the first public name.",
    )


GROUPS = {
    "stand-in GPU staging": staging,
    "memory per live export": footprint,
    "import time": imports,
}


def measure_all(pace: Pace, wanted: Callable[[str], bool]) -> Iterator[Outcome]:
    """Measure the requested figures."""
    for name, measure in GROUPS.items():
        if wanted(name):
            yield from measure(pace)


if __name__ == "__main__":
    SCRATCH.mkdir(parents=True, exist_ok=True)
    jobs: dict[str, Callable[..., Any]] = {"staging": _staging, "footprint": _footprint}
    print(json.dumps(jobs[sys.argv[1]](*sys.argv[2:])))
