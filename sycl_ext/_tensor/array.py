# SPDX-License-Identifier: Apache-2.0
"""`Array`, the base of `Tensor` and `HostView`: numbers, and operations that are missing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._protocols.sources import tensor_device

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from sycl_ext._tensor.tensor import Tensor

_Number = TypeVar("_Number", int, float, complex)

#: Methods of other arrays that compute.
COMPUTING = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "max"),
    *("mean", "min", "prod", "round", "sort", "std", "sum", "var"),
)

#: Other attributes of arrays, and their replacements.
ELSEWHERE = {
    "__array_interface__": "x.to_numpy()",  # pillow asks for it
    "asnumpy": "x.to_numpy()",
    "clone": "x.copy()",
    "cpu": "x.to_numpy(), or sycl_ext.host_view(x)",
    "cuda": "x.to_device(device); sycl_ext.devices() lists the SYCL devices",
    "contiguous": "x.copy()",
    "data_ptr": "x.ptr",
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


class _Missing:
    """An attribute that tensors lack; reading it raises an AttributeError that names a replacement.

    With ``__getattr__`` in its place each attribute of a tensor would be slower to read, and
    NumPy's import of a tensor would take a third longer.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        use = f"; use {ELSEWHERE.get(self.name, '')}"
        if self.name in COMPUTING:
            use = f", as it does not compute; {_way(instance, f'.{self.name}()')}"
        raise AttributeError(f"a {owner.__name__} has no {self.name}{use}")


def _refuse(self: Array, *_: object) -> NoReturn:
    """Refuse an operator, whatever the other operand is."""
    raise TypeError(f"a {type(self).__name__} does not compute; {_way(self, '')}")


class Array(_core.TensorBase):
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

    #: The operators of NumPy's arrays leave an operation to the class of the higher priority, so
    #: ``array + tensor`` is refused here as well. Otherwise NumPy would compute it where the host
    #: can reach the memory, and the same program would fail on a GPU.
    __array_priority__ = 1e6

    if not TYPE_CHECKING:  # type checkers refuse operators that a class does not have
        __neg__ = __pos__ = __invert__ = __abs__ = _refuse
        __lt__ = __le__ = __gt__ = __ge__ = _refuse
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
        __matmul__ = __rmatmul__ = __truediv__ = __rtruediv__ = _refuse
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuse
        __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, _NUMBERS) or any(hasattr(type(other), name) for name in _OF_ARRAYS):
            raise TypeError(
                f"a {type(self).__name__} does not compute, and so compares no elements; "
                f"{_way(self, '')}"
            )
        return NotImplemented  # of another kind: not equal

    __hash__ = _core.TensorBase.__hash__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} does not support item assignment; write through the view: "
            "x[key].copy_from(array), or x[key].fill(number)"
        )

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in (*COMPUTING, *ELSEWHERE)]


#: Numbers, and the protocols of arrays: values with elements that `==` would have to compare.
_NUMBERS = (bool, int, float, complex)
_OF_ARRAYS = ("__dlpack__", "__array__", "__sycl_usm_array_interface__")

for _name in (*COMPUTING, *ELSEWHERE):
    setattr(Array, _name, _Missing(_name))


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
    """Return the calls that compute with the elements of an array; None: of any."""
    on_device = f"dpnp.from_dlpack(x){call} on the device, "
    if array is not None and array.__dlpack_device__() == HOST:
        on_device = ""
    return f"use an array library on its elements: {on_device}x.to_numpy(){call} on the host"
