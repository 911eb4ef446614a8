# SPDX-License-Identifier: Apache-2.0
"""Operators and methods of other array libraries that a tensor lacks; errors name a replacement.

Type checkers and ``dir`` do not see them, and `hasattr` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

from sycl_ext._negotiation.dlpack import HOST

if TYPE_CHECKING:
    from sycl_ext import _core

__all__ = ["Advice"]

#: Operators that compute, by the name of their method without underscores.
BINARY = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "matmul": "x @ y",
    "truediv": "x / y",
    "floordiv": "x // y",
    "mod": "x % y",
    "divmod": "divmod(x, y)",
    "pow": "x ** y",
    "lshift": "x << y",
    "rshift": "x >> y",
    "and": "x & y",
    "xor": "x ^ y",
    "or": "x | y",
}
#: The comparisons, with the reflected one of the other operand.
ORDERED = {
    "lt": ("x < y", "gt"),
    "le": ("x <= y", "ge"),
    "gt": ("x > y", "lt"),
    "ge": ("x >= y", "le"),
}
UNARY = {"neg": "-x", "pos": "+x", "abs": "abs(x)", "invert": "~x"}

#: Methods that compute.
COMPUTING = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "max"),
    *("mean", "min", "prod", "round", "sort", "std", "sum", "var"),
)

#: Methods without computation, and their replacements.
ELSEWHERE = {
    "asnumpy": "x.to_numpy()",
    "clone": "x.copy()",
    "cpu": "x.to_numpy(), or sycl_ext.host_view(x)",
    "cuda": "x.to_device(device); sycl_ext.devices() lists the SYCL devices",
    "data_ptr": "x.ptr",
    "fill": "x.copy_from(numpy.asarray(value, x.dtype))",
    "flatten": "x.reshape(-1).copy()",
    "get": "x.to_numpy()",
    "numpy": "x.to_numpy()",
    "ravel": "x.reshape(-1)",
    "to": "x.to_device(device)",
    "xpu": 'x.to_device("xpu")',
}


class ListedType(type):
    """The metaclass of a class with a ``dir`` of its own attributes."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if not isinstance(_found(cls, name), _Absent)]


class Advice:
    """Errors of a class derived from ``TensorBase`` for operators and methods that it lacks."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [
            name for name in super().__dir__() if not isinstance(_found(type(self), name), _Absent)
        ]


class _Absent:
    """A missing name; its error names a replacement."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<absent: {ELSEWHERE.get(self.name, 'a tensor does not compute')}>"

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        what = f"a {owner.__name__} has no {self.name}"
        if self.name in ELSEWHERE:
            raise AttributeError(f"{what}; use {ELSEWHERE[self.name]}")
        raise AttributeError(f"{what}, as it does not compute; {_way(instance, f'.{self.name}()')}")


def _found(cls: type, name: str) -> Any:
    """Look up a name in a class, as Python does for operators."""
    return next((vars(one)[name] for one in cls.__mro__ if name in vars(one)), None)


def _way(instance: Any, call: str = "") -> str:
    """Return the libraries that can compute on the memory of a tensor."""
    on_host = f"x.to_numpy(){call} on the host"
    if instance is not None and cast("_core.TensorBase", instance).__dlpack_device__() == HOST:
        return f"use an array library on the same memory: {on_host}"
    return (
        f"use an array library on the same memory: dpnp.from_dlpack(x){call} on the device, "
        f"{on_host}"
    )


def _no_operator(instance: Any, expression: str) -> TypeError:
    kind = type(instance).__name__
    return TypeError(f"a {kind} does not compute, so there is no {expression}; {_way(instance)}")


def _binary(expression: str, reflected: str) -> Callable[[Any, Any], Any]:
    def refuse(self: Any, other: Any, *_: Any) -> Any:
        # A NumPy array or another array may support the operation with a tensor. It is asked here,
        # because Python's own error has no advice.
        method = None if isinstance(other, Advice) else _found(type(other), reflected)
        answer = NotImplemented if method is None else method(other, self)
        if answer is NotImplemented:
            raise _no_operator(self, expression)
        return answer

    return refuse


def _equal(expression: str, same: bool) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if other is self:
            return same
        if isinstance(other, (Advice, int, float, complex)):
            raise _no_operator(self, expression)
        return NotImplemented  # only a NumPy array compares elements

    return compare


def _last(expression: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_: Any) -> NoReturn:
        raise _no_operator(self, expression)

    return refuse


def _set_item(self: Any, *_: Any) -> NoReturn:
    raise TypeError(
        f"a {type(self).__name__} does not support item assignment; write through the view: "
        "x[key].copy_from(array), where a number is numpy.asarray(number, x.dtype)"
    )


def _add_to(cls: type) -> None:
    for name, expression in BINARY.items():
        setattr(cls, f"__{name}__", _binary(expression, f"__r{name}__"))
        setattr(cls, f"__r{name}__", _last(expression))
    for name, (expression, reflected) in ORDERED.items():
        setattr(cls, f"__{name}__", _binary(expression, f"__{reflected}__"))
    setattr(cls, "__eq__", _equal("x == y", True))  # noqa: B010 (unknown to type checkers)
    setattr(cls, "__ne__", _equal("x != y", False))  # noqa: B010
    for name, expression in UNARY.items():
        setattr(cls, f"__{name}__", _last(expression))
    for name in (*COMPUTING, *ELSEWHERE):
        setattr(cls, name, _Absent(name))
    setattr(cls, "__setitem__", _set_item)  # noqa: B010 (unknown to type checkers)


_add_to(Advice)
