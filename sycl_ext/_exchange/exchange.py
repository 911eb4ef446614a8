# SPDX-License-Identifier: Apache-2.0
"""`exchange` and `explain`: pass any array to any consumer, and describe it in advance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

from sycl_ext import _core
from sycl_ext._debug.trace import traced
from sycl_ext._devices.device import Device
from sycl_ext._exchange.carry_out import carry_out
from sycl_ext._exchange.decisions import Decision, decide, resolve
from sycl_ext._negotiation.consumers import MAX_ALIGNMENT
from sycl_ext._negotiation.kinds import is_capsule
from sycl_ext._negotiation.rules import Plan, Route
from sycl_ext._tensor.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

_core.set_exchange_hooks(
    {"resolve": resolve, "decide": decide, "carry_out": carry_out}, MAX_ALIGNMENT
)

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
    return _core.exchange(x, consumer, copy, host_copy, device)


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
        decision: Decision = _core.decide_exchange(x, consumer_or_device, copy, host_copy, device)
    except BufferError as error:  # the producer refuses
        return Plan(Route.REFUSE, str(error), type(error))
    return decision.plan
