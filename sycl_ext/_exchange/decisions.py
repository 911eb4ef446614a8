# SPDX-License-Identifier: Apache-2.0
"""The decision of `exchange`, which `explain` shows. Moves no data.

It is made in two steps: `read_target` reads the consumer and ``device=``, and `decide` plans for
the facts of an array. The core keeps the results of both (``src/python/decisions.cpp``): a decision
depends on its target, the facts and the flags, and on nothing else that can change but the device
table. The core forgets everything when the table has a new entry.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from types import ModuleType
from typing import Any, NamedTuple

from sycl_ext import _core
from sycl_ext._devices.device import Device
from sycl_ext._devices.placement import (
    Placement,
    available_devices,
    is_host,
    is_torch_device,
    names_device,
    place,
)
from sycl_ext._exchange import attempts
from sycl_ext._exchange.attempts import Attempt, Flags, Form, RequestedDevice, no_more
from sycl_ext._negotiation.consumer_row import NARROW, Consumer
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.rules import Plan, Route, refusal_of
from sycl_ext._negotiation.targets import Lookup, Target, read_consumer
from sycl_ext._negotiation.usm_types import UsmType, check_usm_type
from sycl_ext._protocols.native import is_native


class View(IntEnum):
    """The view that the core hands over by itself: ``View`` of the core."""

    NONE = 0  # `run_attempts` makes every attempt
    ON_HOST = 1
    ON_DEVICE = 2  # as `as_tensor` returns it


@dataclass(slots=True)
class ReadTarget:
    """The arguments ``consumer``, ``device=`` and ``usm_type=``, as they were read."""

    target: Target
    devices: list[RequestedDevice] | None  # the acceptable devices; None: any
    several: bool  # whether a list of devices is the consumer
    usm_type: UsmType | None
    kept: bool  # whether the core may keep this for later calls with the same arguments

    @property
    def lookups(self) -> list[Lookup]:
        """What the target was read from."""
        return self.target.lookups

    @property
    def device_lookups(self) -> list[Lookup]:
        """What it was read from, and only memory other than the host's depends on."""
        return self.target.device_lookups


class Decision(NamedTuple):
    """What `exchange` does with an array, and `explain` shows."""

    target: Target
    row: Consumer | None  # of the library, for this array; None: the table does not know it
    attempts: list[Attempt]
    more: Callable[[], list[Attempt]]  # the attempts after these were refused
    first: int  # the place of the first attempt that is not ruled out; -1: all are
    plan: Plan  # of that attempt; else the refusal
    call: Callable[[Any], Any] | None  # takes the view; None: it is the result
    then: Callable[[Any], Any] | None
    view: View  # of the first attempt
    waits: bool = False  # whether work on the array must be done before the call

    @property
    def kept(self) -> bool:
        """Whether the core may keep it: a refusal may be lifted, as by installing ml_dtypes."""
        return self.first >= 0


# ---- the consumer --------------------------------------------------------------------------------

#: A device in place of a library.
_OURS = Target("sycl_ext", kept=True)


def read_target(consumer: Any, device: Any, usm_type: Any) -> ReadTarget:
    """Read the consumer, ``device=`` and ``usm_type=``; None is an unaware consumer of USM."""
    kind = check_usm_type(usm_type)
    is_module = isinstance(consumer, ModuleType)
    if consumer is None or (not is_module and _is_device(consumer)):
        if consumer is not None and device is not None:
            raise TypeError(
                "device= cannot be combined with a device as the consumer; pass a list of "
                "devices as the consumer"
            )
        where = device if consumer is None else consumer
        ours: list[RequestedDevice] = [(None, None)] if where is None else _read_devices(where)
        _check_kind(kind, ours)
        return ReadTarget(_OURS, ours, isinstance(where, list), kind, _is_lasting(where))
    devices = None if device is None else _read_devices(device)
    target = read_consumer(consumer, with_native=_has_native_devices())
    if kind is not None:
        raise TypeError(
            f"usm_type={kind!r} is supported only if the consumer is a device, not {target.title}; "
            f"pass as_tensor(x, usm_type={kind!r}) to it"
        )
    kept = target.kept and _is_lasting(device)
    return ReadTarget(target, devices, isinstance(device, list), None, kept)


def _has_native_devices() -> bool:
    return any(is_native(root) for root in range(_core.root_count()))


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


def _read_devices(device: Any) -> list[RequestedDevice]:
    """Read one device or a list of them, in any form; the host is (1, 0)."""
    given = available_devices(device) if isinstance(device, list) else [device]
    places = [HOST if is_host(form) else place(form) for form in given]
    return [
        (where, where.device.__dlpack_device__() if isinstance(where, Placement) else HOST)
        for where in places
    ]


