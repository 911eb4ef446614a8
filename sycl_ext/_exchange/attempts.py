# SPDX-License-Identifier: Apache-2.0
"""The attempts of `exchange` with a consumer, best first. Only decisions; moves no data.

`exchange` makes them in turn; `explain` shows the first that is not ruled out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from sycl_ext import _core
from sycl_ext._devices.device import by_id
from sycl_ext._devices.placement import Placement
from sycl_ext._negotiation.consumer_row import Consumer
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._negotiation.rules import Plan, Route, cheapest, kind_of_copy
from sycl_ext._negotiation.usm_types import UsmType
from sycl_ext._protocols.native import is_native, native_device
from sycl_ext._protocols.plans import plan_for

#: A device, HOST, or None: where the array is, or where the library needs it.
Where: TypeAlias = Placement | DLDevice | None


class Attempt(NamedTuple):
    """One object to pass to a consumer."""

    plan: Plan
    device: Where = None  # where its memory is to be
    compact: bool = False  # the consumer needs a compact, writable copy
    copies: int = 0  # of the route; the export that the consumer requests may make the last one
    native: DLDevice | None = None  # the name of CUDA or HIP under which it is passed
    usm_type: UsmType | None = None  # the kind of USM on `device`; None: any


class Form(Enum):
    """What a library is handed for the tensor or host view of an attempt."""

    ITSELF = auto()
    NATIVE_VIEW = auto()  # a producer of memory of CUDA or HIP
    NUMPY_ARRAY = auto()
    LEGACY_CAPSULE = auto()
    WITH_ADDRESS = auto()  # a producer that has an address though it has no elements


class Flags(NamedTuple):
    """The arguments ``copy=`` and ``host_copy=``."""

    copy: bool | None
    host_copy: bool


#: A requested device and its name in DLPack; None: an unaware consumer of USM, for `explain`.
RequestedDevice: TypeAlias = tuple[Where, DLDevice | None]


def to_device(
    facts: _core.ArrayFacts,
    devices: Sequence[RequestedDevice],
    flags: Flags,
    usm_type: UsmType | None,
    *,
    several: bool,
) -> Attempt:
    """Return the attempt to bring an array to a device, or to one of several."""
    plans = [
        _allowed(
            plan_for(facts, where, flags.copy, ours=where not in (None, HOST), usm_type=usm_type),
            flags.host_copy,
        )
        for _, where in devices
    ]
    if several:
        chosen = cheapest([replace(plans[i], device=where) for i, (_, where) in enumerate(devices)])
        places = [place for place, where in devices if where == chosen.device]
        first = places[0] if places else None
        return Attempt(chosen, first, copies=chosen.copies, usm_type=usm_type)
    ((place, where),) = devices
    target = facts.entry if where is None else None if where == HOST else where[1]
    noted = _with_notes(plans[0], facts.dtype, target)
    return Attempt(noted, place, copies=plans[0].copies, usm_type=usm_type)


def form_of(attempt: Attempt, row: Consumer, *, empty: bool) -> Form:
    """Return the form in which a library takes an attempt; `empty`: the array has no elements."""
    if attempt.native is not None:
        return Form.NATIVE_VIEW
    if row.takes == "NumPy array":
        return Form.NUMPY_ARRAY
    if row.takes == "legacy capsule":
        return Form.LEGACY_CAPSULE
    return Form.WITH_ADDRESS if empty and not row.null_data else Form.ITSELF


def where_it_is(facts: _core.ArrayFacts) -> RequestedDevice:
    """Return the place of an array: its entry, or the host."""
    if facts.entry is None:
        return HOST, HOST
    return Placement(by_id(facts.entry)), (int(DeviceType.ONE_API), facts.entry)


def _with_notes(plan: Plan, dtype: str, entry_id: int | None) -> Plan:
    """Add a note if the device does not support the dtype."""
    if entry_id is None or dtype not in ("float64", "complex128"):
        return plan
    target = by_id(entry_id)
    if target.has_fp64:
        return plan
    return plan.noting(
        f"device {target.id} ({target.name}) does not support {dtype}: compute on the host "
        "(host_view), or convert to a narrower dtype first"
    )


class _Case(NamedTuple):
    """An array and a library."""

    facts: _core.ArrayFacts
    title: str
    row: Consumer
    flags: Flags
    needed: str | None  # why the library cannot get a view
    copies_itself: bool  # whether the library copies whatever it is given

    @property
    def copy(self) -> bool | None:
        """The argument ``copy=`` for what is made here.

        With ``copy=True`` nothing is copied here if the library itself copies, which would be a
        second copy.
        """
        return None if self.copies_itself and self.flags.copy else self.flags.copy

    def plan(self, device: DLDevice | None, **fields: bool) -> Plan:
        """Plan for a device, without the limits of the library."""
        return plan_for(self.facts, device, self.copy, **fields)

    def attempt(self, device: Where, plan: Plan) -> Attempt:
        """Return the attempt with a plan, within the limits of the library."""
        compact = self.needed is not None and plan.error is None
        if compact and plan.route.copies == 0:
            plan = _compacted(plan, device, str(self.needed), self.copy)
        elif self.needed is not None:
            plan = plan.noting(self.needed)
        copies = plan.route.copies
        if self.copies_itself and plan.error is None:
            plan = _copied_by(self.title, plan, device, self.flags.copy)
        return Attempt(_allowed(plan, self.flags.host_copy), device, compact, copies)


def to_library(
    facts: _core.ArrayFacts,
    title: str,
    row: Consumer,
    devices: Sequence[RequestedDevice] | None,
    flags: Flags,
) -> tuple[list[Attempt], Callable[[], list[Attempt]]]:
    """Return the attempts with a library: with its array on a device of `devices`, or on any.

    The returned function makes the attempts after these were refused, which few exchanges need.
    """
    case = _Case(
        facts,
        title,
        row,
        flags,
        needed=row.copy_needed(facts),
        copies_itself=row.always_copies(facts),
    )
    if devices is None:
        return _anywhere(case), lambda: _after_refusals(case)
    there = list(_there(case, devices))
    if there[0].plan.error is not None or HOST not in [where for _, where in devices]:
        return there, no_more
    return there, lambda: _after_refusals(case)


def no_more() -> list[Attempt]:
    """Return no attempts, where none is left after a refusal."""
    return []


def _after_refusals(case: _Case) -> list[Attempt]:
    """Return the attempts after a library has refused the others.

    One that refuses a view (read-only, strides) may still take a copy of its own.
    """
    may_copy = case.needed is None and case.flags == Flags(copy=None, host_copy=True)
    if case.row.memory == "usm" or not may_copy:
        return []
    if _plan_on_host(case, None).copies:
        return []  # it has refused that copy
    return [Attempt(_plan_on_host(case, copy=True), HOST, copies=1)]


def _there(case: _Case, devices: Sequence[RequestedDevice]) -> Iterator[Attempt]:
    """Return the attempts on the requested devices."""
    attempts = [
        case.attempt(place, replace(_plan_there(case, where), device=where))
        for place, where in devices
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
    facts, row = case.facts, case.row
    attempts = []
    if row.memory == "usm" and facts.entry is None:
        default = int(DeviceType.ONE_API), _core.default_entry().id
        attempts.append(case.attempt(None, case.plan(default, ours=row.any_context)))
    elif facts.entry is not None and row.takes_usm(facts.usm_type):
        own = (int(DeviceType.ONE_API), facts.entry) if row.any_context else None
        plan = case.plan(own, ours=row.any_context, root_only=row.root_only)
        attempts.append(case.attempt(None, plan))
    if facts.entry is not None and is_native(facts.entry) and row.tries_native:
        native = native_device(copy_entry(facts.entry, row).id, facts.usm_type)
        if native is not None:
            named = case.attempt(None, case.plan(native))
            attempts.append(named._replace(native=native))
    if row.memory != "usm":
        attempts.append(case.attempt(HOST, _plan_on_host(case, case.copy)))
    # A view on the host comes before a copy on the device, which loses what a consumer writes.
    return sorted(attempts, key=lambda attempt: attempt.plan.cost > 0)


def _plan_on_host(case: _Case, copy: bool | None) -> Plan:
    """Plan for host memory; a NumPy array can have negative strides, which crash some consumers."""
    any_strides = case.row.takes == "NumPy array"
    return plan_for(case.facts, HOST, copy, any_strides=any_strides)


def _allowed(plan: Plan, host_copy: bool) -> Plan:
    """Return the plan, or the refusal of an unwanted copy to the host."""
    if host_copy or plan.error is not None or plan.route not in (Route.HOST_COPY, Route.VIA_HOST):
        return plan
    why = ". ".join((plan.reason, *plan.notes))
    reason = f"host_copy=False, but this consumer needs a host copy: {why}; pass host_copy=True"
    return Plan(Route.REFUSE, reason, CopyRefusedError, device=plan.device)


def _compacted(view: Plan, device: Where, needed: str, copy: bool | None) -> Plan:
    """Plan for a consumer that needs a copy where other consumers get a view."""
    if copy is False:
        reason = f"copy=False, but this consumer needs a copy: {needed}; pass copy=None"
        return Plan(Route.REFUSE, reason, CopyRefusedError, device=view.device)
    return Plan(Route.HOST_COPY if device == HOST else Route.COPY, needed, device=view.device)


def _copied_by(title: str, plan: Plan, device: Where, copy: bool | None) -> Plan:
    """Plan for a consumer that copies whatever it is given."""
    reason = f"{title} always copies"
    if copy is False:
        refusal = f"copy=False, but {reason}; pass copy=None"
        return Plan(Route.REFUSE, refusal, CopyRefusedError, device=plan.device)
    if plan.copies:
        return plan.noting(f"{reason} once more")
    route = Route.HOST_COPY if device == HOST else Route.COPY
    return Plan(route, reason, notes=plan.notes, device=plan.device)


def _plan_there(case: _Case, device: DLDevice) -> Plan:
    """Plan for a library that gets the data on one device."""
    facts, row = case.facts, case.row
    if device == HOST:
        if row.memory != "usm":
            return _plan_on_host(case, case.copy)
        reason = f"{row.package} does not accept host memory; pass device=0, or omit device"
        return Plan(Route.REFUSE, reason, BufferError)
    entry = _core.entry(device[1])
    kind = kind_of_copy(facts.usm_type, entry.usm_types, moves=facts.entry != entry.id)
    if not row.takes_usm(kind):
        reason = f"{row.package} does not accept {kind!r} USM of device {entry.id}"
        way_out = "; pass device=(1, 0), the host, or omit device" if row.memory != "usm" else ""
        return Plan(Route.REFUSE, reason + way_out, BufferError)
    if not row.any_context and not (entry.default_context and entry.root_id == entry.id):
        reason = (
            f"{row.package} accepts only memory of root devices, and {device} is not one; pass "
            f"device={entry.root_id}"
        )
        return Plan(Route.REFUSE, reason, BufferError)
    return case.plan(device, ours=row.any_context, root_only=row.root_only)


def copy_entry(entry_id: int | None, row: Consumer) -> _core.Entry:
    """Return the device on which a consumer looks for a copy, so that its request is a view."""
    if entry_id is None:
        return _core.default_entry()
    own = _core.entry(entry_id)
    if row.any_context or (own.default_context and not row.root_only):
        return own
    return _core.entry(own.root_id)
