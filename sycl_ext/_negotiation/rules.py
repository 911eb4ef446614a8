# SPDX-License-Identifier: Apache-2.0
"""The decisions of the exchange, made before any data is moved.

`plan(source, request)` is a pure function: no device, no data, no core.  All the rules are in the
table `RULES`; everything that moves memory (`__dlpack__`, `from_dlpack`, `as_tensor`, `host_view`,
`to_device`, `exchange`) asks it, and `explain` shows its answer.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError


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
        "other libraries cannot use the memory where it is: it was allocated in a SYCL context "
        "other than the default one of its device"
    )
    DIRECT = "the memory belongs to another device of sycl_ext.devices(), and is copied directly"
    SUB_DEVICE = (
        "the memory is on a sub-device, such as a tile, and this consumer takes only memory of "
        "root devices"
    )
    OTHER_KIND = (
        "that DLPack device type stands for another kind of memory (device, shared or host) than "
        "this one"
    )
    OTHER_USM_TYPE = "the memory is of another kind of USM than the one that was asked for"
    INDIRECT = (
        "the memory belongs to another device of sycl_ext.devices(), and no direct copy between "
        "the two is possible"
    )
    SYSTEM_USM = "the memory is on the host, and this device reads host memory in place"
    HOST_ONLY = (
        "the memory is ordinary host memory, which SYCL did not allocate; memory of "
        "sycl_ext.empty(shape, dtype, usm_type='shared') would be used in place"
    )
    REACHABLE = "the host can reach the memory"
    UNREACHABLE = "the host cannot reach the memory"
    REVERSED = (
        "the host can reach the memory, but some consumers of host memory crash on a negative "
        "stride (torch before the fix of pytorch#188023)"
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
    Relation.NO_USM: (Route.REFUSE, Route.REFUSE, Route.REFUSE),
    Relation.UNKNOWN: (Route.REFUSE, Route.REFUSE, Route.REFUSE),
}
_COLUMN = {None: 0, False: 1, True: 2}
#: The reason of a copy where the memory could have been used in place.
COPY_REQUESTED = "copy=True was asked for"


class Source(NamedTuple):
    """The facts of a producer's memory."""

    device: DLDevice  # of ``__dlpack_device__``: ``(14, root id)``, or ``(1, 0)`` for the host
    entry: int | None  # the entry of the memory; None for plain host memory
    usm_type: str  # "device", "shared", "host" or "system"
    default_context: bool  # whether the entry is bound to the default context of its root device
    host_reachable: bool  # whether the host may read the memory
    readonly: bool
    reversed: bool  # whether a stride is negative
    root: DLDevice | None  # ``(14, root id)`` of the entry, also for a host view of USM


class Request(NamedTuple):
    """The request of a consumer."""

    device: DLDevice | None = None  # None: the device of the data
    copy: bool | None = None  # None: only if there is no other way
    versioned: bool = True  # whether it supports the versioned struct, which can say "read-only"
    known: bool = True  # whether the device table has an entry for the device
    direct: bool = True  # whether the runtime copies between the two entries with one command
    ours: bool = False  # whether this package takes the data, which knows more than root ids
    system_usm: bool = False  # whether plain host memory will do, because the device can read it
    root_only: bool = False  # whether it refuses memory of a sub-device, in the default context
    any_strides: bool = False  # whether a consumer on the host takes negative strides
    right_kind: bool = True  # the memory is of the kind that a device type of CUDA or ROCm names
    has_usm: bool = True  # whether the device has USM at all
    usm_type: str | None = None  # the kind that is needed; None: any


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
        The DLPack device of the result, if several devices were acceptable.
    candidates : tuple of Plan
        The plans for all acceptable devices, in their order.
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


def relation(source: Source, request: Request) -> Relation:
    """Return the relation of the memory to the requested device."""
    wanted = request.device or source.device
    any_kind = request.usm_type in (None, source.usm_type)
    same = Relation.SAME if request.right_kind else Relation.OTHER_KIND
    same = same if any_kind else Relation.OTHER_USM_TYPE
    if wanted == HOST:
        if not source.host_reachable:
            return Relation.UNREACHABLE
        reversed_for_it = source.reversed and not request.any_strides
        return Relation.REVERSED if reversed_for_it else Relation.REACHABLE
    if wanted[0] != DeviceType.ONE_API or not request.known:
        return Relation.UNKNOWN
    if source.entry is None and request.system_usm and any_kind:
        return Relation.SYSTEM_USM
    if not request.has_usm:
        return Relation.NO_USM
    if source.entry is None:
        return Relation.HOST_ONLY
    own_entry = wanted[1] == source.entry
    if wanted == source.root and not (request.ours and own_entry):
        # A third party takes memory under a root id for USM of the default context, also when it
        # comes from a host view.
        if source.default_context and source.usm_type != "system":
            on_root = source.entry == wanted[1]
            return Relation.SUB_DEVICE if request.root_only and not on_root else same
        if not request.direct:
            return Relation.INDIRECT
        return Relation.HOST_ONLY if source.usm_type == "system" else Relation.OTHER_CONTEXT
    if own_entry:
        return same
    return Relation.DIRECT if request.direct else Relation.INDIRECT


