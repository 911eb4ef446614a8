# SPDX-License-Identifier: Apache-2.0
"""The decision of `exchange`, which `explain` shows. Moves no data.

It is made in two steps: `resolve` reads the consumer, and `decide` plans for the facts of an array.
The core keeps the results of both (``src/python/decisions.cpp``): those of `resolve` for a consumer
that lasts, those of `decide` for each combination of facts. Before it uses one, it repeats the
`Reads` of both. So a decision may depend on its arguments and on its reads, and on nothing else
that can change but the device table: the core forgets everything when that has a new entry.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from types import ModuleType
from typing import Any, NamedTuple

from sycl_ext import _core
from sycl_ext._devices.device import Device
from sycl_ext._devices.placement import (
    available_devices,
    is_host,
    is_torch_device,
    names_device,
    place,
)
from sycl_ext._exchange import attempts
from sycl_ext._exchange.attempts import Attempt, Flags, Wanted, no_more
from sycl_ext._negotiation.array_facts import ArrayFacts, read_facts
from sycl_ext._negotiation.consumer_row import NARROW, Consumer
from sycl_ext._negotiation.consumers import consumer_for
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.kinds import UsmType, check_usm_type
from sycl_ext._negotiation.reads import Reads
from sycl_ext._negotiation.rules import Plan, Route, refusal_of
from sycl_ext._negotiation.targets import Target, find_consumer


class Resolved(NamedTuple):
    """The arguments ``consumer``, ``device=`` and ``usm_type=``, as they were read."""

    target: Target | None  # None: a device is the consumer
    wanted: list[Wanted] | None  # the acceptable devices; None: any
    several: bool  # whether a list of devices is the consumer
    lasts: bool  # whether the core may keep this for later calls with the same arguments
    reads: tuple[Any, ...]
    usm_type: UsmType | None = None  # the kind of USM that is needed on a device; None: any


class Form(IntEnum):
    """Who makes the object of an attempt, and which one: ``Form`` of the core."""

    PYTHON = 0  # `carry_out`
    HOST_VIEW = 1
    TENSOR = 2  # on its device, as `as_tensor` returns it
    ON_DEVICE = 3  # the result of `as_tensor` with ``device=`` and ``copy=``


class Step(NamedTuple):
    """The first attempt, as far as the core carries it out."""

    form: Form
    waits: bool = False  # whether work on the array must be done before the call
    call: Callable[[Any], Any] | None = None  # takes the object; None: it is the result
    then: Callable[[Any], Any] | None = None  # `Target.then`
    device: Any = None
    copy: bool | None = None
    usm_type: UsmType | None = None


class Decision(NamedTuple):
    """What `exchange` does with an array, and `explain` shows."""

    who: Consumer
    target: Target | None
    attempts: list[Attempt]
    more: Callable[[], list[Attempt]]  # the attempts after these were refused
    first: int  # the place of the first attempt that is not ruled out; -1: all are
    plan: Plan  # of that attempt; else the refusal
    step: Step
    reads: tuple[Any, ...]


#: The consumer where a device is named in place of a library: this package.
_OURS: Consumer = consumer_for("sycl_ext", "") or Consumer("sycl_ext")

# ---- the consumer --------------------------------------------------------------------------------


def resolve(consumer: Any, device: Any, usm_type: Any) -> Resolved:
    """Read the consumer, ``device=`` and ``usm_type=``; None is an unaware consumer of USM."""
    reads, kind = Reads(), check_usm_type(usm_type)
    is_module = isinstance(consumer, ModuleType)
    if consumer is None or (not is_module and _is_device(consumer)):
        if consumer is not None and device is not None:
            raise TypeError(
                "the consumer is a device, so device= has no meaning; pass a list as the consumer"
            )
        where = device if consumer is None else consumer
        devices: list[Wanted] = [(None, None)] if where is None else _read_devices(where)
        _check_kind(kind, devices)
        return Resolved(
            target=None,
            wanted=devices,
            several=isinstance(where, list),
            lasts=_lasts(where),
            reads=(),
            usm_type=kind,
        )
    wanted = None if device is None else _read_devices(device)
    target = find_consumer(consumer, reads)
    if kind is not None:
        raise TypeError(
            f"usm_type={kind!r} is for a device as the consumer, and this is {target.row.title}; "
            f"pass as_tensor(x, usm_type={kind!r}) to it"
        )
    lasts = target.lasts and _lasts(device)
    return Resolved(target, wanted, several=False, lasts=lasts, reads=reads.all())


def _is_device(consumer: Any) -> bool:
    if isinstance(consumer, str):
        return names_device(consumer)
    if isinstance(consumer, list):
        return not any(isinstance(item, ModuleType) for item in consumer)
    if is_torch_device(consumer):  # which can also be called: as a decorator
        return True
    if callable(consumer):
        return False
    return (
        isinstance(consumer, (Device, int, tuple))
        or str(type(consumer).__module__).startswith("dpctl")
        or hasattr(consumer, "sycl_queue")  # the devices of dpnp
    )


def _read_devices(device: Any) -> list[Wanted]:
    """Read one device or a list of them; the host is (1, 0)."""
    given = available_devices(device) if isinstance(device, list) else [device]
    return [
        (HOST, HOST) if is_host(form) else (form, place(form).device.__dlpack_device__())
        for form in given
    ]


def _check_kind(usm_type: UsmType | None, devices: list[Wanted]) -> None:
    if usm_type is not None and HOST in [where for _, where in devices]:
        raise ValueError(
            f"usm_type is {usm_type!r}, and a device is (1, 0), the host, which has no USM; pass "
            "the device of the USM, such as 0"
        )


def _lasts(device: Any) -> bool:
    """Whether a form of ``device=`` means the same device until the device table has a new entry.

    A list may change, and "xpu" becomes a device of torch when torch is loaded.
    """
    if isinstance(device, tuple):
        return type(device) is tuple and all(type(item) is int for item in device)
    if type(device) is str:
        return not device.strip().lower().startswith("xpu")
    return device is None or type(device) in (int, Device)


# ---- the array -----------------------------------------------------------------------------------

_DTYPES = [name for name, *_ in _core.DTYPES]


def decide(resolved: Resolved, bits: int, copy: bool | None, host_copy: bool) -> Decision:
    """Decide for an array of which the core knows these facts."""
    facts, flags, reads = read_facts(bits, _DTYPES), Flags(copy, host_copy), Reads()
    target = resolved.target
    if target is None:
        devices = resolved.wanted or []
        planned = list(
            attempts.to_device(facts, devices, resolved.several, flags, resolved.usm_type)
        )
        return _decision(facts, flags, _OURS, None, planned, no_more, reads)
    who = target.row
    if resolved.wanted is None and not who.is_listed:
        planned, more = _for_unlisted(who, facts, flags)
        return _decision(facts, flags, who, target, planned, more, reads)
    if who.narrow_entry and facts.dtype in NARROW:
        target = target.for_narrow(reads)
    if target.then is not None and takes_description(target, facts):
        who = replace(who, any_context=True)  # a description names the context
    refusal = who.refusal(facts, reads)
    if refusal is not None:
        planned = [Attempt(Plan(Route.REFUSE, refusal, BufferError))]
        return _decision(facts, flags, who, target, planned, no_more, reads)
    planned, more = attempts.to_library(facts, who, resolved.wanted, flags, reads)
    return _decision(facts, flags, who, target, planned, more, reads)


@functools.lru_cache(maxsize=256)
def _for_unlisted(
    who: Consumer, facts: ArrayFacts, flags: Flags
) -> tuple[list[Attempt], Callable[[], list[Attempt]]]:
    """Return the attempts with a function of a user, which read nothing.

    Most of these functions do not last, so that the core keeps no decision for them.
    """
    return attempts.to_library(facts, who, None, flags, Reads())


def takes_description(target: Target, facts: ArrayFacts) -> bool:
    """Whether `Target.described` takes an array.

    A function of the library (`Target.then`) gets the memory where it is, as in a call without us;
    ``from_dlpack`` takes what is on the root device, in its default context.
    """
    if target.described is None or facts.on_host or facts.entry is None:
        return False
    is_plain = facts.c_contiguous and not (facts.readonly or facts.empty or facts.own_queue)
    is_on_root = target.then is not None or _core.entry(facts.entry).root_id == facts.entry
    return is_plain and is_on_root and facts.usm_type != "system"


def array_facts_of(tensor: _core.TensorBase) -> ArrayFacts:
    """Return what a decision may know of a tensor."""
    return read_facts(_core.array_facts(tensor), _DTYPES)


def _decision(
    facts: ArrayFacts,
    flags: Flags,
    who: Consumer,
    target: Target | None,
    planned: list[Attempt],
    more: Callable[[], list[Attempt]],
    reads: Reads,
) -> Decision:
    if all(attempt.plan.error is not None for attempt in planned):
        planned, more = [*planned, *more()], no_more
    first = next((place for place, attempt in enumerate(planned) if attempt.plan.error is None), -1)
    if first < 0:
        plan, step = refusal_of([attempt.plan for attempt in planned]), Step(Form.PYTHON)
    else:
        plan = planned[first].plan
        step = _step(planned[first], facts, flags, who, target)
    return Decision(who, target, planned, more, first, plan, step, reads.all())


def _step(
    attempt: Attempt, facts: ArrayFacts, flags: Flags, who: Consumer, target: Target | None
) -> Step:
    """Return how the core makes an attempt; one with a copy or a check is left to `carry_out`."""
    is_on_host = attempt.device == HOST
    if target is None and not is_on_host:
        asked = True if attempt.copies else False if flags.copy is False else None
        return Step(Form.ON_DEVICE, device=attempt.device, copy=asked, usm_type=attempt.usm_type)
    if attempt.copies or attempt.compact or attempt.as_array or attempt.native is not None:
        return Step(Form.PYTHON)
    if target is None:
        return Step(Form.HOST_VIEW)
    is_for_core = who.is_library and who.takes == "producer" and flags.copy is not False
    if not is_for_core or (facts.empty and not who.null_data):
        return Step(Form.PYTHON)
    if is_on_host:
        return Step(Form.HOST_VIEW, call=target.call, then=target.then)
    if attempt.device is not None or facts.entry is None:
        return Step(Form.PYTHON)
    call = target.described if takes_description(target, facts) else None
    return Step(Form.TENSOR, waits=who.drops_stream, call=call or target.call, then=target.then)
