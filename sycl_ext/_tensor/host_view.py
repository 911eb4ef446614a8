# SPDX-License-Identifier: Apache-2.0
"""`HostView`: the memory of any tensor, for consumers of host memory."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, cast

from sycl_ext import _core
from sycl_ext._negotiation.arguments import check_order
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._protocols.plans import plan_for
from sycl_ext._protocols.producer_facts import ProducerFacts, facts_of
from sycl_ext._protocols.tensors import strong
from sycl_ext._protocols.trace import note, traced
from sycl_ext._tensor import pickling
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.views import Views

if TYPE_CHECKING:
    from sycl_ext._negotiation.usm_types import UsmType
    from sycl_ext._tensor.tensor import Tensor


class HostView(Views):
    """A producer of host memory, ``(1, 0)``, over the memory of a tensor or of any producer.

    NumPy, PyTorch, JAX and similar libraries refuse a kDLOneAPI array without asking for a host
    copy, but they accept a host view. It shares the memory where the host can access it and no
    stride is negative; otherwise it is one copy, in page-aligned memory.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> t = sx.zeros(3, usm_type="shared")
    >>> view = sx.host_view(t)
    >>> view.is_copy, np.from_dlpack(view).ctypes.data == t.ptr
    (False, True)
    """

    __module__ = "sycl_ext"

    __slots__ = ()

    @property
    def device(self) -> NoReturn:
        """A host view is on no SYCL device: an AttributeError."""
        raise AttributeError(
            "a HostView has no device, because the host is not a SYCL device; "
            "x.__dlpack_device__() is (1, 0), and x.to_device(device) is a Tensor"
        )

    @property
    def is_copy(self) -> bool:
        """Whether the elements are a copy of the source."""
        return self.is_host_copy

    def copy(self, order: Literal["C", "F"] = "C") -> HostView:
        """Return a contiguous, writable copy in host memory."""
        if check_order(order) == "F":
            return self.T.copy().T
        return cast("HostView", _core.as_host_view(_core.copy_to_host(self)))

    if TYPE_CHECKING:
        # The method of the core, with the class that it returns; the stub cannot name it.
        def to_device(
            self,
            device: Any,
            /,
            *,
            stream: Any = None,
            copy: bool | None = None,
            usm_type: UsmType | None = None,
        ) -> Tensor:
            """Return the tensor on another device."""

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return pickling.reduce(self, operator.index(protocol), to_host=True)

    def __repr__(self) -> str:
        what = "copy" if self.is_copy else "view"
        of = "" if self.base is None else f" of {describe(self.base)}"
        return f"HostView(shape={self.shape}, dtype={self.dtype_name}, {what}{of})"


if TYPE_CHECKING:
    # The function of the core, with the class that it returns; the stub cannot name it.
    def host_view(x: Any, /, *, copy: bool | None = None) -> HostView:
        """Return a producer of host memory over `x`."""

else:
    host_view = traced(_core.host_view)


def make_host_view(x: Any, copy: bool | None) -> HostView:
    """Return a host view of any object, for the core's `host_view`."""
    x = strong(x)
    may_be_it = isinstance(x, HostView) and copy is not True and not x.reversed
    if may_be_it and facts_of(x) & ProducerFacts.IS_TENSOR:
        return x  # type: ignore[no-any-return]
    source = _core.find_memory(x, copy=copy)
    plan = plan_for(_core.array_facts(source), HOST, copy).check()
    note(plan.route.value, source, plan.copies)
    base = None if copy is True or _core.is_capsule(x) else x
    if copy is True or plan.copies != 0:
        source = _core.copy_to_host(source)
    return cast("HostView", _core.as_host_view(source, source=base))
