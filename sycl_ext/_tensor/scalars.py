# SPDX-License-Identifier: Apache-2.0
"""Conversion of tensors to Python numbers and lists of numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sycl_ext import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scalars"]

_Number = TypeVar("_Number", int, float, complex)


class Scalars:
    """Number conversions for a class derived from ``TensorBase``.

    Without these methods Python interprets the buffer of a tensor as text: ``int()`` of the byte 53
    is 5. Each of them waits for pending work on the tensor, and copies at most one element.
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
        size = _size_of(self)
        if size != 1:
            raise ValueError(f"item() takes a tensor of one element, and this one has {size}")
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
        size = _size_of(self)
        if size != 1:
            raise ValueError(
                f"the truth value of a tensor of {size} elements is ambiguous; look at x.size, or "
                "compute any() or all() in an array library"
            )
        return bool(_element_of(self))

    def __int__(self) -> int:
        return _number_of(self, int)

    def __float__(self) -> float:
        return _number_of(self, float)

    def __complex__(self) -> complex:
        return _number_of(self, complex)

    def __format__(self, format_spec: str) -> str:
        shape = cast("_core.TensorBase", self).shape
        if format_spec and not shape:
            return format(self.item(), format_spec)
        try:
            return format(str(self), format_spec)
        except ValueError as error:
            raise TypeError(
                f"a {type(self).__name__} of shape {shape} is formatted as text, and {error}; "
                "format a number of it, such as x.item() or one of x.tolist()"
            ) from None

    def __index__(self) -> int:
        tensor = cast("_core.TensorBase", self)
        if tensor.ndim != 0:
            raise TypeError(
                f"only an integer tensor of 0 dimensions is an index, and this one has shape "
                f"{tensor.shape}; pass int(x)"
            )
        return operator.index(_element_of(self))


def _python_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in a dtype that NumPy converts to Python numbers.

    NumPy does not convert those of ml_dtypes (bfloat16, float8); float64 has each of their values.
    """
    return array if array.dtype.kind in "biufc" else array.astype("float64")


def _size_of(tensor: Scalars) -> int:
    return cast("_core.TensorBase", tensor).size


def _number_of(tensor: Scalars, kind: Callable[[Any], _Number]) -> _Number:
    """Convert as NumPy does; NumPy 2 refuses arrays with dimensions, or warns."""
    size, name = _size_of(tensor), getattr(kind, "__name__", "")
    if size != 1:
        raise TypeError(f"{name}() takes a tensor of one element, and this one has {size}")
    array = _array_of(tensor)
    try:
        return kind(array)
    except TypeError as error:
        if not array.shape:
            raise
        raise TypeError(f"{name}(x): {error}; write x.item()") from None


def _array_of(tensor: Scalars) -> NDArray[Any]:
    """Return the tensor as an array, after pending work on it."""
    source = cast("_core.TensorBase", tensor)
    if not source.host_accessible:
        source = _core.copy_to_host(source)
    return _core.as_ndarray(source)


def _element_of(tensor: Scalars) -> NDArray[Any]:
    """Return the only element as a 0-dimensional array."""
    return _array_of(tensor).reshape(())
