# SPDX-License-Identifier: Apache-2.0
"""`Tensor`, and the functions that make one.

The attributes and the two DLPack methods are the core's (``src/python/tensor_object.cpp``);
decisions and conveniences are here.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy  # before the core, which imports a part of it

from sycl_ext import _core
from sycl_ext._debug.trace import traced
from sycl_ext._devices.device import Device
from sycl_ext._devices.placement import Placement, place
from sycl_ext._negotiation.arguments import check_order, check_word, is_int
from sycl_ext._negotiation.rules import kind_of_copy
from sycl_ext._negotiation.usm_types import ALLOCATED, UsmType, check_usm_type
from sycl_ext._protocols import usm_interface
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._protocols.tensors import tensor_device
from sycl_ext._tensor import display, filling, indexing, pickling
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
        import dpctl

        return dpctl.SyclQueue(own.capsule())

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
        return _core.copy_to_entry(self, self.device._entry, kind, order, _core.own_queue(self))

    # ---- protocols -------------------------------------------------------------------------------

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return usm_interface.usm_interface_of(self)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return pickling.reduce(self, operator.index(protocol))

    def __copy__(self) -> Tensor:
        return pickling.copy_as_it_lies(self)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return display.as_text(self)


# ---- making tensors ------------------------------------------------------------------------------

as_tensor = traced(_core.as_tensor)
from_dlpack = traced(_core.from_dlpack)
empty = _core.empty
zeros = _core.zeros
full = filling.full
ones = filling.ones


def empty_like(
    x: Any,
    /,
    dtype: Any = None,
    *,
    usm_type: UsmType | None = None,
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new, uninitialised tensor with the shape, dtype and device of `x`.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    dtype, usm_type, device : optional
        As for `empty`; None takes the value of `x`. For memory that belongs to no device this is
        device USM of the default device.
    order : {"C", "F"}

    Raises
    ------
    MemoryError
        If there is not enough memory.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> t = sx.zeros((2, 3), "int8", usm_type="host")
    >>> like = sx.empty_like(t, "float64")
    >>> like.shape, like.dtype_name, like.usm_type
    ((2, 3), 'float64', 'host')
    """
    return _new_like(x, dtype, usm_type, device, order, zero=False)


def zeros_like(
    x: Any,
    /,
    dtype: Any = None,
    *,
    usm_type: UsmType | None = None,
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new tensor of zeros with the shape, dtype and device of `x`.

    Parameters
    ----------
    x, dtype, usm_type, device, order
        As for `empty_like`, which raises the same errors.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> sx.zeros_like(np.ones((2, 2), "int32")).tolist()
    [[0, 0], [0, 0]]
    """
    return _new_like(x, dtype, usm_type, device, order, zero=True)


def _new_like(x: Any, dtype: Any, usm_type: Any, device: Any, order: Any, *, zero: bool) -> Tensor:
    source = _core.find_memory(x)
    where = place(device)
    if device is None and source.entry_id is not None:
        where = Placement(tensor_device(source), _core.own_queue(source))
    if usm_type is None:
        usm_type = kind_of_copy(source.usm_type, where.device.usm_types)
    name = source.dtype_name if dtype is None else dtype
    return new_tensor(source.shape, name, usm_type, where, order, zero)


def new_tensor(
    shape: Any, dtype: Any, usm_type: Any, device: Any, order: Any, zero: bool
) -> Tensor:
    """Return a new tensor, for the core's `empty` and `zeros`: arguments in any of their forms."""
    if is_int(dtype) or isinstance(dtype, (bool, numpy.bool_)):
        raise TypeError(
            f"dtype is {dtype!r}, which is not a dtype; the shape is one argument, a tuple: "
            f"{(shape, dtype)!r}"
        )
    lengths, name = indexing.as_shape(shape), dtype_name(dtype)
    check_word("usm_type", usm_type, ALLOCATED)
    check_order(order)
    where = device if isinstance(device, Placement) else place(device)
    entry, queue = where.device._entry, where.queue
    return _core.allocate(entry, usm_type, name, lengths, order, queue, zero)
