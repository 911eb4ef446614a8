# SPDX-License-Identifier: Apache-2.0
"""The rules of the exchange: one table, and the sentences for its rows. Pure Python.

The core has the facts of an array, and their relation to a request (``src/rules/relation.cpp``).
The table `RULES` says which route follows; the core gets a copy of it when it is loaded. Everything
that moves memory (`__dlpack__`, `from_dlpack`, `as_tensor`, `host_view`, `to_device`, `exchange`)
follows it, and `explain` shows its answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._negotiation.usm_types import ALLOCATED, UsmType


class Route(Enum):
    """The kind of transfer. The value is a text for users."""

    __module__ = "sycl_ext"

    copies: int  # how often the data is copied

    def __new__(cls, text: str, copies: int = 0) -> "Route":
        route = object.__new__(cls)
        route._value_, route.copies = text, copies
        return route

    VIEW = "a view of the same memory"
    COPY = "one copy on the device", 1
    HOST_VIEW = "a host view of the same memory"
    HOST_COPY = "one copy to the host", 1
    VIA_HOST = "two copies, through the host", 2
    REFUSE = "refused"


class Relation(Enum):
    """The relation of the memory to the requested device. The value is the reason in a plan."""

    SAME = "the memory is on that device already"
    OTHER_CONTEXT = (
        "other libraries cannot use the memory in place: it was allocated in a SYCL context other "
        "than the default one of its device"
    )
    DIRECT = "the memory belongs to another device of sycl_ext.devices(), and is copied directly"
    SUB_DEVICE = (
        "the memory is on a sub-device, such as a tile, and this consumer accepts only memory of "
        "root devices"
    )
    OTHER_KIND = (
        "that DLPack device type denotes a different kind of memory (device, shared or host)"
    )
    OTHER_USM_TYPE = "the memory is a different kind of USM from the one requested"
    INDIRECT = (
        "the memory belongs to another device of sycl_ext.devices(), and no direct copy between "
        "the two is possible"
    )
    SYSTEM_USM = "the memory is on the host, and this device reads host memory in place"
    HOST_ONLY = (
        "the memory is ordinary host memory, which SYCL did not allocate; memory of "
        "sycl_ext.empty(shape, dtype, usm_type='shared') would be used in place"
    )
    REACHABLE = "the host can access the memory"
    UNREACHABLE = "the host cannot access the memory"
    REVERSED = (
        "the host can access the memory, but some consumers of host memory crash on a negative "
        "stride (torch before the fix of pytorch#188023)"
    )
    UNTOLD = "the tensor is read-only, but DLPack 0.x (max_version=None) has no read-only flag"
    UNTOLD_ON_HOST = (
        "the host can access the memory, but it is read-only, and DLPack 0.x (max_version=None) "
        "has no read-only flag"
    )
    NO_USM = "that device has no USM"
    UNKNOWN = "there is no such device in the device table"


#: The rules of the exchange.  Columns: copy=None, copy=False, copy=True.
RULES: dict[Relation, tuple[Route, Route, Route]] = {
    Relation.SAME: (Route.VIEW, Route.VIEW, Route.COPY),
    Relation.OTHER_CONTEXT: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.DIRECT: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.SUB_DEVICE: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.OTHER_KIND: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.OTHER_USM_TYPE: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.INDIRECT: (Route.REFUSE, Route.REFUSE, Route.VIA_HOST),
    Relation.SYSTEM_USM: (Route.VIEW, Route.VIEW, Route.COPY),
    Relation.HOST_ONLY: (Route.COPY, Route.REFUSE, Route.COPY),
    Relation.REACHABLE: (Route.HOST_VIEW, Route.HOST_VIEW, Route.HOST_COPY),
    Relation.UNREACHABLE: (Route.HOST_COPY, Route.REFUSE, Route.HOST_COPY),
    Relation.REVERSED: (Route.HOST_COPY, Route.REFUSE, Route.HOST_COPY),
    Relation.UNTOLD: (Route.REFUSE, Route.REFUSE, Route.COPY),
    Relation.UNTOLD_ON_HOST: (Route.REFUSE, Route.REFUSE, Route.HOST_COPY),
    Relation.NO_USM: (Route.REFUSE, Route.REFUSE, Route.REFUSE),
    Relation.UNKNOWN: (Route.REFUSE, Route.REFUSE, Route.REFUSE),
}
_COLUMN = {None: 0, False: 1, True: 2}
#: The reason of a copy where the memory could have been used in place.
COPY_REQUESTED = "copy=True was requested"


class MemoryFacts(Protocol):
    """The facts of its memory that a refusal names: two of `_core.ArrayFacts`."""

    @property
    def entry(self) -> int | None: ...
    @property
    def usm_type(self) -> str: ...


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The result of `explain`: the route of an exchange, and the reason.

    Plans are equal if all their attributes are; ``min(plans, key=lambda plan: plan.cost)`` is the
    cheapest.

    Attributes
    ----------
    route : Route
    copies : int
        The number of copies.
    cost : float
        The number of copies; infinity for a refusal.
    reason : str
    notes : tuple of str
        Further information, such as a device without float64.
    error : type of Exception or None
        The exception of a refusal.
    device : tuple of int or None
        The DLPack device of the result, if ``device=`` or a list of devices requested it.
    candidates : tuple of Plan
        The plans for all of these devices, in their order.
    """

    __module__ = "sycl_ext"

    route: Route
    reason: str
    error: type[BufferError] | None = None
    notes: tuple[str, ...] = ()
    device: DLDevice | None = None
    candidates: tuple["Plan", ...] = ()

    def noting(self, *notes: str | None) -> "Plan":
        """Return the plan with more notes; None adds no note."""
        return replace(self, notes=self.notes + tuple(note for note in notes if note))

    @property
    def copies(self) -> int:
        """The number of copies."""
        return self.route.copies

    @property
    def cost(self) -> float:
        """The number of copies; infinity for a refusal."""
        return math.inf if self.error is not None else self.copies

    def check(self) -> "Plan":
        """Return the plan, or raise the exception of a refusal."""
        if self.error is not None:
            raise self.error(self.reason)
        return self

    def __repr__(self) -> str:
        """Return the plan as a sentence, for an interpreter or a notebook; so does `str`."""
        where = "" if self.device is None else f" on {self.device}"
        others = [f"{plan.device}: {plan.route.value}" for plan in self.candidates]
        considered = [f"Considered: {', '.join(others)}"] if others else []
        return ". ".join((f"{self.route.value}{where}: {self.reason}", *self.notes, *considered))


