# SPDX-License-Identifier: Apache-2.0
"""The attempts of `exchange` with a consumer, best first. Only decisions; moves no data.

`exchange` makes them in turn; `explain` shows the first that is not ruled out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from sycl_ext import _core
from sycl_ext._devices.device import by_id
from sycl_ext._negotiation.array_facts import ArrayFacts
from sycl_ext._negotiation.consumer_row import Consumer
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._negotiation.kinds import UsmType
from sycl_ext._negotiation.reads import Reads
from sycl_ext._negotiation.rules import Plan, Route, Source, cheapest, kind_of_copy
from sycl_ext._protocols import sources


class Attempt(NamedTuple):
    """One object to pass to a consumer."""

    plan: Plan
    device: Any = None  # as in `as_tensor`, or HOST; None: the device for an unaware consumer
    compact: bool = False  # the consumer needs a compact, writable copy
    copies: int = 0  # of the route; the export that the consumer requests may make the last one
    native: DLDevice | None = None  # the name of CUDA or HIP under which it is passed
    as_array: bool = False  # as a NumPy array, for a function that refused without being run
    usm_type: UsmType | None = None  # the kind of USM on `device`; None: any


class Flags(NamedTuple):
    """The arguments ``copy=`` and ``host_copy=``."""

    copy: bool | None
    host_copy: bool


#: A requested device: as it was given, and as DLPack names it; None: where the array is.
Wanted: TypeAlias = tuple[Any, DLDevice | None]


def to_device(
    facts: ArrayFacts,
    wanted: Sequence[Wanted],
    several: bool,
    flags: Flags,
    usm_type: UsmType | None,
) -> Iterator[Attempt]:
    """Return the attempt to bring an array to a device, or to one of several."""
    source = source_of(facts)
    plans = [
        _allowed(
            sources.plan_for(
                source, where, flags.copy, ours=where not in (None, HOST), usm_type=usm_type
            ),
            flags.host_copy,
        )
        for _, where in wanted
    ]
    if several:
        chosen = cheapest([replace(plans[i], device=where) for i, (_, where) in enumerate(wanted)])
        given = [given for given, where in wanted if where == chosen.device]
        yield Attempt(chosen, given[0] if given else None, copies=chosen.copies, usm_type=usm_type)
    else:
        ((given_one, where),) = wanted
        target = facts.entry if where is None else None if where == HOST else where[1]
        noted = _with_notes(plans[0], facts.dtype, target)
        yield Attempt(noted, given_one, copies=plans[0].copies, usm_type=usm_type)


def source_of(facts: ArrayFacts) -> Source:
    """Return what the rules know of an array."""
    entry = None if facts.entry is None else _core.entry(facts.entry)
    root = None if entry is None else (int(DeviceType.ONE_API), entry.root_id)
    return Source(
        device=HOST if facts.on_host or root is None else root,
        entry=facts.entry,
        usm_type=facts.usm_type,
        default_context=entry is not None and entry.default_context,
        host_reachable=facts.host_reachable,
        readonly=facts.readonly,
        reversed=facts.reversed,
        root=root,
    )


def _with_notes(plan: Plan, dtype: str, entry_id: int | None) -> Plan:
    """Add a note if the device does not support the dtype."""
    if entry_id is None or dtype not in ("float64", "complex128"):
        return plan
    target = by_id(entry_id)
    if target.has_fp64:
        return plan
    return plan.noting(
        f"device {target.id} ({target.name}) does not compute in {dtype}: compute on "
        "the host (host_view), or convert to a narrower dtype first"
    )


class _Case(NamedTuple):
    """An array and a library."""

    facts: ArrayFacts
    source: Source
    who: Consumer
    flags: Flags
    reads: Reads
    needed: str | None  # why the library cannot get a view
    copies_itself: bool  # whether the library copies whatever it is given

    @property
    def copy(self) -> bool | None:
        """The argument ``copy=`` for what is made here.

        With ``copy=True`` nothing is copied here if the library itself copies, which would be a
        second copy. But a ``dtype=`` does not make that certain: one that is not understood may be
        the dtype of the array, and the library then returns a view.
        """
        copies_for_certain = self.copies_itself and not self.who.converts
        return None if copies_for_certain and self.flags.copy else self.flags.copy

    def plan(self, device: DLDevice | None, **fields: bool) -> Plan:
        """Plan for a device, without the limits of the library."""
        return sources.plan_for(self.source, device, self.copy, **fields)

    def attempt(self, device: Any, plan: Plan) -> Attempt:
        """Return the attempt with a plan, within the limits of the library."""
        compact = self.needed is not None and plan.error is None
        if compact and plan.route.copies == 0:
            plan = _compacted(plan, device, str(self.needed), self.copy)
        elif self.needed is not None:
            plan = plan.noting(self.needed)
        copies = plan.route.copies
        if self.copies_itself and plan.error is None:
            plan = _copied_by(self.who, plan, device, self.flags.copy)
        return Attempt(_allowed(plan, self.flags.host_copy), device, compact, copies)


def to_library(
    facts: ArrayFacts,
    who: Consumer,
    wanted: Sequence[Wanted] | None,
    flags: Flags,
    reads: Reads,
) -> tuple[list[Attempt], Callable[[], list[Attempt]]]:
    """Return the attempts with a library: with its array on a device of `wanted`, or on any.

    The returned function makes the attempts after these were refused, which few exchanges need.
    """
    case = _Case(
        facts,
        source_of(facts),
        who,
        flags,
        reads,
        needed=who.copy_needed(facts),
        copies_itself=who.always_copies(facts),
    )
    if wanted is None:
        return _anywhere(case), lambda: _after_refusals(case, anywhere=True)
    there = list(_there(case, wanted))
    if there[0].plan.error is not None or HOST not in [where for _, where in wanted]:
        return there, no_more
    return there, lambda: _after_refusals(case, anywhere=False)


def no_more() -> list[Attempt]:
    """Return no attempts, where none is left after a refusal."""
    return []


def _after_refusals(case: _Case, *, anywhere: bool) -> list[Attempt]:
    """Return the attempts after a consumer has refused the others; they need no reads."""
    who = case.who
    attempts: list[Attempt] = []
    if who.memory == "usm":
        return attempts
    on_host = case.attempt(HOST, _plan_on_host(case.source, who, case.flags.copy))
    if (
        case.needed is None
        and case.flags == Flags(copy=None, host_copy=True)
        and on_host.copies == 0  # else it has refused a copy
    ):
        # A consumer that refuses a view (read-only, strides) may still take a copy of its own.
        plan = _plan_on_host(case.source, who, copy=True)
        attempts.append(Attempt(plan, HOST, copies=1))
    if anywhere and not who.is_library:
        attempts.append(on_host._replace(as_array=True))
    return attempts


def _there(case: _Case, wanted: Sequence[Wanted]) -> Iterator[Attempt]:
    """Return the attempts on the requested devices."""
    attempts = [
        case.attempt(given, replace(_plan_there(case, where), device=where))
        for given, where in wanted
        if where is not None
    ]
    best = cheapest([attempt.plan for attempt in attempts])
    if best.error is not None:
        yield Attempt(best)
        return
    for attempt in sorted(attempts, key=lambda attempt: attempt.plan.cost):
        yield attempt._replace(plan=replace(attempt.plan, candidates=best.candidates))


def _anywhere(case: _Case) -> list[Attempt]:
    """Return the attempts where the array is, or where the library needs it."""
    facts, who = case.facts, case.who
    attempts = []
    if who.memory == "usm" and facts.entry is None:
        default = int(DeviceType.ONE_API), _core.default_entry().id
        attempts.append(case.attempt(None, case.plan(default, ours=who.any_context)))
    elif facts.entry is not None and who.takes_usm(facts.usm_type, case.reads):
        own = (int(DeviceType.ONE_API), facts.entry) if who.any_context else None
        plan = case.plan(own, ours=who.any_context, root_only=who.root_only)
        attempts.append(case.attempt(None, plan))
    if facts.entry is not None and sources.is_native(facts.entry) and who.tries_native(case.reads):
        native = sources.native_device(copy_entry(facts.entry, who).id, facts.usm_type)
        if native is not None:
            named = case.attempt(None, case.plan(native))
            attempts.append(named._replace(native=native))
    if who.memory != "usm":
        attempts.append(case.attempt(HOST, _plan_on_host(case.source, who, case.copy)))
    # A view on the host comes before a copy on the device, which loses what a consumer writes.
    return sorted(attempts, key=lambda attempt: attempt.plan.cost > 0)


def _plan_on_host(facts: Source, who: Consumer, copy: bool | None) -> Plan:
    """Plan for host memory; a NumPy array can have negative strides, which crash some consumers."""
    return sources.plan_for(facts, HOST, copy, any_strides=who.takes == "NumPy array")


def _allowed(plan: Plan, host_copy: bool) -> Plan:
    """Return the plan, or the refusal of an unwanted copy to the host."""
    if host_copy or plan.error is not None or plan.route not in (Route.HOST_COPY, Route.VIA_HOST):
        return plan
    why = ". ".join((plan.reason, *plan.notes))
    reason = (
        f"host_copy=False was asked for, and this consumer needs a host copy: {why}; pass "
        "host_copy=True"
    )
    return Plan(Route.REFUSE, reason, CopyRefusedError, device=plan.device)


def _compacted(view: Plan, device: Any, needed: str, copy: bool | None) -> Plan:
    """Plan for a consumer that needs a copy where other consumers get a view."""
    if copy is False:
        reason = (
            f"copy=False was asked for, and this consumer needs a copy: {needed}; pass copy=None"
        )
        return Plan(Route.REFUSE, reason, CopyRefusedError, device=view.device)
    return Plan(Route.HOST_COPY if device == HOST else Route.COPY, needed, device=view.device)


def _copied_by(who: Consumer, plan: Plan, device: Any, copy: bool | None) -> Plan:
    """Plan for a consumer that copies whatever it is given."""
    reason = f"{who.title} copies what it is given"
    if copy is False:
        refusal = f"copy=False was asked for, and {reason}; pass copy=None"
        return Plan(Route.REFUSE, refusal, CopyRefusedError, device=plan.device)
    if plan.copies:
        return plan.noting(f"{reason} once more")
    route = Route.HOST_COPY if device == HOST else Route.COPY
    return Plan(route, reason, notes=plan.notes, device=plan.device)


def _plan_there(case: _Case, device: DLDevice) -> Plan:
    """Plan for a library that gets the data on one device."""
    source, who = case.source, case.who
    if device == HOST:
        if who.memory != "usm":
            return _plan_on_host(source, who, case.copy)
        reason = f"{who.package} takes no host memory; pass device=0, or no device"
        return Plan(Route.REFUSE, reason, BufferError)
    entry = _core.entry(device[1])
    kind = kind_of_copy(source.usm_type, entry.usm_types, moves=source.entry != entry.id)
    if not who.takes_usm(kind, case.reads):
        reason = f"{who.package} does not take {kind!r} USM of device {entry.id}"
        way_out = "; pass device=(1, 0), the host, or no device" if who.memory != "usm" else ""
        return Plan(Route.REFUSE, reason + way_out, BufferError)
    if not who.any_context and not (entry.default_context and entry.root_id == entry.id):
        reason = (
            f"{who.package} takes memory of root devices, and {device} is not one; pass "
            f"device={entry.root_id}"
        )
        return Plan(Route.REFUSE, reason, BufferError)
    return case.plan(device, ours=who.any_context, root_only=who.root_only)


def copy_entry(entry_id: int | None, who: Consumer) -> _core.Entry:
    """Return the device on which a consumer looks for a copy, so that its request is a view."""
    if entry_id is None:
        return _core.default_entry()
    own = _core.entry(entry_id)
    if who.any_context or (own.default_context and not who.root_only):
        return own
    return _core.entry(own.root_id)
