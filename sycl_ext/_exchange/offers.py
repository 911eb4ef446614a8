# SPDX-License-Identifier: Apache-2.0
"""The offers of `exchange` to a consumer, best first. Only decisions; moves no data.

`exchange` makes the offers in turn; `explain` shows the first that is not ruled out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import is_host, is_torch_device, names_device, place, those_here
from sycl_ext._negotiation.consumers import NARROW, Consumer, Target, consumer_for, find_consumer
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._negotiation.kinds import check_flag
from sycl_ext._negotiation.rules import Plan, Route, Source, cheapest, kind_of_copy
from sycl_ext._protocols import sources
from sycl_ext._tensor.tensor import Tensor


class Offer(NamedTuple):
    """One object to pass to a consumer."""

    plan: Plan
    device: Any = None  # as in `as_tensor`, or HOST; None: the device for an unaware consumer
    compact: bool = False  # the consumer needs a compact, writable copy
    copies: int = 0  # made before the consumer is called, which may make the last one itself
    native: DLDevice | None = None  # the name of CUDA or ROCm under which it is passed
    as_array: bool = False  # as a NumPy array, for a function that refused without being run


class Decision(NamedTuple):
    """The object to pass on, the consumer, and the way."""

    source: _core.TensorBase
    who: Consumer
    target: Target | None  # None: a device is the consumer
    offers: Iterator[Offer]  # each is planned when the one before it was refused


#: A requested device: as it was given, and as DLPack names it.
_Wanted: TypeAlias = tuple[Any, DLDevice]


def decide(x: Any, consumer: Any, copy: Any, host_copy: Any, device: Any) -> Decision:
    """Decide what to offer, for the arguments of `exchange`; None is an unaware consumer of USM."""
    if copy is not None:
        copy = check_flag("copy", copy, or_none=True)
    if host_copy is not True:
        check_flag("host_copy", host_copy)
    is_module = isinstance(consumer, ModuleType)  # the usual case: no call
    if consumer is None or (not is_module and _is_device(consumer)):
        if consumer is not None and device is not None:
            raise TypeError(
                "the consumer is a device, so device= has no meaning; pass a list as the consumer"
            )
        where = device if consumer is None else consumer
        devices = [(None, None)] if where is None else _read_devices(where)  # None: where it is
        source = _core.find_memory(x, copy)
        offers = _offers_to_device(source, devices, isinstance(where, list), copy, host_copy)
        return Decision(source, _OURS, None, offers)
    wanted = None if device is None else _read_devices(device)
    target = find_consumer(consumer)
    source = _core.find_memory(x, copy)
    who = target.row
    if who.narrow_entry and source.dtype_name in NARROW:
        target = target.for_narrow()
    if who.described and target.then and target.is_library and is_plain(source, target.then):
        who = replace(who, any_context=True)  # a description names the context
    refusal = who.refusal(dtype=source.dtype_name, ndim=source.ndim)
    if refusal is not None:
        offers = iter([Offer(Plan(Route.REFUSE, refusal, BufferError))])
    else:
        offers = _offers_to_library(source, who, wanted, copy, host_copy)
    return Decision(source, who, target, offers)


_OURS: Consumer = consumer_for("sycl_ext", "") or Consumer("sycl_ext")


def is_plain(handed: Any, then: Any) -> bool:
    """Whether it is what `Consumer.described` is about.

    A function of the library (`then`) gets the memory where it is, as in a call without us;
    ``from_dlpack`` takes what is on the root device, in its default context.
    """
    return (
        isinstance(handed, Tensor)
        and handed.usm_type != "system"
        and handed.c_contiguous
        and not handed.readonly
        and handed.size > 0
        and _core.own_queue(handed) is None
        and (then is not None or handed.__dlpack_device__()[1] == handed.entry_id)
    )


def _is_device(consumer: Any) -> bool:
    if isinstance(consumer, ModuleType):
        return False
    if isinstance(consumer, str):
        return names_device(consumer)
    if isinstance(consumer, list):
        return not any(isinstance(one, ModuleType) for one in consumer)
    if is_torch_device(consumer):  # which can also be called: as a decorator
        return True
    if callable(consumer):
        return False
    return (
        isinstance(consumer, (Device, int, tuple))
        or str(type(consumer).__module__).startswith("dpctl")
        or hasattr(consumer, "sycl_queue")  # the devices of dpnp
    )


def _read_devices(device: Any) -> list[_Wanted]:
    """Read one device or a list of them; the host is (1, 0)."""
    given = those_here(device) if isinstance(device, list) else [device]
    return [
        (HOST, HOST) if is_host(one) else (one, place(one).device.__dlpack_device__())
        for one in given
    ]


def _offers_to_device(
    source: _core.TensorBase,
    wanted: Sequence[tuple[Any, DLDevice | None]],
    several: bool,
    copy: bool | None,
    host_copy: bool,
) -> Iterator[Offer]:
    facts = sources.facts_of(source)
    plans = [
        _allowed(sources.plan_for(facts, where, copy, ours=where not in (None, HOST)), host_copy)
        for _, where in wanted
    ]
    if several:
        chosen = cheapest([replace(plans[i], device=where) for i, (_, where) in enumerate(wanted)])
        given = [given for given, where in wanted if where == chosen.device]
        yield Offer(chosen, given[0] if given else None, copies=chosen.copies)
    else:
        ((given_one, where),) = wanted
        target = source.entry_id if where is None else None if where == HOST else where[1]
        yield Offer(_with_notes(plans[0], source, target), given_one, copies=plans[0].copies)


def _with_notes(found: Plan, source: _core.TensorBase, entry_id: int | None) -> Plan:
    """Add a note if the device does not support the dtype."""
    if entry_id is None or source.dtype_name not in ("float64", "complex128"):
        return found
    target = by_id(entry_id)
    if target.has_fp64:
        return found
    return found.noting(
        f"device {target.id} ({target.name}) does not compute in {source.dtype_name}: compute on "
        "the host (host_view), or convert to a narrower dtype first"
    )


def _offers_to_library(
    source: _core.TensorBase,
    who: Consumer,
    wanted: list[_Wanted] | None,
    copy: bool | None,
    host_copy: bool,
) -> Iterator[Offer]:
    needed, facts = who.copy_needed(source), sources.facts_of(source)
    may_copy = who.copies or who.keeps != "any"
    copies_itself = bool(may_copy) and who.always_copies(source)
    ours = None if copies_itself and copy else copy  # the copy to make here

    def offer(device: Any, found: Plan) -> Offer:
        compact = needed is not None and found.error is None
        if compact and found.route.copies == 0:
            found = _compacted(found, device, str(needed), ours)
        elif needed is not None:
            found = found.noting(needed)
        copies = found.route.copies
        if copies_itself and found.error is None:
            found = _copied_by(who, found, device, copy)
        allowed = found if host_copy else _allowed(found, host_copy)
        return Offer(allowed, device, compact, copies)

    if wanted is not None:
        offers = [
            offer(given, replace(_plan_there(facts, who, where, ours), device=where))
            for given, where in wanted
        ]
        best = cheapest([one.plan for one in offers])
        if best.error is not None:
            yield Offer(best)
            return
        for one in sorted(offers, key=lambda one: one.plan.cost):
            yield one._replace(plan=replace(one.plan, candidates=best.candidates))
        if HOST not in [where for _, where in wanted]:
            return
    else:
        offers = []
        if who.memory == "usm" and source.entry_id is None:
            default = int(DeviceType.ONE_API), _core.default_entry().id
            offers.append(offer(None, sources.plan_for(facts, default, ours)))
        elif source.entry_id is not None and who.takes_usm(source.usm_type):
            own = (int(DeviceType.ONE_API), source.entry_id) if who.any_context else None
            ways = {"ours": who.any_context, "root_only": who.root_only}
            offers.append(offer(None, sources.plan_for(facts, own, ours, **ways)))
        if source.entry_id is not None and sources.is_native(source.entry_id):
            native = _native_name(source, who)
            if native is not None:
                named = offer(None, sources.plan_for(facts, native, ours))
                offers.append(named._replace(native=native))
        if who.memory != "usm":
            offers.append(offer(HOST, _plan_on_host(facts, who, ours)))
        # A view on the host comes before a copy on the device, which loses what a consumer writes.
        if len(offers) > 1:
            offers.sort(key=lambda one: one.plan.cost > 0)
        yield from offers
    if who.memory == "usm":
        return
    if needed is None and copy is None and host_copy:
        # A consumer that refuses a view (read-only, strides) may still take a copy of its own.
        yield Offer(_plan_on_host(facts, who, True), HOST, copies=1)
    if wanted is None and not who.is_library:
        yield offer(HOST, _plan_on_host(facts, who, copy))._replace(as_array=True)


def _plan_on_host(facts: Source, who: Consumer, copy: bool | None) -> Plan:
    """Plan for host memory; a NumPy array can have negative strides, which crash some consumers."""
    return sources.plan_for(facts, HOST, copy, any_strides=who.takes == "NumPy array")


def _native_name(source: _core.TensorBase, who: Consumer) -> DLDevice | None:
    """Return the name of the device for a library of CUDA or HIP; None: it takes no such memory."""
    if not who.tries_native():
        return None
    return sources.native_device(copy_entry(source, who).id, source.usm_type)


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


def _copied_by(who: Consumer, found: Plan, device: Any, copy: bool | None) -> Plan:
    """Plan for a consumer that copies whatever it is given."""
    reason = f"{who.title} copies what it is given"
    if copy is False:
        refusal = f"copy=False was asked for, and {reason}; pass copy=None"
        return Plan(Route.REFUSE, refusal, CopyRefusedError, device=found.device)
    if found.copies:
        return found.noting(f"{reason} once more")
    route = Route.HOST_COPY if device == HOST else Route.COPY
    return Plan(route, reason, notes=found.notes, device=found.device)


def _plan_there(facts: Source, who: Consumer, device: DLDevice, copy: bool | None) -> Plan:
    """Plan for a library that gets the data on one device."""
    if device == HOST:
        if who.memory != "usm":
            return _plan_on_host(facts, who, copy)
        return Plan(Route.REFUSE, f"{who.package} takes no host memory", BufferError)
    entry = _core.entry(device[1])
    kind = kind_of_copy(facts.usm_type, entry.usm_types, moves=facts.entry != entry.id)
    if not who.takes_usm(kind):
        reason = f"{who.package} does not take {kind!r} USM of device {entry.id}"
        way_out = "; pass device=(1, 0), the host, or no device" if who.memory != "usm" else ""
        return Plan(Route.REFUSE, reason + way_out, BufferError)
    if not who.any_context and not (entry.default_context and entry.root_id == entry.id):
        reason = f"{who.package} takes memory of root devices, and {device} is not one"
        return Plan(Route.REFUSE, reason, BufferError)
    return sources.plan_for(facts, device, copy, ours=who.any_context, root_only=who.root_only)


def copy_entry(source: _core.TensorBase, who: Consumer) -> _core.Entry:
    """Return the device on which a consumer looks for a copy, so that its request is a view."""
    if source.entry_id is None:
        return _core.default_entry()
    own = _core.entry(source.entry_id)
    if who.any_context or (own.default_context and not who.root_only):
        return own
    return _core.entry(own.root_id)
