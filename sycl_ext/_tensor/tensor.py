# SPDX-License-Identifier: Apache-2.0
"""`Tensor`: USM with a device, on top of `Views`.

Its attributes and the two DLPack methods are in C++ (``src/python/tensor_object.cpp``).
"""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast

from sycl_ext import _core
from sycl_ext._devices import companion
from sycl_ext._devices.device import Device
from sycl_ext._negotiation.arguments import check_order
from sycl_ext._negotiation.rules import kind_of_copy
from sycl_ext._negotiation.usm_types import UsmType, check_usm_type
from sycl_ext._protocols import usm_interface
from sycl_ext._protocols.tensors import tensor_device
from sycl_ext._tensor import display, pickling
from sycl_ext._tensor.views import Views

if TYPE_CHECKING:
    import dpctl


class Tensor(Views):
    """A typed, strided view of USM that every DLPack library can import.

    Tensors are made by `empty`, `zeros`, `from_dlpack` and `as_tensor`.  A tensor never changes
    its memory, shape or dtype; views share the memory and keep it alive.

    A tensor computes nothing: operators refuse, on every device, and their error names the calls of
    an array library. ``t == t`` is True; with a number or another array ``==`` refuses as well. To
    compare elements write, for example, ``numpy.array_equal(a.to_numpy(), b.to_numpy())``. Tensors
    hash by identity.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> t = sx.zeros((2, 3), "int32", usm_type="shared")
    >>> np.from_dlpack(sx.host_view(t))[0, 0] = 7
    >>> t.to_numpy()
    array([[7, 0, 0],
           [0, 0, 0]], dtype=int32)
    """

    __module__ = "sycl_ext"

    __slots__ = ()

    # ---- where it is -----------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """The entry of the device table that the memory is bound to."""
        return tensor_device(self)

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        """The queue for work on this tensor: its own queue, or that of its device.

        Work that is submitted to it afterwards is ordered after copies started with ``wait=False``.
        While the queue is held, every read of the tensor waits for it.
        """
        shown: dpctl.SyclQueue | None = _core.show_queue(self)
        if shown is not None:
            return shown
        own = _core.own_queue(self)
        if own is None:
            return self.device.sycl_queue
        dpctl = companion.find_dpctl()
        return own if dpctl is None else dpctl.SyclQueue(own._get_capsule())

    @property
    def sycl_context(self) -> dpctl.SyclContext:
        """The context that the memory is bound to."""
        return self.device.sycl_context

    # ---- copies ----------------------------------------------------------------------------------

    def copy(self, order: Literal["C", "F"] = "C", usm_type: UsmType | None = None) -> Tensor:
        """Return a contiguous, writable copy on the same device.

        Parameters
        ----------
        order : {"C", "F"}
        usm_type : {"device", "shared", "host"}, optional
            The kind of USM of the copy; None: that of this tensor.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.zeros(3).copy(usm_type="shared").usm_type
        'shared'
        """
        kind = check_usm_type(usm_type)
        check_order(order)
        if kind is None:
            kind = kind_of_copy(self.usm_type, self.device.usm_types, moves=False)
        queue = _core.own_queue(self)
        copied = _core.copy_to_entry(self, self.device._entry, kind, order, queue)
        return cast("Tensor", copied)

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

    # ---- protocols -------------------------------------------------------------------------------

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return usm_interface.usm_interface_of(self)

    def _lent(self) -> SimpleNamespace:
        """Describe the memory to a consumer that keeps the returned object while it uses it."""
        return usm_interface.lent(self)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return pickling.reduce(self, operator.index(protocol))

    def __repr__(self) -> str:
        return display.as_text(self)