@functools.lru_cache(maxsize=256)
def plan(source: Source, request: Request) -> Plan:
    """Decide the route for a source and a request, with its reason in words."""
    row = relation(source, request)
    route = RULES[row][_COLUMN[request.copy]]
    if route is Route.REFUSE:
        return _refusal(row, source, request)
    if source.readonly and not request.versioned and route.copies == 0:
        return Plan(
            Route.REFUSE,
            "the tensor is read-only, and a consumer that asks for DLPack 0.x (max_version=None) "
            "cannot be told so; pass max_version=(1, 0) or copy=True",
            BufferError,
        )
    in_place = RULES[row][_COLUMN[None]] in (Route.VIEW, Route.HOST_VIEW)
    return Plan(route, COPY_REQUESTED if request.copy is True and in_place else row.value)


def cheapest(candidates: Sequence[Plan]) -> Plan:
    """Return the first plan with the fewest copies; a refusal if all of them are refused."""
    best = min(candidates, key=lambda plan: plan.cost)
    if best.error is not None:
        best = refusal_of(candidates, f"none of the {len(candidates)} devices will do: ")
    return replace(best, candidates=tuple(candidates))


def refusal_of(refused: Sequence[Plan], introduction: str = "") -> Plan:
    """Return a refusal with the reasons of all these refusals."""
    if len(refused) == 1:
        return refused[0]
    a_copy_would_do = any(plan.error is CopyRefusedError for plan in refused)
    reasons = introduction + "; and ".join(dict.fromkeys(plan.reason for plan in refused))
    return Plan(Route.REFUSE, reasons, CopyRefusedError if a_copy_would_do else BufferError)


#: The facts that the core has about a tensor and a request, a bit for each (``routes.cpp``).
FACTS = (
    *("on_host", "has_entry", "is_system", "default_context", "host_reachable", "readonly"),
    *("reversed", "versioned", "any_strides", "system_usm"),
)
_ANNOUNCED, _ON_HOST, _OWN_ENTRY = range(3)  # `Wanted` of the core


def decide(facts: int, wanted: int, copy: bool | None) -> int:
    """Return the place in `Route` of a plan, for the core, which keeps it.

    The facts stand for the memory of any entry. The target is the device of ``__dlpack_device__``,
    or the host, or that entry.
    """
    known = {name: bool(facts >> bit & 1) for bit, name in enumerate(FACTS)}
    root: DLDevice = (int(DeviceType.ONE_API), 0)
    entry = (0 if known["default_context"] else 1) if known["has_entry"] else None
    source = Source(
        device=HOST if known["on_host"] else root,
        entry=entry,
        root=root if known["has_entry"] else None,
        usm_type="system" if known["is_system"] else "device",
        **{name: known[name] for name in FACTS[3:7]},
    )
    places = {_ANNOUNCED: None, _ON_HOST: HOST, _OWN_ENTRY: (root[0], entry or 0)}
    more: dict[str, Any] = {name: known[name] for name in FACTS[7:]}
    request = Request(places[wanted], copy, ours=wanted == _OWN_ENTRY, **more)
    return list(Route).index(plan(source, request).route)


def kind_of_copy(usm_type: str, available: tuple[str, ...], *, moves: bool = True) -> str:
    """Return the kind of USM of a copy on a device with the given kinds: that of the original.

    A copy of "system" memory is "device" memory on another device, and "host" memory on the same.
    """
    if usm_type == "system":
        usm_type = "device" if moves else "host"
    if usm_type in available:
        return usm_type
    return next((kind for kind in available if kind != "system"), usm_type)


def _refusal(row: Relation, source: Source, request: Request) -> Plan:
    wanted, why = request.device or source.device, row.value
    way = f"from {_memory_text(source)} to {_device_text(wanted)}"
    error: type[BufferError] = BufferError
    if row is Relation.UNKNOWN:
        reason = (
            f"dl_device={wanted} was asked for, and {why}; `python -m sycl_ext devices` lists "
            "them, and (1, 0) is the host"
        )
    elif row is Relation.NO_USM:
        reason = (
            f"device {wanted[1]} was asked for, and {why}; choose another device (`python -m "
            "sycl_ext devices` lists them)"
        )
    elif request.copy is False:
        error, allow = CopyRefusedError, row is Relation.INDIRECT or None
        reason = f"copy=False was asked for, and a copy is needed {way}: {why}; pass copy={allow}"
    else:
        reason = (
            f"two copies, through the host, are needed {way}: {why}; to allow them, pass copy=True"
        )
    return Plan(Route.REFUSE, reason, error)


def _memory_text(source: Source) -> str:
    if source.entry is None or source.usm_type == "system":
        return "host memory"
    return f"{source.usm_type!r} memory of device {source.entry}"


def _device_text(device: DLDevice) -> str:
    if device == HOST:
        return "the host"
    named = device[0] == DeviceType.ONE_API
    return f"device {device[1]}" if named else f"DLPack device {device}"
