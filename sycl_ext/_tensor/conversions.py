# SPDX-License-Identifier: Apache-2.0
"""`Array`, the base of `Tensor` and `HostView`: conversions to numbers, text and arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._protocols.tensors import tensor_device
from sycl_ext._tensor.refusals import Refusals

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from sycl_ext._tensor.tensor import Tensor

_Number = TypeVar("_Number", int, float, complex)


class Array(Refusals, _core.TensorBase):
    """A tensor or a host view: it stands for numbers, and computes nothing.

    Without the methods for numbers Python interprets the buffer of a tensor as text: ``int()`` of
    the byte 53 is 5. Each of them waits for pending work on the tensor.
    """

    __slots__ = ()

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
                f"NumPy cannot reach {self.usm_type!r} USM of {tensor_device(self)!r}; make the "
                "copy visible with .to_numpy() or sycl_ext.host_view(x), or allocate with "
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

    def _with_axes(self, axes: Sequence[int]) -> Tensor:
        """Return the view with the axes in this order; omitted axes are at their first element."""
        shape, strides = self.shape, self.strides
        lengths, steps = [shape[axis] for axis in axes], [strides[axis] for axis in axes]
        return _core.view(self, 0, lengths, steps)


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
