# SPDX-License-Identifier: Apache-2.0
"""The table of figures: the contenders, the target, and the lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from benchmarks import arena
from benchmarks.harness import Contender, Outcome, Pace, Race, Spread, Target, race

__all__ = ["FIGURES", "Figure", "measure_all"]


@dataclass(frozen=True)
class Figure:
    """Two statements: the figure is the time of `ours` by that of `peer`.

    Where more is better (``>=``), it is the other way round.
    """

    name: str
    names: Callable[[], dict[str, Any]]
    ours: str
    peer: str
    target: tuple[Any, float]
    #: A statement that takes the place of `ours`, and what it is; "": the peer is the lower bound.
    lower_bound: tuple[str, str]
    reason: str = ""
    prepare: dict[str, str] = field(default_factory=dict)  # before the samples of "ours", ...
    budget: float = 1.0

    def contenders(self, names: dict[str, Any]) -> dict[str, Contender]:
        """Return what takes turns."""
        statements = {"ours": self.ours, "peer": self.peer, "lower bound": self.lower_bound[0]}
        return {
            who: Contender(statement, names, self.prepare.get(who, "pass"))
            for who, statement in statements.items()
            if statement
        }

    def read(self, result: Race) -> Outcome:
        """Return the figure that a race shows."""
        target = Target(*self.target)

        def against_peer(who: str) -> Spread:
            return result.ratio(*((who, "peer") if target.relation == "<=" else ("peer", who)))

        statement, what = self.lower_bound
        bound = against_peer("lower bound").median if statement else 1.0
        return Outcome(self.name, against_peer("ours"), target, bound, what, self.reason)


EXPORT = ("t.__dlpack__(max_version=(1, 3))", "a.__dlpack__(max_version=(1, 3))")
EMPTY = ("sx.empty(1024, 'u1')", "np.empty(1024, 'u1')")
CAPSULE = (
    "bare.capsule(max_version=(1, 3))",
    "a bare C call that makes a capsule over a block from malloc",
)
CAPSULE_AFTER = (
    "bare.capsule_after(queue)",
    "the same after the GIL is released, the queue asked for work and errors, and the GIL taken",
)
ECHO = ("bare.echo(t)", "a bare C call that returns its argument")
MEMCPY = "memcpy of as many contiguous bytes, into memory in use"
MEMORY_BOUND = (
    "The bandwidth of memory sets the limit, as the lower bound shows, and both sides of "
    "the ratio vary with the load of the machine."
)
SAME_CALLS = ("", "the peer is the lower bound: the calls that it consists of")
#: `exchange` and `explain`: the calls that they stand for, and the factor that they may cost more.
EXCHANGES = (
    ("sx.exchange(t, np)", "np.from_dlpack(sx.host_view(t))", 2.5),
    ("sx.exchange(t, torch)", "torch.from_dlpack(sx.host_view(t))", 1.5),
    ("sx.exchange(a, torch)", "torch.from_dlpack(a)", 1.8),
    # Neither runs Python, so what remains is to find the answer for the consumer and the array.
    ("sx.exchange(t, 0)", "sx.from_dlpack(t, device=0)", 1.2),
    ("sx.exchange(d, np)", "np.from_dlpack(sx.host_view(d))", 1.15),
    ("sx.explain(t, np)", "np.from_dlpack(sx.host_view(t))", 8),
    # From here on dpnp has the queue of `of_queue`, so that an export of that asks the queue.
    ("sx.exchange(of_queue, dpnp)", "dpnp_over(of_queue)", 1.15),
    ("[sx.exchange(p, dpnp) for p in parameters]", "[dpnp_over(p) for p in parameters]", 1.15),
)
POOL = "A pool avoids the runtime's allocation already; the rest is the object."
ASKED = (
    "Other code may have submitted work on the memory, to dpctl's queue, which is out of order. So "
    "a barrier is submitted there without the GIL, and asked whether it is done, each time. The "
    "OpenCL driver takes 1.1 µs for that, longer than all the rest."
)
#: Memory of a ready capsule: its producer, the target, the producer and the questions of the lower
#: bound.
READY = {
    "host memory": (
        "ready_host",
        1.3,
        ("ready_host_bare", 1, " and a question to the SYCL runtime"),
        "The two calls of a producer in Python take 150 ns, of which NumPy makes one, and the"
        " question whether the memory is USM 90 ns. The other 150 ns are the checks of the"
        " struct and the owner (45), the block that keeps it (30), the choice of the protocol"
        " (25), the tensor (20), and the call itself, as with NumPy (30).",
    ),
    "dpnp's USM": (
        "ready_usm",
        1.3,
        ("ready_usm_bare", 2, " and two questions to the SYCL runtime"),
        "The import asks the runtime for the owner of the first and the last byte, and at"
        " the end whether the producer's queue is idle. These questions exceed the target"
        " already.",
    ),
    "a tensor's USM": (
        "ready_own",
        0.9,
        ("ready_host_bare", 0, ""),
        "The two calls of a producer in Python take 150 ns, of which NumPy makes one. The other"
        " 155 ns are the checks of the struct (35), the choice of the protocol (35), the end of"
        " the export (25), the tensor (20), the question whether another SYCL runtime is loaded,"
        " before a queue is passed (15), and the call itself, as with NumPy (25).",
    ),
}

FIGURES: tuple[Figure, ...] = (
    Figure(
        "`t.__dlpack__(max_version=(1, 3))` / NumPy's",
        arena.small,
        *EXPORT,
        ("<=", 1),
        CAPSULE,
        "The capsule and its block take half of NumPy's time already, and the memory is held by an "
        "atomic counter, since a deleter may run on any thread.",
    ),
    Figure(
        "`sx.from_dlpack(t)` / `np.from_dlpack(a)`",
        *(arena.small, "sx.from_dlpack(t)", "np.from_dlpack(a)", ("<=", 1), ECHO),
    ),
    Figure(
        "`sx.from_dlpack(t)` / `dpnp.from_dlpack(d)`",
        *(arena.small, "sx.from_dlpack(t)", "dpnp.from_dlpack(d)", (">=", 100), ECHO),
    ),
    *(
        Figure(
            f"`sx.from_dlpack`, ready capsule of {memory} / `np.from_dlpack` of a similar capsule",
            arena.small,
            f"sx.from_dlpack({ours})",
            "np.from_dlpack(ready_host_too)",
            ("<=", target),
            (
                f"bare.ask({producer}, context, {count})",
                f"the two calls of the protocol from C{asked}, and no array",
            ),
            reason,
            {
                "ours": f"{ours}.fill(_n)",
                "peer": "ready_host_too.fill(_n)",
                "lower bound": f"{producer}.fill(_n)",
            },
            budget=2.0,
        )
        for memory, (ours, target, (producer, count, asked), reason) in READY.items()
    ),
    *(
        Figure(
            f"`{ours}` / `{peer}`",
            *(arena.exchanges, ours, peer, ("<=", target)),
            SAME_CALLS if "exchange" in ours else ECHO,
            budget=2.0,
        )
        for ours, peer, target in EXCHANGES
    ),
    Figure(
        "a tensor through the C exchange table / the Python protocol, both from C",
        *(arena.small, "bare.through_table(t, 1000)", "bare.through_protocol(t, 1000)"),
        ("<=", 0.2),
        ("bare.through_table(producer, 1000)", "a table that only mallocs"),
        f"{ASKED} The table and the Python protocol both do that, because the consumer of the "
        "export before may have submitted work.",
    ),
    Figure(
        "`tvm_ffi.from_dlpack(t)` / the same without the table",
        *(arena.small, "tvm_ffi.from_dlpack(t)", "tvm_ffi.from_dlpack(t_without_table)"),
        ("<=", 0.55),
        ("tvm_ffi.from_dlpack(producer)", "the same consumer, and a table that only mallocs"),
        ASKED,
    ),
    Figure(
        "`sx.from_dlpack(torch tensor)` / the same without torch's table",
        *(arena.small, "sx.from_dlpack(torch_tensor)", "sx.from_dlpack(torch_without_table)"),
        ("<=", 0.3),
        ("bare.through_table(torch_tensor, 1)", "torch's own function, from C, and no tensor"),
    ),
    Figure(
        "`sx.empty(1024, 'u1')` / `dpctl.memory.MemoryUSMDevice(1024)`",
        *(arena.small, EMPTY[0], "dpctl.memory.MemoryUSMDevice(1024)", (">=", 30), CAPSULE, POOL),
    ),
    Figure(
        "`sx.empty(1024, 'u1')` / `np.empty(1024, 'u1')`",
        *(arena.small, *EMPTY, ("<=", 2), CAPSULE, POOL),
    ),
    Figure(
        "`t.__dlpack__` while other code uses the queue / NumPy's",
        *(arena.used_queue, *EXPORT, ("<=", 1.3), CAPSULE_AFTER, ASKED),
    ),
    Figure(
        "`t.__dlpack__(stream=queue)` for that queue / `t.__dlpack__()`",
        *(arena.used_queue, "t.__dlpack__(stream=shared)", "t.__dlpack__()", ("<=", 1.2)),
        ("", "the peer is the lower bound: both ask the queue"),
    ),
    Figure(
        "`sx.empty(1024, 'u1')` while other code uses the queue / `np.empty(1024, 'u1')`",
        *(arena.used_queue, *EMPTY, ("<=", 2), CAPSULE_AFTER, ASKED),
    ),
    Figure(
        "`to_numpy(copy=True)`, 256 MB / memcpy into equally fresh memory",
        *(arena.large, "large.to_numpy(copy=True)", "advised.fill()", (">=", 0.95)),
        ("", "the peer is the lower bound: mmap, madvise(MADV_HUGEPAGE), memcpy, munmap"),
        MEMORY_BOUND,
        budget=6.0,
    ),
    Figure(
        "the same / memcpy into fresh memory without the advice",
        *(arena.large, "large.to_numpy(copy=True)", "plain.fill()", (">=", 0.95)),
        ("advised.fill()", "with the advice"),
        budget=5.0,
    ),
    Figure(
        "`to_numpy(copy=True)` of 4 KB / `np.empty` and memcpy",
        *(arena.host_results, "few.to_numpy(copy=True)", "a_few.copy()", ("<=", 3)),
        ("", "the peer is the lower bound: `ndarray.copy()` is `np.empty` and memcpy in C"),
        f"The memory is dpnp's. {ASKED}",
    ),
    *(
        Figure(
            f"host copy, {title}, {dtype} / `np.ascontiguousarray`",
            arena.strided,
            f"x_{layout}_{dtype}.to_numpy(copy=True)",
            f"np.ascontiguousarray(a_{layout}_{dtype})",
            ("<=", 1),
            (f"bare.copy(*flat_{dtype})", MEMCPY),
            MEMORY_BOUND,
        )
        for layout, title in (
            ("transposed", "transposed"),
            ("second", "every second"),
            ("permuted", "4-D permuted"),
        )
        for dtype in ("u1", "f4", "f8")
    ),
    *(
        Figure(
            f"`to_numpy(copy=True)`, {title} / `dpnp.asnumpy`",
            arena.host_results,
            f"{ours}.to_numpy(copy=True)",
            f"dpnp.asnumpy(d_{ours})",
            (">=", target),
            (f"bare.copy(*{flat})", MEMCPY),
            reason,
            budget=2.0,
        )
        for title, ours, flat, target, reason in (
            ("4 KB", "few", "flat_few", 50, f"The memory is dpnp's. {ASKED}"),
            ("4 MB transposed", "turned", "flat_many", 4, MEMORY_BOUND),
        )
    ),
    Figure(
        "`to_numpy(copy=True)`, 4 MB / memcpy into memory in use",
        *(arena.host_results, "many.to_numpy(copy=True)", "bare.copy(*flat_many)", ("<=", 1.1)),
        ("", "the peer is the lower bound: memcpy"),
        MEMORY_BOUND,
    ),
    Figure(
        "`to_numpy()` of 256 MB, a view / the same of 4 B",
        *(arena.large, "large.to_numpy()", "tiny.to_numpy()", ("<=", 1.1)),
        ("a_tiny.view()", "NumPy's view of an array"),
    ),
)


def measure_all(pace: Pace, wanted: Callable[[str], bool]) -> Iterator[Outcome]:
    """Measure the figures whose name is wanted, group by group."""
    chosen = [figure for figure in FIGURES if wanted(figure.name)]
    for make_names, group in groupby(chosen, key=lambda figure: figure.names):
        names = make_names()
        for figure in group:
            yield figure.read(race(figure.contenders(names), pace.scaled(figure.budget)))
        names.clear()
