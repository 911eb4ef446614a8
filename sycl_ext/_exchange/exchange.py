# SPDX-License-Identifier: Apache-2.0
"""`exchange` and `explain`: pass any array to any consumer, and describe it in advance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from sycl_ext import _core
from sycl_ext._debug.trace import LOGGED, note, traced
from sycl_ext._devices.device import Device
from sycl_ext._exchange.copies import check_no_copy
from sycl_ext._exchange.offers import Decision, Offer, copy_entry, decide, is_plain
from sycl_ext._negotiation.consumers import Target
from sycl_ext._negotiation.dlpack import HOST, DLDevice
from sycl_ext._negotiation.errors import NO_REFUSALS, refusal_by
from sycl_ext._negotiation.kinds import is_capsule
from sycl_ext._negotiation.rules import Plan, Route, kind_of_copy, refusal_of
from sycl_ext._protocols import sources
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.tensor import Tensor, as_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class _Library(Protocol[Result_co]):
    """A module of arrays; `exchange` returns the result of its ``from_dlpack``."""

    @property
    def from_dlpack(self) -> Callable[..., Result_co]: ...


_ADevice: TypeAlias = Device | int | tuple[int, int] | Literal["cpu", "gpu", "xpu"]


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
    consumer: _Library[Result] | Callable[[Any], Result],
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Result: ...
@overload
def exchange(
    x: Any,
    consumer: _ADevice,
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
    """Pass an array to a consumer, in the best form that it accepts.

    The array itself is tried first; a consumer that refuses it gets a host view, and then a copy. A
    library refuses with any exception. A function of yours refuses with a ``BufferError``, or with
    any exception after it has requested the memory or its device (through DLPack, the buffer
    protocol or ``__sycl_usm_array_interface__``) and has not taken it. Any other exception
    propagates, and the function is not called again.

    Arrays that are known to crash a consumer, or to make it write to read-only memory, are never
    passed to it.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    consumer : module, str, callable or device
        A module with ``from_dlpack`` (``numpy``, ``torch``, ``dpnp``, ``jax``, ...) or its name, a
        callable of one argument, or a device, for a `Tensor` on that device. A string that has the
        form of a device, such as ``"cpu"``, is a device. A list of devices is used as in
        `from_dlpack`. ``(1, 0)`` is the host, for a `HostView`.
    copy : bool, optional
        None: copy only if a view is impossible. False: never copy. True: always copy.
    host_copy : bool
        If False, refuse instead of copying to the host.
    device : optional
        The device on which the library may get the data, or a list of acceptable devices: the first
        that needs no copy is used, otherwise the first with the fewest copies. ``(1, 0)`` or
        ``torch.device("cpu")`` is the host. None: any device that the library accepts.

    Returns
    -------
    array
        The result of the consumer.

    Raises
    ------
    ExchangeError
        If the consumer refuses every form; its first exception is the ``__cause__``.
    CopyRefusedError
        If a copy is needed, with ``copy=False`` or ``host_copy=False``.

    Examples
    --------
    >>> import numpy, sycl_ext as sx
    >>> sx.exchange(sx.zeros(3, "int32"), numpy)
    array([0, 0, 0], dtype=int32)
    """
    if consumer is None:
        raise TypeError(
            "consumer is None; pass a module with from_dlpack, a callable of one argument, or a "
            "device"
        )
    decision = decide(x, consumer, copy, host_copy, device)
    who, target = decision.who, decision.target
    refused: list[Plan] = []
    refusals: list[Exception] = []
    try:
        for offer in decision.offers:
            if offer.plan.error is not None:
                refused.append(offer.plan)
                continue
            if offer.as_array and not all(map(_ran_no_code, refusals)):
                continue
            refused.clear()
            handed = _prepare(decision, offer, copy)
            if target is None:
                return handed
            try:
                result = _hand_over(target, handed, who.is_library)
            except _RefusedError as refusal:
                refusals.append(refusal.error)
                continue
            if copy is False:
                check_no_copy(result, decision.source, who.title)
            if LOGGED:
                route = f"{who.package}, {offer.plan.route.value}"
                note(route, decision.source, offer.plan.copies)
            return result
        raise _final_error(decision, refused, refusals)
    finally:
        refusals.clear()  # as in `import_slowly`


class _RefusedError(Exception):
    """A consumer refused what it was handed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _hand_over(target: Target, handed: Any, is_library: bool) -> Any:
    """Call the consumer; raises `_RefusedError` if it refuses."""
    offers: list[object] = []
    watched = handed.tensor if isinstance(handed, NativeView) else handed
    _core.watch_offer(watched, offers)
    try:
        described = target.row.described
        if described is None or not target.is_library or not is_plain(handed, target.then):
            made = target.call(handed)
        else:
            made = (described() or target.call)(handed)
        return made if target.then is None else target.finish(made)
    except NO_REFUSALS:
        raise
    except Exception as error:
        is_refusal = is_library or isinstance(error, BufferError) or _was_refused(offers)
        if not (is_refusal or _ran_no_code(error)):
            raise
        raise _RefusedError(error) from None
    finally:
        _core.watch_offer(watched, None)
        offers.clear()  # of capsules that nobody took