def plan(
    row: Relation,
    copy: bool | None,
    facts: MemoryFacts,
    device: DLDevice,
    *,
    by_consumer: bool = False,
) -> Plan:
    """Return the plan for a relation of an array to the requested device, with the reason.

    `by_consumer`: a consumer has chosen `copy`, in its call of ``__dlpack__``.
    """
    route = RULES[row][_COLUMN[copy]]
    if route is Route.REFUSE:
        return _refusal(row, copy, facts, device, by_consumer)
    in_place = RULES[row][_COLUMN[None]] in (Route.VIEW, Route.HOST_VIEW)
    return Plan(route, COPY_REQUESTED if copy is True and in_place else row.value)


def cheapest(candidates: Sequence[Plan]) -> Plan:
    """Return the first plan with the fewest copies; a refusal if all of them are refused."""
    best = min(candidates, key=lambda plan: plan.cost)
    if best.error is not None:
        best = refusal_of(candidates, f"none of the {len(candidates)} devices can be used: ")
    return replace(best, candidates=tuple(candidates))


def refusal_of(refused: Sequence[Plan], introduction: str = "") -> Plan:
    """Return a refusal with the reasons of all these refusals."""
    if len(refused) == 1:
        return refused[0]
    a_copy_would_do = any(plan.error is CopyRefusedError for plan in refused)
    reasons = introduction + "; and ".join(dict.fromkeys(plan.reason for plan in refused))
    return Plan(Route.REFUSE, reasons, CopyRefusedError if a_copy_would_do else BufferError)


def kind_of_copy(usm_type: str, available: tuple[str, ...], *, moves: bool = True) -> UsmType:
    """Return the kind of USM of a copy on a device with the given kinds: that of the original.

    On a device without that kind it is the first one of `ALLOCATED` that the device has.  A copy of
    "system" memory is "device" memory on another device, and "host" memory on the same.
    """
    if usm_type == "system":
        usm_type = "device" if moves else "host"
    return min(ALLOCATED, key=lambda kind: (kind not in available, kind != usm_type))


def _refusal(
    row: Relation, copy: bool | None, facts: MemoryFacts, device: DLDevice, by_consumer: bool
) -> Plan:
    why, route = row.value, f"from {_memory_text(facts)} to {_device_text(device)}"
    error: type[BufferError] = BufferError
    if row is Relation.UNKNOWN:
        reason = (
            f"dl_device is {device}, but {why}; `python -m sycl_ext devices` lists them, and (1, "
            "0) is the host"
        )
    elif row is Relation.NO_USM:
        reason = (
            f"device {device[1]} was requested, but {why}; choose another device (`python -m "
            "sycl_ext devices` lists them)"
        )
    elif row in (Relation.UNTOLD, Relation.UNTOLD_ON_HOST):
        reason = f"{why}; pass max_version=(1, 0) or copy=True"
    elif copy is False:
        error, allow = CopyRefusedError, row is Relation.INDIRECT or None
        asked, way = "copy=False", f"pass copy={allow}"
        if by_consumer:
            asked, way = "the consumer requested copy=False", f"{way} to it, or pass it a copy"
        reason = f"{asked}, but an exchange {route} requires a copy: {why}; {way}"
    else:
        reason = (
            f"an exchange {route} requires two copies, through the host: {why}; to allow them, "
            "pass copy=True"
        )
    return Plan(Route.REFUSE, reason, error)


def _memory_text(facts: MemoryFacts) -> str:
    if facts.entry is None or facts.usm_type == "system":
        return "host memory"
    return f"{facts.usm_type!r} memory of device {facts.entry}"


def _device_text(device: DLDevice) -> str:
    if device == HOST:
        return "the host"
    named = device[0] == DeviceType.ONE_API
    return f"device {device[1]}" if named else f"DLPack device {device}"
