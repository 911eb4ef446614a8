# SPDX-License-Identifier: Apache-2.0
"""`Tensor`, and the functions that make one.

The attributes and the two DLPack methods are the core's (``src/python/tensor_object.cpp``);
decisions and conveniences are here.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy  # noqa: F401  before the core, which imports a part of it

from sycl_ext import _native as _core
from sycl_ext._debug.trace import traced
from sycl_ext._devices.device import Device
from sycl_ext._devices.placement import Placement, place
from sycl_ext._negotiation.kinds import Shape, UsmType, check_flag
from sycl_ext._negotiation.rules import kind_of_copy
from sycl_ext._protocols import imports, sources, usm_interface
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._tensor import display, indexing, pickling
from sycl_ext._tensor.array import Array
from sycl_ext._tensor.async_copy import AsyncCopy

if TYPE_CHECKING:
    from collections.abc import Iterator

    import dpctl


class Tensor(Array):
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
        return sources.tensor_device(self)

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        """The queue for work on this tensor: its own queue, or that of its device.

        Work that is submitted to it afterwards is ordered after copies started with ``wait=False``.
        Once the queue has been requested, every read of the tensor waits for it.
        """
        _core.show_queue(self)
        own = _core.own_queue(self)
        if own is None:
            return self.device.sycl_queue
        import dpctl

        return dpctl.SyclQueue(own.capsule())

    @property
    def sycl_context(self) -> dpctl.SyclContext:
        """The context that the memory is bound to."""
        return self.device.sycl_context

    # ---- views -----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        """Return a view by basic indexing: ints, slices of any step, ``...`` and None."""
        offset, shape, strides = indexing.index_view(self.shape, self.strides, key)
        return _core.view(self, offset, shape, strides, None)

    @property
    def T(self) -> Tensor:  # noqa: N802 (the name of the array API)
        """The view with its axes reversed."""
        return self._with_axes(range(self.ndim)[::-1])

    def transpose(self, *axes: Any) -> Tensor:
        """Return the view with its axes in another order.

        Parameters
        ----------
        *axes : int, or one tuple of int, optional
            The axes in their new order; negative axes count from the end. Without arguments the
            order is reversed.

        Raises
        ------
        ValueError
            If `axes` does not name each axis once.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.empty((2, 3, 4)).transpose(1, 2, 0).shape
        (3, 4, 2)
        """
        return self._with_axes(indexing.transposed_axes(self.ndim, axes))

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Tensor:
        """Return the view without axes of length 1.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes to remove. None removes all axes of length 1.

        Raises
        ------
        ValueError
            If one of them has another length.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.empty((1, 3, 1)).squeeze().shape
        (3,)
        """
        return self._with_axes(indexing.squeezed_axes(self.shape, axis))

    def reshape(self, shape: Shape, /, *more: SupportsIndex) -> Tensor:
        """Return the elements in another shape, in C order, as a view where the strides allow it.

        Parameters
        ----------
        shape : int or tuple of int
            The new lengths; one of them may be -1.

        Raises
        ------
        ValueError
            If the number of elements differs.
        """
        target = indexing.resolve_reshape(self.size, (shape, *more) if more else shape)
        view = _core.reshape(self, target)
        return self.copy().reshape(target) if view is None else view

    def as_readonly(self) -> Tensor:
        """Return a read-only view."""
        return _core.view(self, 0, self.shape, self.strides, True)

    # ---- pending work ----------------------------------------------------------------------------

    def wait(self) -> None:
        """Block until all pending work on the tensor's memory is done.

        Pending work includes copies of this package, work on the tensor's queue, and work that
        other libraries have submitted on the memory so far. Every read by the host waits for it as
        well. Ctrl-C ends the wait.

        Raises
        ------
        SyclError
            If such work has failed.

        Examples
        --------
        >>> import numpy as np, sycl_ext as sx
        >>> t = sx.zeros(3)
        >>> copy = t.copy_from(np.ones(3, "f4"), wait=False)
        >>> t.wait()
        """
        _core.synchronize(self)

    # ---- copies ----------------------------------------------------------------------------------

    def copy(self, order: Literal["C", "F"] = "C") -> Tensor:
        """Return a contiguous, writable copy on the same device, in the same kind of USM."""
        kind = kind_of_copy(self.usm_type, self.device.usm_types, moves=False)
        return _core.copy_to_entry(self, self.device._entry, kind, order, _core.own_queue(self))

    @overload
    def copy_from(self, obj: Any, /, *, wait: Literal[True] = True) -> Tensor: ...
    @overload
    def copy_from(self, obj: Any, /, *, wait: Literal[False]) -> AsyncCopy[Tensor]: ...
    @overload
    def copy_from(self, obj: Any, /, *, wait: bool) -> Tensor | AsyncCopy[Tensor]: ...
    def copy_from(self, obj: Any, /, *, wait: bool = True) -> Tensor | AsyncCopy[Tensor]:
        """Copy the elements of `obj` into this tensor.

        Parameters
        ----------
        obj : array
            A tensor, a DLPack producer, a buffer, or any other object that `as_tensor` takes, on
            any device. It must have the same dtype, and a shape that can be broadcast to the shape
            of this tensor.
        wait : bool
            If False, return before the copy is done. `obj` is kept alive, and must not be written
            to until the copy is done.

        Returns
        -------
        Tensor or AsyncCopy
            This tensor; with ``wait=False`` an `AsyncCopy`, which returns it from ``result()``.

        Raises
        ------
        BufferError
            If this tensor is read-only, or if several of its indices may share one element. That
            includes every tensor in which one axis steps between the elements of another, such as
            shape (2, 3) with strides (3, 2). Slices and transpositions of an array have no such
            axes.
        TypeError
            If the dtypes differ; dtypes are never converted silently.
        ValueError
            If the shapes do not fit.
        """
        check_flag("wait", wait)
        if self.readonly:
            raise BufferError("cannot copy into a read-only tensor; copy into one that is not")
        source = _core.find_memory(obj)
        if source.dtype_name != self.dtype_name:
            raise TypeError(
                f"cannot copy {source.dtype_name} into a {self.dtype_name} tensor; convert it "
                f"first: in NumPy with .astype({self.dtype_name!r}), in torch with .to(dtype)"
            )
        strides = indexing.broadcast_strides(source.shape, source.strides, self.shape)
        spread = _core.view(source, 0, self.shape, strides, None)
        if not wait:
            return AsyncCopy(_core.begin_copy(self, spread), lambda: self)
        _core.copy_elements(self, spread)
        return self

    def to_device(self, device: Any, /, copy: bool | None = None) -> Tensor:
        """Return the tensor on another device.

        Parameters
        ----------
        device : Device or any ``device=`` form
        copy : bool, optional
            None: a view if the memory is on that device already, otherwise one direct copy. True:
            always a copy; two copies, through the host, where necessary. False: never a copy.

        Raises
        ------
        BufferError
            If the plan refuses; the message gives the reason, and the arguments to pass.
        """
        where, allowed = place(device), check_flag("copy", copy, or_none=True)
        return imports.move(self, where, allowed)  # type: ignore[return-value]

    # ---- protocols -------------------------------------------------------------------------------

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        _core.note_offer_asked(self)
        return usm_interface.usm_interface_of(self)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return pickling.reduce(self, operator.index(protocol))

    def __copy__(self) -> Tensor:
        return pickling.copy_as_it_lies(self)  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.__copy__()

    def __repr__(self) -> str:
        return display.as_text(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-dimensional tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object, /) -> bool:
        # Python would compare the views of `__iter__` by identity, which is always False.
        raise TypeError("a tensor compares no elements; use: value in x.to_numpy()")


# ---- making tensors ------------------------------------------------------------------------------

as_tensor = traced(_core.as_tensor)
from_dlpack = traced(_core.from_dlpack)
empty = _core.empty
zeros = _core.zeros


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
        where = Placement(sources.tensor_device(source), _core.own_queue(source))
    if usm_type is None:
        usm_type = kind_of_copy(source.usm_type, where.device.usm_types)
    name = source.dtype_name if dtype is None else dtype
    return new_tensor(source.shape, name, usm_type, where, order, zero)


def new_tensor(
    shape: Any, dtype: Any, usm_type: Any, device: Any, order: Any, zero: bool
) -> Tensor:
    """Return a new tensor, for the core's `empty` and `zeros`: arguments in any of their forms."""
    if isinstance(dtype, int):
        raise TypeError(
            f"dtype is {dtype!r}, which names no dtype; the shape is one argument, a tuple: "
            f"{(shape, dtype)!r}"
        )
    lengths, name = indexing.as_shape(shape), dtype_name(dtype)
    if not isinstance(usm_type, str):
        raise TypeError(f"usm_type is {usm_type!r}; it must be 'device', 'shared' or 'host'")
    if not isinstance(order, str):
        raise TypeError(f"order is {order!r}; it must be 'C' or 'F'")
    where = device if isinstance(device, Placement) else place(device)
    return _core.allocate(where.device._entry, usm_type, name, lengths, order, where.queue, zero)