def _final_error(
    decision: Decision, refused: list[Plan], refusals: list[Exception]
) -> BaseException:
    """Return the error of an exchange for which every form was refused."""
    who, target = decision.who, decision.target
    if refused:
        # The best form was refused first, so its refusal is the most informative.
        plan = refusal_of(refused)
        error = (plan.error or BufferError)(plan.reason)
        error.__cause__ = refusals[0] if refusals else None
        return error
    if not who.is_library and all(map(_ran_no_code, refusals)):
        return refusals[0]
    known = f" (known limits: {who.reason})" if who.reason else ""
    consumer = target and (target.then or target.call)
    if isinstance(consumer, type):
        known = f"; {consumer.__name__} is a class: pass its library, as in exchange(x, torch)"
    return refusal_by(f"{who.title} refused {describe(decision.source)}", refusals[0], known)


def _prepare(decision: Decision, offer: Offer, copy: bool | None) -> Any:
    """Make the object of an offer, in the form that the consumer's function takes."""
    source, who, copies = decision.source, decision.who, offer.copies
    if offer.device == HOST:
        seen = _core.copy_to_host(source) if copies else source
        handed: _core.TensorBase = _core.as_host_view(seen, None if copies else source)
    elif offer.device is not None:
        asked = True if copies else False if copy is False else None
        handed = as_tensor(source, device=offer.device, copy=asked)
    elif offer.native is not None:
        made = sources.copy_to(source, copy_entry(source, who)) if copies else as_tensor(source)
        return NativeView(made, offer.native)
    elif (
        copies and (copy is True or source.usm_type == "system" or who.root_only)
    ) or offer.compact:
        handed = sources.copy_to(source, copy_entry(source, who))
    else:  # its export makes the copy if requested: `dpnp.asarray` reads the description
        handed = as_tensor(source)
    if decision.target is None:
        return handed
    if who.drops_stream and offer.device != HOST:
        _core.synchronize(handed)
    if offer.as_array or who.takes == "NumPy array":
        return np.asarray(handed)
    if who.takes == "legacy capsule":
        return handed.__dlpack__()
    if handed.size == 0 and not who.null_data and handed.entry_id is not None:
        return _EmptyProducer(handed, copy_entry(handed, who))
    return handed


def _ran_no_code(error: Exception) -> bool:
    """Whether a function of C refused its argument's type, so that no Python code has run."""
    frames, trace = 0, error.__traceback__
    while trace is not None:
        frames, trace = frames + 1, trace.tb_next
    return isinstance(error, TypeError) and frames <= _FRAMES_OF_OURS


_FRAMES_OF_OURS = 1  # `_hand_over`


def _was_refused(offers: list[object]) -> bool:
    """Whether the memory was requested, and not taken: who takes a capsule's struct renames it."""
    taken = (one is True or (is_capsule(one) and '"dltensor' not in repr(one)) for one in offers)
    return bool(offers) and not any(taken)


class NativeView:
    """A producer of memory of CUDA or HIP, for libraries without SYCL, by DLPack's names for it."""

    def __init__(self, tensor: _core.TensorBase, device: DLDevice) -> None:
        self.tensor, self.device = tensor, device

    def __dlpack_device__(self) -> DLDevice:
        _core.note_offer_asked(self.tensor)
        return self.device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: DLDevice | None = None,
        copy: bool | None = None,
    ) -> object:
        where = self.device if dl_device is None else dl_device
        return self.tensor.__dlpack__(
            stream=stream, max_version=max_version, dl_device=where, copy=copy
        )


class _EmptyProducer:
    """A producer of an array without elements that still has an address.

    The address belongs to the entry in which the consumer looks it up.
    """

    def __init__(self, tensor: _core.TensorBase, entry: _core.Entry) -> None:
        moves = tensor.entry_id != entry.id
        usm_type = kind_of_copy(tensor.usm_type, entry.usm_types, moves=moves)
        anchor = _core.allocate(entry, usm_type, tensor.dtype_name, (1,), "C")
        readonly = tensor.readonly and not moves
        self._view: Tensor = _core.view(anchor, 0, tensor.shape, tensor.strides, readonly)

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return self._view.__sycl_usm_array_interface__

    def __dlpack_device__(self) -> DLDevice:
        return self._view.__dlpack_device__()

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        device = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        return _core.make_capsule(self._view, versioned, device, False, False, None)


def explain(
    x: Any,
    consumer_or_device: Any = None,
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
) -> Plan:
    """Describe the first attempt of `exchange`, with the reason. Moves no data.

    If every attempt is known to fail, the plan is a refusal, with the error that `exchange` raises.
    A library may still refuse an attempt; `exchange` then makes the next one.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    consumer_or_device : optional
        A consumer as for `exchange`, a device in any form, or a list of acceptable devices; ``(1,
        0)`` is the host. None: a consumer that takes the result of ``__dlpack__()``.
    copy, host_copy, device : optional
        As for `exchange`.

    Returns
    -------
    Plan
        ``str(plan)`` is a sentence; ``plan.route``, ``plan.copies`` and ``plan.reason`` are its
        parts. With several acceptable devices, ``plan.device`` is the chosen one, and
        ``plan.candidates`` has the plan for each.

    Raises
    ------
    TypeError, ValueError
        In the same cases as `exchange`: a missing device, a module that cannot be imported.

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
    if is_capsule(x):
        raise TypeError("a capsule can be used once; explain the producer instead")
    try:
        decision = decide(x, consumer_or_device, copy, host_copy, device)
    except BufferError as error:  # the producer refuses
        return Plan(Route.REFUSE, str(error), type(error))
    refused = []
    for offer in decision.offers:
        if offer.plan.error is None:
            return offer.plan
        refused.append(offer.plan)
    return refusal_of(refused)
