# SPDX-License-Identifier: Apache-2.0
"""The table of figures: what is compared, how far it shall reach, and the floor beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from benchmarks import arena
from benchmarks.harness import Contender, Pace, Race, Spread, race
from benchmarks.outcome import Outcome, Reach, at_least, at_most

__all__ = ["FIGURES", "Figure", "measure_all"]


@dataclass(frozen=True)
class Figure:
    """Two statements side by side.

    The figure is the time of `ours` by the time of `peer`; where more is better (`>=`), the other
    way round.  `floor` takes the place of `ours` to say how far the figure could go.
    """

    name: str
    names: Callable[[], dict[str, Any]]
    ours: str
    peer: str
    reach: Reach
    floor: str = ""  # empty: the peer is the floor
    floor_is: str = "the peer is the floor"
    obstacle: str = ""
    prepare: dict[str, str] = field(default_factory=dict)  # before the samples of "ours", ...
    budget: float = 1.0

    def contenders(self, names: dict[str, Any]) -> dict[str, Contender]:
        """Return what takes turns."""
        statements = {"ours": self.ours, "peer": self.peer, "floor": self.floor}
        return {
            who: Contender(statement, names, self.prepare.get(who, "pass"))
            for who, statement in statements.items()
            if statement
        }

    def read(self, result: Race) -> Outcome:
        """Return the figure that a race shows."""

        def against_peer(who: str) -> Spread:
            pair = (who, "peer") if self.reach.relation == "<=" else ("peer", who)
            return result.ratio(*pair)

        floor = against_peer("floor").median if self.floor else 1.0
        return Outcome(
            self.name, against_peer("ours"), self.reach, floor, self.floor_is, self.obstacle
        )


CAPSULE = "bare.capsule(max_version=(1, 3))"
CAPSULE_IS = "a bare C call that makes a capsule over a block from malloc"


def _export_and_import() -> Iterator[Figure]:
    yield Figure(
        "`t.__dlpack__(max_version=(1, 3))` / NumPy's",
        arena.small,
        "t.__dlpack__(max_version=(1, 3))",
        "a.__dlpack__(max_version=(1, 3))",
        at_most(1.0),
        CAPSULE,
        CAPSULE_IS,
        "The capsule and its block take half of NumPy's time already, and the memory is held by an "
        "atomic counter, since a deleter may run on any thread.",
    )
    yield Figure(
        "`sx.from_dlpack(t)` / `np.from_dlpack(a)`",
        arena.small,
        "sx.from_dlpack(t)",
        "np.from_dlpack(a)",
        at_most(1.0),
        "bare.echo(t)",
        "a bare C call that returns its argument",
    )
    yield Figure(
        "`dpnp.from_dlpack(d)` / `sx.from_dlpack(t)`",
        arena.small,
        "sx.from_dlpack(t)",
        "dpnp.from_dlpack(d)",
        at_least(100),
        "bare.echo(t)",
        "a bare C call that returns its argument",
    )
    for memory, ours, floor, asked, obstacle in (
        (
            "host memory",
            "ready_host",
            ("ready_host_bare", 1),
            " and one question to the SYCL runtime",
            "The two calls and the question whose the memory is take about as long as all of "
            "NumPy's import, which asks neither for the device nor for the owner; checks and the "
            "tensor itself take the rest.",
        ),
        (
            "dpnp's USM",
            "ready_usm",
            ("ready_usm_bare", 2),
            " and two questions to the SYCL runtime",
            "An import of USM is safe because the runtime is asked whose the first and the last "
            "byte are; that alone is more than the reach leaves.",
        ),
        (
            "our own USM",
            "ready_own",
            ("ready_host_bare", 0),
            "",
            "The producer is asked for its device before its capsule, a call in Python that NumPy "
            "does not make.",
        ),
    ):
        yield Figure(
            f"`sx.from_dlpack`, ready capsule of {memory} / `np.from_dlpack` of the like",
            arena.small,
            f"sx.from_dlpack({ours})",
            "np.from_dlpack(ready_host_too)",
            at_most(1.3),
            f"bare.ask({floor[0]}, context, {floor[1]})",
            f"the two calls of the protocol from C{asked}, and no array",
            obstacle,
            prepare={
                "ours": f"{ours}.fill(_n)",
                "peer": "ready_host_too.fill(_n)",
                "floor": f"{floor[0]}.fill(_n)",
            },
            budget=2.0,
        )


def _exchange_table() -> Iterator[Figure]:
    yield Figure(
        "our tensor through the C exchange table / the Python protocol, both from C",
        arena.small,
        "bare.through_table(t, 1000)",
        "bare.through_protocol(t, 1000)",
        at_most(0.3),
        "bare.through_table(producer, 1000)",
        "a table that only mallocs",
        "Our Python protocol is fast itself: a keyword call and a capsule come to some 30 ns more "
        "than the table's function, which has a block to allocate and to fill, and the memory to "
        "hold by an atomic counter.",
    )
    yield Figure(
        "`tvm_ffi.from_dlpack(t)` / the same without our table",
        arena.small,
        "tvm_ffi.from_dlpack(t)",
        "tvm_ffi.from_dlpack(t_without_table)",
        at_most(0.3),
        "tvm_ffi.from_dlpack(producer)",
        "the same consumer, and a table that only mallocs",
        "Most of the time is tvm-ffi's own on both roads.",
    )
    yield Figure(
        "`sx.from_dlpack(torch tensor)` / the same without torch's table",
        arena.small,
        "sx.from_dlpack(torch_tensor)",
        "sx.from_dlpack(torch_without_table)",
        at_most(0.3),
        "bare.through_table(torch_tensor, 1)",
        "torch's own function, from C, and no tensor",
    )


MEMCPY = "memcpy of as many bytes in a row, into memory in use"
MEMORY_BOUND = (
    "Memory sets the limit, as the floor shows, and both sides of the ratio move with the load of "
    "the machine."
)


def _host_copies() -> Iterator[Figure]:
    yield Figure(
        "bandwidth of `to_numpy(copy=True)`, 256 MB / memcpy into memory as fresh",
        arena.large,
        "large.to_numpy(copy=True)",
        "advised.fill()",
        at_least(0.95),
        floor_is="the peer is the floor: mmap, madvise(MADV_HUGEPAGE), memcpy, munmap",
        obstacle=MEMORY_BOUND,
        budget=6.0,
    )
    yield Figure(
        "the same / memcpy into fresh memory without the advice",
        arena.large,
        "large.to_numpy(copy=True)",
        "plain.fill()",
        at_least(0.95),
        "advised.fill()",
        "with the advice",
        budget=5.0,
    )
    yield Figure(
        "`to_numpy(copy=True)` of 4 KB / `np.empty` and memcpy",
        arena.host_results,
        "few.to_numpy(copy=True)",
        "a_few.copy()",
        at_most(3),
        floor_is="the peer is the floor: `ndarray.copy()` is `np.empty` and memcpy in C",
    )
    for layout, title in (
        ("transposed", "transposed"),
        ("second", "every second"),
        ("permuted", "4-D permuted"),
    ):
        for dtype in ("u1", "f4", "f8"):
            yield Figure(
                f"host copy, {title}, {dtype} / `np.ascontiguousarray`",
                arena.strided,
                f"x_{layout}_{dtype}.to_numpy(copy=True)",
                f"np.ascontiguousarray(a_{layout}_{dtype})",
                at_most(1.0),
                f"bare.copy(*flat_{dtype})",
                MEMCPY,
                MEMORY_BOUND,
            )
    for layout, reach in (("few", 50), ("many", 20), ("turned", 4)):
        size = "4 KB" if layout == "few" else "4 MB"
        turned = " transposed" if layout == "turned" else ""
        yield Figure(
            f"`dpnp.asnumpy`, {size}{turned} / `to_numpy(copy=True)`",
            arena.host_results,
            f"{layout}.to_numpy(copy=True)",
            f"dpnp.asnumpy(d_{layout})",
            at_least(reach),
            f"bare.copy(*flat_{'few' if layout == 'few' else 'many'})",
            MEMCPY,
            MEMORY_BOUND,
            budget=2.0,
        )
    yield Figure(
        "`to_numpy()`, a view: 256 MB / 4 B",
        arena.large,
        "large.to_numpy()",
        "tiny.to_numpy()",
        at_most(1.1),
        "a_tiny.view()",
        "NumPy's view of an array",
    )


def _allocation() -> Iterator[Figure]:
    obstacle = "The runtime's allocation is avoided by a pool already; what is left is the object."
    yield Figure(
        "`dpctl.memory.MemoryUSMDevice(1024)` / `sx.empty(1024, 'u1')`",
        arena.small,
        "sx.empty(1024, 'u1')",
        "dpctl.memory.MemoryUSMDevice(1024)",
        at_least(30),
        CAPSULE,
        CAPSULE_IS,
        obstacle,
    )
    yield Figure(
        "`sx.empty(1024, 'u1')` / `np.empty(1024, 'u1')`",
        arena.small,
        "sx.empty(1024, 'u1')",
        "np.empty(1024, 'u1')",
        at_most(2),
        CAPSULE,
        CAPSULE_IS,
        obstacle,
    )


def _used_queue() -> Iterator[Figure]:
    obstacle = (
        "Others may submit work at any time now, so the runtime is asked each time whether the "
        "queue's last command is done and has left no error, which takes it some 80 ns."
    )
    yield Figure(
        "`t.__dlpack__` once others work on our queue / NumPy's",
        arena.used_queue,
        "t.__dlpack__(max_version=(1, 3))",
        "a.__dlpack__(max_version=(1, 3))",
        at_most(1.0),
        CAPSULE,
        CAPSULE_IS,
        obstacle,
    )
    yield Figure(
        "`sx.empty(1024, 'u1')` once others work on our queue / `np.empty(1024, 'u1')`",
        arena.used_queue,
        "sx.empty(1024, 'u1')",
        "np.empty(1024, 'u1')",
        at_most(2),
        CAPSULE,
        CAPSULE_IS,
        obstacle,
    )


FIGURES: tuple[Figure, ...] = (
    *_export_and_import(),
    *_exchange_table(),
    *_allocation(),
    *_used_queue(),
    *_host_copies(),
)


def measure_all(
    pace: Pace, wanted: Callable[[str], bool], say: Callable[[str], None]
) -> Iterator[Outcome]:
    """Measure the figures whose name is wanted, group by group."""
    chosen = [figure for figure in FIGURES if wanted(figure.name)]
    for make_names, group in groupby(chosen, key=lambda figure: figure.names):
        names = make_names()
        for figure in group:
            say(figure.name)
            yield figure.read(race(figure.contenders(names), pace.scaled(figure.budget)))
        names.clear()
