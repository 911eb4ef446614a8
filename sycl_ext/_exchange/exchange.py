# SPDX-License-Identifier: Apache-2.0
"""`exchange` and `explain`: pass any array to any consumer, and describe it in advance."""

from typing import TYPE_CHECKING, Any, Literal, overload

from sycl_ext import _core
from sycl_ext._exchange.decisions import Decision, decide, read_target
from sycl_ext._exchange.run import run_attempts
from sycl_ext._negotiation.rules import Plan, Route
from sycl_ext._negotiation.usm_types import UsmType
from sycl_ext._protocols.trace import traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sycl_ext._exchange.consumer_types import (
        ADevice,
        Library,
        NumPyModule,
        Result,
        TensorModule,
        TheHost,
    )
    from sycl_ext._tensor.host_view import HostView
    from sycl_ext._tensor.tensor import Tensor

_core.set_exchange_hooks(
    {"read_target": read_target, "decide": decide, "run_attempts": run_attempts}
)

if TYPE_CHECKING:
    # The function of the core, with the result for each kind of consumer; the stub lacks these.
    @overload
    def exchange(
        x: Any,
        consumer: Literal["numpy"] | NumPyModule,
        /,
        *,
        copy: bool | None = None,
        host_copy: bool = True,
        device: Any = None,
    ) -> NDArray[Any]: ...
    @overload
    def exchange(
        x: Any,
        consumer: Library[Result] | TensorModule[Result] | Callable[[Any], Result],
        /,
        *,
        copy: bool | None = None,
        host_copy: bool = True,
        device: Any = None,
    ) -> Result: ...
    @overload
    def exchange(
        x: Any,
        consumer: TheHost,
        /,
        *,
        copy: bool | None = None,
        host_copy: bool = True,
        device: None = None,
        usm_type: None = None,
    ) -> HostView: ...
    @overload
    def exchange(
        x: Any,
        consumer: ADevice,
        /,
        *,
        copy: bool | None = None,
        host_copy: bool = True,
        device: Any = None,
        usm_type: UsmType | None = None,
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
        usm_type: UsmType | None = None,
    ) -> Any: ...
    def exchange(
        x: Any,
        consumer: Any,
        /,
        *,
        copy: bool | None = None,
        host_copy: bool = True,
        device: Any = None,
        usm_type: UsmType | None = None,
    ) -> Any:
        """Pass an array to a consumer, in the best form that it accepts."""

else:
    exchange = traced(_core.exchange)


def explain(
    x: Any,
    consumer_or_device: Any = None,
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
    usm_type: UsmType | None = None,
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
    copy, host_copy, device, usm_type : optional
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
    'a host view of the same memory: the host can access the memory'
    >>> plan.copies
    0
    >>> plan.cost < sx.explain(sx.zeros(3, usm_type="shared"), "cpu", copy=True).cost
    True
    """
    if _core.is_capsule(x):
        raise TypeError("a capsule can be consumed only once; pass its producer")
    try:
        decision: Decision = _core.decide_exchange(
            x, consumer_or_device, copy, host_copy, device, usm_type
        )
    except BufferError as error:  # the producer refuses
        return Plan(Route.REFUSE, str(error), type(error))
    return decision.plan
