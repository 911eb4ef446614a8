# SPDX-License-Identifier: Apache-2.0
"""`Views`, the common base of `Tensor` and `HostView`: indexing, copies and conversions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.arguments import Shape, check_flag
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._protocols.tensors import compact_strides, tensor_device
from sycl_ext._tensor import filling, indexing
from sycl_ext._tensor.async_copy import AsyncCopy
from sycl_ext._tensor.refusals import Refusals

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Self

    from sycl_ext._tensor.argument_types import Number

_Number = TypeVar("_Number", int, float, complex)


class Views(Refusals, _core.TensorBase):
    """A strided view of memory, with views of it, copies and conversions.

    Without the methods for numbers Python interprets the buffer of a tensor as text: ``int()`` of
    the byte 53 is 5. Each of them waits for pending work on the tensor.
    """

    __slots__ = ()

    def copy(self, order: Literal["C", "F"] = "C") -> Self:
        """Return a contiguous, writable copy."""
        raise NotImplementedError

    def _view(
        self,
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int],
        *,
        readonly: bool | None = None,
    ) -> Self:
        """Return a view of the same class; `readonly` None: as it is."""
        return _core.view(self, offset, shape, strides, readonly)

    def _with_axes(self, axes: Sequence[int]) -> Self:
        return self._view(0, *indexing.with_axes(self.shape, self.strides, axes))

    # ---- views -----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Self:
        """Return a view by basic indexing: ints, slices of any step, ``...`` and None."""
        offset, shape, strides = indexing.index_view(self.shape, self.strides, key)
        return self._view(offset, shape, strides)

    @property
    def T(self) -> Self:  # noqa: N802 (the name of the array API)
        """The view with its axes reversed."""
        return self._with_axes(range(self.ndim)[::-1])

    def transpose(self, *axes: Any) -> Self:
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

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
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

    def reshape(self, shape: Shape, /, *more: SupportsIndex) -> Self:
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

    def as_readonly(self) -> Self:
        """Return a read-only view."""
        return self._view(0, self.shape, self.strides, readonly=True)

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

    @overload
    def copy_from(self, obj: Any, /, *, wait: Literal[True] = True) -> Self: ...
    @overload
    def copy_from(self, obj: Any, /, *, wait: Literal[False]) -> AsyncCopy[Self]: ...
    @overload
    def copy_from(self, obj: Any, /, *, wait: bool) -> Self | AsyncCopy[Self]: ...
    def copy_from(self, obj: Any, /, *, wait: bool = True) -> Any:
        """Copy the elements of `obj` into this tensor.

        Parameters
        ----------
        obj : array or number
            A tensor, a DLPack producer, a buffer, or any other object that `as_tensor` takes, on
            any device. It must have the same dtype, and a shape that can be broadcast to the shape
            of this tensor. A number is copied into all elements, as by ``fill``.
        wait : bool
            If False, return before the copy is done. `obj` is kept alive, and must not be written
            to until the copy is done.

        Returns
        -------
        Tensor, HostView or AsyncCopy
            This object; with ``wait=False`` an `AsyncCopy`, which returns it from ``result()``.

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
        self._require_writable()
        if filling.is_number(obj):
            obj = filling.element_of(obj, self.dtype)
        source = _core.find_memory(obj)
        if source.dtype_name != self.dtype_name:
            raise TypeError(
                f"cannot copy {source.dtype_name} into a {self.dtype_name} tensor; convert it "
                f"first: in NumPy with .astype({self.dtype_name!r}), in torch with .to(dtype)"
            )
        strides = indexing.broadcast_strides(source.shape, source.strides, self.shape)
        spread = _core.view(source, 0, self.shape, strides)
        if not wait:
            return AsyncCopy(_core.begin_copy(self, spread), lambda: self)
        _core.copy_elements(self, spread)
        return self

    def fill(self, value: Number, /) -> Self:
        """Write one number into all elements.

        Parameters
        ----------
        value : bool, int, float or complex
            A number of Python or NumPy that the dtype holds.

        Returns
        -------
        Tensor or HostView
            This object.

        Raises
        ------
        BufferError
            As for `copy_from`.
        TypeError
            If the dtype has no numbers of this kind, such as int32 and 1.5.
        ValueError
            If the number is out of the range of the dtype.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> t = sx.zeros((2, 2), "int32")
        >>> t[0].fill(7).tolist(), t.tolist()
        ([7, 7], [[7, 7], [0, 0]])
        """
        self._require_writable()
        filling.fill(self, value)
        return self

    def _require_writable(self) -> None:
        if self.readonly:
            raise BufferError("cannot copy into a read-only tensor; copy into a writable one")

    def __copy__(self) -> Self:
        """Return a compact, writable copy with the axes in the same order in memory."""
        if self.c_contiguous or self.f_contiguous:
            return self.copy("C" if self.c_contiguous else "F")
        axes = indexing.memory_axes(self.shape, self.strides)
        copied = self._with_axes(axes).copy()
        return copied._view(0, self.shape, compact_strides(self.shape, axes))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    # ---- conversions -----------------------------------------------------------------------------

    if TYPE_CHECKING:
        # The method of the core, with the class that it returns; the stub cannot name it.
        @overload
        def to_numpy(
            self, copy: bool | None = None, *, wait: Literal[True] = True
        ) -> NDArray[Any]: ...
        @overload
        def to_numpy(
            self, copy: bool | None = None, *, wait: Literal[False]
        ) -> AsyncCopy[NDArray[Any]]: ...
        @overload
        def to_numpy(
            self, copy: bool | None = None, *, wait: bool = True
        ) -> NDArray[Any] | AsyncCopy[NDArray[Any]]: ...
        def to_numpy(self, copy: bool | None = None, *, wait: bool = True) -> Any:
            """Return the elements as a ``numpy.ndarray``."""

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        ValueError
            If the number of elements is not one.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.zeros((1, 1), "int8").item()
        0
        """
        if self.size != 1:
            raise ValueError(
                f"item() requires a tensor of one element, but this one has {self.size}"
            )
        return _python_numbers(_element_of(self)).item()

    def tolist(self) -> Any:
        """Return the elements as Python numbers in nested lists, or a number for 0 dimensions.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.zeros((2, 1), "int8").tolist()
        [[0], [0]]
        """
        return _python_numbers(_array_of(self)).tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth value of a tensor of {self.size} elements is ambiguous; use x.size, "
                "or any() or all() of an array library"
            )
        return bool(_element_of(self))

    def __int__(self) -> int:
        return _number_of(self, int)

    def __float__(self) -> float:
        return _number_of(self, float)

    def __complex__(self) -> complex:
        return _number_of(self, complex)

    def __format__(self, format_spec: str) -> str:
        if format_spec and not self.shape:
            return format(self.item(), format_spec)
        try:
            return format(str(self), format_spec)
        except ValueError as error:
            raise TypeError(
                f"a {type(self).__name__} of shape {self.shape} is formatted as text: {error}; "
                "format a number of it, such as x.item() or one of x.tolist()"
            ) from None

    def __index__(self) -> int:
        if self.ndim != 0:
            raise TypeError(
                "only a 0-dimensional integer tensor can be an index, but this one has shape "
                f"{self.shape}; pass int(x)"
            )
        return operator.index(_element_of(self))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if not self.host_accessible:
            raise TypeError(
                f"NumPy cannot access {self.usm_type!r} USM of {tensor_device(self)!r}; make the "
                "copy explicit with .to_numpy() or sycl_ext.host_view(x), or allocate with "
                "usm_type='shared'"
            )
        array = self.to_numpy(copy=copy)
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array
        if copy is False:
            raise CopyRefusedError(
                f"copy=False, but converting a {type(self).__name__} of {array.dtype} to "
                f"{np.dtype(dtype)} requires a copy; pass copy=None, or omit dtype"
            )
        return array.astype(dtype)

    # ---- a sequence of its first axis ------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-dimensional tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object, /) -> bool:
        # Python would compare the views of `__iter__` by identity, which is always False.
        raise TypeError(
            f"a {type(self).__name__} does not support 'in'; use: value in x.to_numpy()"
        )


def _python_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in a dtype that NumPy converts to Python numbers.

    NumPy does not convert those of ml_dtypes (bfloat16, float8); float64 has each of their values.
    """
    return array if array.dtype.kind in "biufc" else array.astype("float64")


def _number_of(tensor: _core.TensorBase, kind: Callable[[Any], _Number]) -> _Number:
    """Convert as NumPy does; NumPy 2 refuses arrays with dimensions, or warns."""
    name = getattr(kind, "__name__", "")
    if tensor.size != 1:
        raise TypeError(
            f"{name}() requires a tensor of one element, but this one has {tensor.size}"
        )
    array = _array_of(tensor)
    try:
        return kind(array)
    except TypeError as error:
        if not array.shape:
            raise
        raise TypeError(f"{name}(x): {error}; write x.item()") from None


def _array_of(tensor: _core.TensorBase) -> NDArray[Any]:
    """Return the tensor as an array, after pending work on it."""
    seen = tensor if tensor.host_accessible else _core.copy_to_host(tensor)
    return _core.as_ndarray(seen, wait=True)


def _element_of(tensor: _core.TensorBase) -> NDArray[Any]:
    """Return the only element as a 0-dimensional array."""
    return _array_of(tensor).reshape(())
