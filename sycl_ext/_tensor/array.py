# SPDX-License-Identifier: Apache-2.0
"""`Array`, the base of `Tensor` and `HostView`: numbers, and operations that are missing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from sycl_ext import _native as _core
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._protocols.sources import tensor_device

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from sycl_ext._tensor.tensor import Tensor

_Number = TypeVar("_Number", int, float, complex)

#: Methods of other arrays that compute; errors name a replacement.
COMPUTING = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "max"),
    *("mean", "min", "prod", "round", "sort", "std", "sum", "var"),
)

#: Methods without computation, and their replacements.
ELSEWHERE = {
    "__array_interface__": "x.to_numpy()",  # pillow asks for it
    "asnumpy": "x.to_numpy()",
    "clone": "x.copy()",
    "cpu": "x.to_numpy(), or sycl_ext.host_view(x)",
    "cuda": "x.to_device(device); sycl_ext.devices() lists the SYCL devices",
    "contiguous": "x.copy()",
    "data_ptr": "x.ptr",
    "fill": "x.copy_from(numpy.asarray(value, x.dtype))",
    "flags": "x.c_contiguous, x.f_contiguous and x.readonly",
    "flatten": "x.reshape(-1).copy()",
    "get": "x.to_numpy()",
    "is_contiguous": "x.c_contiguous",
    "numpy": "x.to_numpy()",
    "permute": "x.transpose(*axes)",
    "ravel": "x.reshape(-1)",
    "to": "x.to_device(device)",
    "tobytes": "x.to_numpy().tobytes()",
    "unsqueeze": "x[None]",
    "view": "x.reshape(shape), or x.to_numpy().view(dtype)",
    "xpu": 'x.to_device("xpu")',
}

#: Binary operators, as in the name of the method, and their signs.
BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "matmul": "@",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod()",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
}
UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
#: Comparisons, with the method of the other operand; Python swaps the operands of `1 < x`.
ORDER = {
    "lt": ("< or >", "gt"),
    "gt": ("< or >", "lt"),
    "le": ("<= or >=", "ge"),
    "ge": ("<= or >=", "le"),
}


class _Missing:
    """A missing attribute; its error names a replacement.

    ``__getattr__`` would make each call of a method, such as NumPy's of ``__dlpack__``, slower.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        what = f"a {owner.__name__} has no {self.name}"
        if self.name in ELSEWHERE:
            raise AttributeError(f"{what}; use {ELSEWHERE[self.name]}")
        raise AttributeError(f"{what}, as it does not compute; {_way(instance, f'.{self.name}()')}")


class _Listed(type):
    """The metaclass of a class with a ``dir`` of its own attributes."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in _HIDDEN]


class Array(_core.TensorBase, metaclass=_Listed):
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
            raise ValueError(f"item() takes a tensor of one element, and this one has {self.size}")
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
                f"the truth value of a tensor of {self.size} elements is ambiguous; look at x.size "
                "or compute any() or all() in an array library"
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
                f"only an integer tensor of 0 dimensions is an index, and this one has shape "
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
            raise CopyRefusedError(f"copy=False, and the conversion to {np.dtype(dtype)} is a copy")
        return array.astype(dtype)

    def _with_axes(self, axes: Sequence[int]) -> Tensor:
        """Return the view with the axes in this order; omitted axes are at their first element."""
        shape, strides = self.shape, self.strides
        lengths, steps = [shape[axis] for axis in axes], [strides[axis] for axis in axes]
        return _core.view(self, 0, lengths, steps, None)

    # ---- unsupported operations ------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if _computes_nothing(other):
            raise TypeError(
                f"a {type(self).__name__} does not compute, and so compares no elements; "
                f"{_way(self, '')}"
            )
        return NotImplemented  # only a NumPy array compares elements

    __hash__ = _core.TensorBase.__hash__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} does not support item assignment; write through the view: "
            "x[key].copy_from(array), where a number is numpy.asarray(number, x.dtype)"
        )

    def __dir__(self) -> list[str]:
        return dir(type(self))


def _computes_nothing(operand: object) -> bool:
    """Whether an operand is an array of ours or a number of Python (NumPy's may be subclasses)."""
    return isinstance(operand, Array) or type(operand) in (bool, int, float, complex)


def _operator(name: str, sign: str, reflected: str = "") -> tuple[str, Callable[..., Any]]:
    """Return the method of an operator, which computes only if the other operand does.

    `reflected` is the method of the other operand; it is empty if Python has called that already.
    """

    def method(self: Array, *operands: Any) -> Any:
        if reflected and not _computes_nothing(operands[0]):
            theirs = getattr(type(operands[0]), reflected, None)
            result = theirs(operands[0], self, *operands[1:]) if theirs else NotImplemented
            if result is not NotImplemented:
                return result
        raise TypeError(
            f"a {type(self).__name__} does not compute, and so has no operator {sign}; "
            f"{_way(self, '')}"
        )

    method.__name__, method.__qualname__ = name, f"Array.{name}"
    return name, method


_OPERATORS = dict(
    [
        *(_operator(f"__{name}__", sign, f"__r{name}__") for name, sign in BINARY.items()),
        *(_operator(f"__r{name}__", sign) for name, sign in BINARY.items()),
        *(_operator(f"__{name}__", sign) for name, sign in UNARY.items()),
        *(_operator(f"__{name}__", sign, f"__{other}__") for name, (sign, other) in ORDER.items()),
    ]
)
_HIDDEN = frozenset((*COMPUTING, *ELSEWHERE, *_OPERATORS))

for _name in (*COMPUTING, *ELSEWHERE):
    setattr(Array, _name, _Missing(_name))
for _name, _method in _OPERATORS.items():
    setattr(Array, _name, _method)


def _python_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in a dtype that NumPy converts to Python numbers.

    NumPy does not convert those of ml_dtypes (bfloat16, float8); float64 has each of their values.
    """
    return array if array.dtype.kind in "biufc" else array.astype("float64")


def _number_of(tensor: _core.TensorBase, kind: Callable[[Any], _Number]) -> _Number:
    """Convert as NumPy does; NumPy 2 refuses arrays with dimensions, or warns."""
    name = getattr(kind, "__name__", "")
    if tensor.size != 1:
        raise TypeError(f"{name}() takes a tensor of one element, and this one has {tensor.size}")
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
    return _core.as_ndarray(seen, True)


def _element_of(tensor: _core.TensorBase) -> NDArray[Any]:
    """Return the only element as a 0-dimensional array."""
    return _array_of(tensor).reshape(())


def _way(array: _core.TensorBase | None, call: str) -> str:
    """Return the libraries that can compute on the memory of an array; None: of any."""
    on_device = f"dpnp.from_dlpack(x){call} on the device, "
    if array is not None and array.__dlpack_device__() == HOST:
        on_device = ""
    return f"use an array library on the same memory: {on_device}x.to_numpy(){call} on the host"
