# SPDX-License-Identifier: Apache-2.0
"""`exchange` and `explain`: any array to any consumer, and what that will take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, overload

from sycl_ext import _core
from sycl_ext._debug.trace import note, traced
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import is_torch_device, names_device, place
from sycl_ext._negotiation.consumers import Consumer, find_consumer
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, Refusals, message_of
from sycl_ext._negotiation.rules import Plan, Route, Source, cheapest
from sycl_ext._protocols import imports, sources
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.host_view import HostView
from sycl_ext._tensor.tensor import Tensor, as_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exchange", "explain"]

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class _Library(Protocol[Result_co]):
    """A module of arrays: what its ``from_dlpack`` returns is what `exchange` does."""

    @property
    def from_dlpack(self) -> Callable[..., Result_co]: ...


class _Attempt(NamedTuple):
    """One thing to hand to a consumer: where its memory is, and what it takes to get it there."""

    device: DLDevice | None  # None: as an unaware consumer of USM gets it
    plan: Plan
    compact: bool = False  # the plan is a copy only because of the consumer


@overload
def exchange(
    x: Any,
    consumer: Literal["numpy"],
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> NDArray[Any]: ...
@overload
def exchange(
    x: Any,
    consumer: _Library[Result],
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Result: ...
@overload
def exchange(
    x: Any,
    consumer: Callable[[Any], Result],
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Result: ...
@overload
def exchange(
    x: Any,
    consumer: Device | int | tuple[int, int] | Literal["cpu", "gpu", "xpu"],
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Tensor: ...
@overload
def exchange(
    x: Any,
    consumer: Any,
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Any: ...
@traced
def exchange(
    x: Any,
    consumer: Any,
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Any:
    """Hand an array to a consumer, in the best form that it takes.

    The direct way is tried first; a consumer that refuses it gets a host view, and then a copy.  A
    library refuses by whatever it raises.  A function of yours refuses when it raises a
    ``BufferError``, or anything after it has asked for the memory (through DLPack, the buffer
    protocol or ``__sycl_usm_array_interface__``, or where it is) and has not taken it; every other
    exception is its own, goes through, and the function is not called again.

    What is known to end a consumer's process or to make it write to read-only memory is never
    handed over (``sycl_ext._negotiation.consumers`` has the table).

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    consumer : module, str, callable or device
        A module with ``from_dlpack`` (``numpy``, ``torch``, ``dpnp``, ``jax``, ...) or its name, a
        callable of one argument, or a device, which gives a `Tensor` there.  A string that is in
        the form of a device, such as ``"cpu"``, is a device, and so is a list of devices, as for
        `from_dlpack`.
    copy : bool, optional
        None: only where a view is impossible.  False: never.  True: always.
    host_copy : bool
        False: refuse instead of copying to the host.
    device : optional
        Where the library may get the data: a device, or a list of acceptable ones, of which the
        first that takes no copy is used, else the first with the fewest copies; ``(1, 0)`` is the
        host.  None: wherever it takes it.

    Returns
    -------
    array
        What the consumer returned.

    Raises
    ------
    ExchangeError
        When the consumer refuses everything; its own first exception is the ``__cause__``.
    CopyRefusedError
        When only a copy would do, and ``copy=False`` or ``host_copy=False``.

    Examples
    --------
    >>> import numpy, sycl_ext as sx
    >>> sx.exchange(sx.zeros(3, "int32"), numpy)
    array([0, 0, 0], dtype=int32)
    """
    copy = sources.check_copy(copy)
    if not isinstance(host_copy, bool):
        raise TypeError(f"host_copy is {host_copy!r}; it must be True or False")
    if _is_device(consumer):
        _require_no_device(device)
        return _to_device(x, consumer, copy, host_copy)
    wanted = _read_devices(device)
    who, call = find_consumer(consumer)
    source = _core.find_memory(x, copy)
    refusal = who.refusal(dtype=source.dtype_name, ndim=source.ndim)
    if refusal is not None:
        raise BufferError(refusal)
    with Refusals() as refusals:
        attempts = _attempts(source, who, copy, host_copy, wanted)
        return _hand_over(source, who, call, attempts, copy, host_copy, refusals)


def _hand_over(
    source: _core.TensorBase,
    who: Consumer,
    call: Callable[[Any], Any],
    attempts: Iterable[_Attempt],
    copy: bool | None,
    host_copy: bool,
    refusals: list[Exception],
) -> Any:
    """Return what the consumer returns for the first attempt that it does not refuse."""
    forbidden: list[BufferError] = []
    for attempt in attempts:
        error = _forbidden(attempt, host_copy)
        if error is not None:
            forbidden.append(error)
            continue
        forbidden.clear()
        handed = _in_form(_prepare(source, who, attempt, copy), who)
        _core.watch_offer(handed, True)
        try:
            result = call(handed)
        except RecursionError:  # tried again at every level, an endless recursion would not end
            raise
        except Exception as refusal_or_not:
            refused = _core.was_refused(handed) or isinstance(refusal_or_not, BufferError)
            if not (who.is_library or refused):
                raise
            refusals.append(refusal_or_not)
            continue
        finally:
            _core.watch_offer(handed, False)
        note(f"{who.package}, {attempt.plan.route.value}", source.nbytes, attempt.plan.copies)
        return result
    # The best form was refused first: that refusal says most.
    raise _all_refused(source, who, refusals, forbidden) from (refusals[0] if refusals else None)


def _all_refused(
    source: _core.TensorBase,
    who: Consumer,
    refusals: list[Exception],
    forbidden: list[BufferError],
) -> BufferError:
    if forbidden:
        a_copy_would_do = any(isinstance(error, CopyRefusedError) for error in forbidden)
        error_type = CopyRefusedError if a_copy_would_do else BufferError
        return error_type("; and ".join(dict.fromkeys(map(str, forbidden))))
    first = refusals[0]
    return ExchangeError(
        f"{who.package} refused {describe(source)}: {type(first).__name__}: {message_of(first)}"
        + (f" (known about it: {who.reason})" if who.reason else "")
    )


def _is_device(consumer: Any) -> bool:
    if isinstance(consumer, str):
        return names_device(consumer)
    if isinstance(consumer, list):
        return not any(isinstance(one, ModuleType) for one in consumer)
    if is_torch_device(consumer):  # which can be called, too: as a decorator
        return True
    if isinstance(consumer, ModuleType) or callable(consumer):
        return False
    return (
        isinstance(consumer, (Device, int, tuple))
        or str(type(consumer).__module__).startswith("dpctl")
        or hasattr(consumer, "sycl_queue")  # the devices of dpnp
    )


def _require_no_device(device: Any) -> None:
    if device is not None:
        raise TypeError(
            "the consumer is a device, so device= says nothing; pass a list of devices as the "
            "consumer where several will do"
        )


def _read_devices(device: Any) -> list[DLDevice] | None:
    """Read ``device=``: one device or a list of them; the host is (1, 0)."""
    if device is None:
        return None
    given = imports.those_here(device) if isinstance(device, list) else [device]
    return [HOST if _is_host(one) else place(one).device.__dlpack_device__() for one in given]


def _is_host(device: Any) -> bool:
    return isinstance(device, tuple) and device == HOST


def _to_device(x: Any, device: Any, copy: bool | None, host_copy: bool) -> Any:
    source = _core.find_memory(x, copy)
    if isinstance(device, list):
        here = imports.those_here(device)
        where = [place(one).device.__dlpack_device__() for one in here]
        found = imports.plan_for_any(source, where, copy).check()
        device = here[imports.place_in_list(found)]
    else:
        target = place(device).device.__dlpack_device__()
        found = sources.plan_for(sources.facts_of(source), target, copy, ours=True).check()
    if found.route is Route.VIA_HOST and not host_copy:
        raise CopyRefusedError(f"host_copy=False, and {found.reason}")
    return as_tensor(source, device=device, copy=copy)


def _attempts(
    source: _core.TensorBase,
    who: Consumer,
    copy: bool | None,
    host_copy: bool,
    wanted: list[DLDevice] | None,
) -> Iterator[_Attempt]:
    """Yield what to offer, best first; each is planned when the one before it was refused.

    `wanted`: on these devices alone.
    """
    needed = who.copy_needed(
        contiguous=source.c_contiguous,
        has_negative_stride=source.reversed,
        readonly=source.readonly,
        address=source.ptr if who.alignment > 1 else 0,
    )
    offer = sources.facts_of(source)

    def attempt(where: DLDevice | None, found: Plan) -> _Attempt:
        if needed is None or found.error is not None or found.copies:
            return _Attempt(where, found.noting(needed))
        return _Attempt(where, _compacted(found, where, needed, copy), compact=True)

    if wanted is not None:
        plans = [replace(_plan_there(offer, who, one, copy), device=one) for one in wanted]
        attempts = [attempt(found.device, found) for found in plans]
        yield from sorted(attempts, key=lambda attempt: attempt.plan.cost)
    elif who.takes_usm(source.usm_type) and source.entry_id is not None:
        own = (int(DeviceType.ONE_API), source.entry_id) if who.any_context else None
        found = sources.plan_for(offer, own, copy, ours=who.any_context, root_only=who.root_only)
        yield attempt(None, found)
    elif who.memory == "usm":
        default = place(None).device.__dlpack_device__()
        yield attempt(None, sources.plan_for(offer, default, copy))
    if who.memory == "usm" or (wanted is not None and HOST not in wanted):
        return
    if wanted is None:
        yield attempt(HOST, sources.plan_for(offer, HOST, copy))
    if needed is None and copy is None and host_copy:
        # A consumer that refuses a view (read-only, strides) may still take a copy of its own.
        yield _Attempt(HOST, sources.plan_for(offer, HOST, True))


def _compacted(view: Plan, where: DLDevice | None, needed: str, copy: bool | None) -> Plan:
    """Plan for a consumer that needs a copy where another one would get a view."""
    if copy is False:
        reason = f"copy=False, and this consumer needs a copy: {needed}"
        return Plan(Route.REFUSE, reason, CopyRefusedError, device=view.device)
    return Plan(Route.HOST_COPY if where == HOST else Route.COPY, needed, device=view.device)


def _plan_there(offer: Source, who: Consumer, device: DLDevice, copy: bool | None) -> Plan:
    """Plan for a library that shall get the data on one device."""
    if device == HOST:
        if who.memory != "usm":
            return sources.plan_for(offer, HOST, copy)
        return Plan(Route.REFUSE, f"{who.package} takes no host memory", BufferError)
    entry = _core.entry(device[1])
    kind = sources.kind_for(offer.usm_type, by_id(entry.id), moves=offer.entry != entry.id)
    if not who.takes_usm(kind):
        reason = f"{who.package} does not take {kind!r} USM"
        return Plan(Route.REFUSE, reason, BufferError)
    if not who.any_context and not (entry.default_context and entry.root_id == entry.id):
        reason = f"{who.package} takes memory of root devices, and {device} is none"
        return Plan(Route.REFUSE, reason, BufferError)
    return sources.plan_for(offer, device, copy, ours=who.any_context, root_only=who.root_only)


def _forbidden(attempt: _Attempt, host_copy: bool) -> BufferError | None:
    """Say what forbids an attempt: the plan, or ``host_copy=False``."""
    plan = attempt.plan
    if plan.error is not None:
        return plan.error(plan.reason)
    if plan.route in (Route.HOST_COPY, Route.VIA_HOST) and not host_copy:
        why = ". ".join((plan.reason, *plan.notes))
        return CopyRefusedError(f"host_copy=False, and this consumer needs a host copy: {why}")
    return None


def _prepare(
    source: _core.TensorBase, who: Consumer, attempt: _Attempt, copy: bool | None
) -> _core.TensorBase:
    """Make what the attempt promises."""
    if attempt.device == HOST and attempt.plan.copies:
        return _core.as_host_view(_core.copy_to_host(source), None, HostView)
    if attempt.device == HOST:
        return _core.as_host_view(source, sources.root_of(source), HostView)
    if attempt.device is not None:
        wish = True if attempt.plan.copies else copy
        usm: _core.TensorBase = as_tensor(source, device=attempt.device, copy=wish)
    elif (
        copy is True
        or attempt.compact
        or (attempt.plan.copies and (source.entry_id is None or who.root_only))
    ):
        usm = sources.copy_to(source, _entry_for(source, who))
    else:  # its export makes the copy, if it is asked for: `dpnp.asarray` reads the description
        usm = as_tensor(source)
    if who.drops_stream:
        _core.synchronize(usm)
    return usm


def _entry_for(source: _core.TensorBase, who: Consumer) -> _core.Entry:
    """Say where a consumer looks for a copy, so that what it asks for then is a view."""
    if source.entry_id is None:
        return _core.default_entry()
    own = _core.entry(source.entry_id)
    if who.any_context or (own.default_context and not who.root_only):
        return own
    return _core.entry(own.root_id)


def _in_form(handed: _core.TensorBase, who: Consumer) -> Any:
    """Return what the consumer's function takes."""
    if who.takes != "producer":
        version = None if who.takes == "legacy capsule" else _core.DLPACK_VERSION
        return handed.__dlpack__(max_version=version)
    if handed.size == 0 and not who.null_data and handed.entry_id is not None:
        return _EmptyProducer(handed, _entry_for(handed, who))
    return handed


