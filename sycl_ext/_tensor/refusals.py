# SPDX-License-Identifier: Apache-2.0
"""Operations that a tensor refuses, each with an error that names a replacement.

A tensor computes nothing on any device. Otherwise NumPy would compute with memory that the host can
reach, and a program that works on a CPU would fail on a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from sycl_ext._negotiation.dlpack import HOST

#: Methods of arrays that compute.
COMPUTING = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "max"),
    *("mean", "min", "prod", "round", "sort", "std", "sum", "var"),
)

#: Other attributes of arrays, and their replacements.
ELSEWHERE = {
    "__array_interface__": "x.to_numpy()",  # pillow asks for it
    "asnumpy": "x.to_numpy()",
    "clone": "x.copy()",
    "copy_": "x.copy_from(array)",
    "cpu": "x.to_numpy(), or sycl_ext.host_view(x)",
    "cuda": "x.to_device(device); sycl_ext.devices() lists the SYCL devices",
    "contiguous": "x.copy()",
    "ctypes": "x.ptr",  # safetensors asks for it
    "data": "x.ptr, or sycl_ext.host_view(x)",
    "data_ptr": "x.ptr",
    "detach": "x[...]",
    "dim": "x.ndim",
    "element_size": "x.itemsize",
    "expand_dims": "x[None]",
    "fill_": "x.fill(number)",
    "flags": "x.c_contiguous, x.f_contiguous and x.readonly",
    "flatten": "x.reshape(-1).copy()",
    "get": "x.to_numpy()",
    "is_contiguous": "x.c_contiguous",
    "mT": "x.transpose(*axes)",
    "numel": "x.size",
    "numpy": "x.to_numpy()",
    "permute": "x.transpose(*axes)",
    "ravel": "x.reshape(-1)",  # zarr asks for it
    "stride": "x.strides",
    "swapaxes": "x.transpose(*axes)",
    "to": "x.to_device(device)",
    "tobytes": "x.to_numpy().tobytes()",
    "unsqueeze": "x[None]",
    "view": "x.reshape(shape), or x.to_numpy().view(dtype)",
    "xpu": 'x.to_device("xpu")',
    "zero_": "x.fill(0)",
}

#: Protocols of arrays: `==` would have to compare the elements of such objects, and of numbers.
_OF_ARRAYS = ("__dlpack__", "__array__", "__sycl_usm_array_interface__")


def _refuse(self: Any, *_: object) -> NoReturn:
    """Refuse an operator, whatever the other operand is."""
    raise TypeError(f"a {type(self).__name__} does not support arithmetic; {_way(self, '')}")


class Refusals:
    """The operators, assignments and attributes that tensors and host views lack."""

    __slots__ = ()

    #: NumPy leaves an operation to the operand of the higher priority, so ``array + tensor`` is
    #: refused as well.
    __array_priority__ = 1e6

    if not TYPE_CHECKING:  # type checkers refuse operators that a class does not have

        def __setitem__(self, key: Any, value: Any) -> NoReturn:
            raise TypeError(
                f"a {type(self).__name__} does not support item assignment; write through the "
                "view: x[key].copy_from(array), or x[key].fill(number)"
            )

        def __delitem__(self, key: Any) -> NoReturn:
            raise TypeError(
                f"a {type(self).__name__} does not support item deletion; take the elements to "
                "keep: x[key] is a view of them"
            )

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
        of_array = any(hasattr(type(other), name) for name in _OF_ARRAYS)
        if of_array or isinstance(other, bool | int | float | complex):
            raise TypeError(
                f"a {type(self).__name__} does not support elementwise comparison; {_way(self, '')}"
            )
        return NotImplemented  # an object of another kind is not equal

    __hash__ = object.__hash__

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in (*COMPUTING, *ELSEWHERE)]


class _Missing:
    """An attribute that tensors lack: reading it raises an AttributeError.

    `Refusals` has no ``__getattr__`` in its place, because that slows down the attributes that
    tensors have, and NumPy's import of a tensor by a third.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        use = f"; use {ELSEWHERE.get(self.name, '')}"
        if "to_numpy" not in use:
            use += "; if a library needs it, pass x.to_numpy() to that library"
        if self.name in COMPUTING:
            use = f"; {_way(instance, f'.{self.name}()')}"
        raise AttributeError(f"a {owner.__name__} has no {self.name}{use}")


for _name in (*COMPUTING, *ELSEWHERE):
    setattr(Refusals, _name, _Missing(_name))


def _way(array: Any, call: str) -> str:
    """Return the calls that compute with the elements of an array (None: of any)."""
    on_host = array is not None and array.__dlpack_device__() == HOST
    on_device = "" if on_host else f"dpnp.from_dlpack(x){call} on the device, "
    return f"use an array library on its elements: {on_device}x.to_numpy(){call} on the host"