def _check_kind(usm_type: UsmType | None, devices: list[RequestedDevice]) -> None:
    if usm_type is not None and HOST in [where for _, where in devices]:
        raise ValueError(
            f"usm_type is {usm_type!r}, but device (1, 0) is the host, which has no USM; pass a "
            "SYCL device, such as 0"
        )


def _is_lasting(device: Any) -> bool:
    """Whether a form of ``device=`` means the same device until the device table has a new entry.

    A list may change, and "xpu" becomes a device of torch when torch is loaded.
    """
    if isinstance(device, tuple):
        return type(device) is tuple and all(type(item) is int for item in device)
    if type(device) is str:
        return not device.strip().lower().startswith("xpu")
    return device is None or type(device) in (int, Device)


# ---- the array -----------------------------------------------------------------------------------


def decide(
    read: ReadTarget, facts: _core.ArrayFacts, copy: bool | None, host_copy: bool
) -> Decision:
    """Decide for an array with these facts."""
    flags, target, row = Flags(copy, host_copy), read.target, read.target.row
    if row is None:  # a device, or a function that the table does not know
        devices = read.devices or [attempts.where_it_is(facts)]
        attempt = attempts.to_device(facts, devices, flags, read.usm_type, several=read.several)
        is_view = attempt.plan.error is None and not attempt.copies
        is_result = target.call is None and attempt.device == HOST
        view = View.ON_HOST if is_view and is_result else View.NONE
        return _decision(target, None, target.call, [attempt], no_more, view)
    call = call_for(target, facts)
    if call is not None and call is target.usm_interface_call and target.then is not None:
        row = replace(row, any_context=True)  # the interface names the context
    refusal = row.refusal(facts, target.title)
    if refusal is not None:
        refused = [Attempt(Plan(Route.REFUSE, refusal, BufferError))]
        return _decision(target, row, call, refused, no_more, View.NONE)
    planned, more = attempts.to_library(facts, target.title, row, read.devices, flags)
    first = next((attempt for attempt in planned if attempt.plan.error is None), None)
    view = View.NONE if first is None else view_of(first, target, row, facts)
    waits = row.drops_stream and view is View.ON_DEVICE
    return _decision(target, row, call, planned, more, view)._replace(waits=waits)


def call_for(target: Target, facts: _core.ArrayFacts) -> Callable[[Any], Any] | None:
    """Return the function to call with an array: the importing function, or one in its place."""
    if target.narrow_call is not None and facts.dtype in NARROW:
        return target.narrow_call
    return target.usm_interface_call if _reads_usm_interface(target, facts) else target.call


def _reads_usm_interface(target: Target, facts: _core.ArrayFacts) -> bool:
    """Whether `Target.usm_interface_call` takes an array.

    A function of the library (`Target.then`) gets the memory where it is, as in a call without us;
    ``from_dlpack`` takes what is on the root device, in its default context.
    """
    if target.usm_interface_call is None or facts.on_host or facts.entry is None:
        return False
    is_plain = facts.c_contiguous and not (facts.readonly or facts.empty or facts.own_queue)
    is_on_root = target.then is not None or facts.root == facts.entry
    return is_plain and is_on_root and facts.usm_type != "system"


def view_of(attempt: Attempt, target: Target, row: Consumer, facts: _core.ArrayFacts) -> View:
    """Return the view that the core makes for an attempt with a library, if it is one."""
    form = attempts.form_of(attempt, row, empty=facts.empty)
    is_view = form is Form.ITSELF and not (attempt.copies or attempt.compact)
    if not (is_view and target.imports):
        return View.NONE
    if attempt.device == HOST:
        return View.ON_HOST
    is_in_place = attempt.device is None and facts.entry is not None
    return View.ON_DEVICE if is_in_place else View.NONE


def _decision(
    target: Target,
    row: Consumer | None,
    call: Callable[[Any], Any] | None,
    planned: list[Attempt],
    more: Callable[[], list[Attempt]],
    view: View,
) -> Decision:
    if all(attempt.plan.error is not None for attempt in planned):
        planned, more = [*planned, *more()], no_more
    first = next((place for place, attempt in enumerate(planned) if attempt.plan.error is None), -1)
    plan = planned[first].plan if first >= 0 else refusal_of([attempt.plan for attempt in planned])
    return Decision(target, row, planned, more, first, plan, call, target.then, view)