class _EmptyProducer:
    """A producer of an array without elements that has an address all the same.

    The address is of the entry where the consumer looks for it.
    """

    def __init__(self, tensor: _core.TensorBase, entry: _core.Entry) -> None:
        moves = tensor.entry_id != entry.id
        usm_type = sources.kind_for(tensor.usm_type, by_id(entry.id), moves=moves)
        anchor = _core.allocate(entry, usm_type, tensor.dtype_name, (1,), "C")
        readonly = tensor.readonly and not moves
        self._view = _core.view(anchor, 0, tensor.shape, tensor.strides, anchor, readonly)

    def __dlpack_device__(self) -> DLDevice:
        return self._view.__dlpack_device__()

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        device = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        return _core.make_capsule(self._view, versioned, device, False, null_data=False)


def explain(
    x: Any,
    consumer_or_device: Any = None,
    /,
    *,
    copy: bool | None = None,
    device: Any = None,
) -> Plan:
    """Say what an exchange would do, and why.  Touches no data.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    consumer_or_device : optional
        None: a consumer that takes what ``__dlpack__`` gives.  A consumer as for `exchange`.  A
        device in any form, or a list of acceptable ones; ``(1, 0)`` is the host.
    copy : bool, optional
        As for the exchange in question.
    device : optional
        As for `exchange`.

    Returns
    -------
    Plan
        ``str(plan)`` is a sentence; ``plan.route``, ``plan.copies`` and ``plan.reason`` its parts.
        Where several devices are acceptable, ``plan.device`` is the one that is used, and
        ``plan.candidates`` has the plan for each.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> plan = sx.explain(sx.zeros(3, usm_type="shared"), (1, 0))
    >>> str(plan)
    'a host view of the same memory: the host can reach the memory'
    >>> plan.copies
    0
    >>> plan.cost < sx.explain(sx.zeros(3, usm_type="shared"), "cpu", copy=True).cost
    True
    """
    copy = sources.check_copy(copy)
    if consumer_or_device is None or _is_device(consumer_or_device):
        _require_no_device(device)
    if type(x).__name__ == "PyCapsule":
        raise TypeError("a capsule can be used once; explain the producer instead")
    try:
        source = _core.find_memory(x, copy)
    except BufferError as error:
        return Plan(Route.REFUSE, str(error), type(error))
    offer = sources.facts_of(source)
    if consumer_or_device is None:
        return _with_notes(sources.plan_for(offer, None, copy), source, None)
    if isinstance(consumer_or_device, tuple) and consumer_or_device == HOST:
        return sources.plan_for(offer, HOST, copy)
    if isinstance(consumer_or_device, list) and _is_device(consumer_or_device):
        plans = [
            replace(sources.plan_for(offer, one, copy, ours=one != HOST), device=one)
            for one in _read_devices(consumer_or_device) or []
        ]
        return cheapest(plans)
    if _is_device(consumer_or_device):
        try:
            target = place(consumer_or_device).device
        except ValueError as error:
            return Plan(Route.REFUSE, str(error), BufferError)
        found = sources.plan_for(offer, target.__dlpack_device__(), copy, ours=True)
        return _with_notes(found, source, target)
    who, _call = find_consumer(consumer_or_device)
    refusal = who.refusal(dtype=source.dtype_name, ndim=source.ndim)
    if refusal is not None:
        return Plan(Route.REFUSE, refusal, BufferError)
    wanted = _read_devices(device)
    attempts = list(_attempts(source, who, copy, True, wanted))
    found = next((one.plan for one in attempts if one.plan.error is None), attempts[-1].plan)
    if wanted is None:
        return found
    plan_of = {one.plan.device: one.plan for one in attempts}
    candidates = [plan_of[one] for one in wanted]
    return cheapest(candidates) if found.error else replace(found, candidates=tuple(candidates))


def _with_notes(found: Plan, source: _core.TensorBase, target: Device | None) -> Plan:
    """Add what the device cannot do with the dtype."""
    if target is None and source.entry_id is not None:
        target = sources.tensor_device(source)
    if target is None or target.has_fp64 or source.dtype_name not in ("float64", "complex128"):
        return found
    return found.noting(
        f"device {target.id} ({target.name}) does not compute in {source.dtype_name}: compute on "
        "the host (host_view), or convert to a narrower dtype first"
    )
