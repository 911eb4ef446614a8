# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: flags, words, integers, collections. Pure Python."""

from collections.abc import Mapping, Sequence, Set
from numbers import Integral
from typing import Any, SupportsIndex, TypeAlias, TypeGuard

#: A shape as callers write it.
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]


def is_int(x: object) -> TypeGuard[int]:
    """Whether `x` is an integer, of Python or of NumPy; a bool is not."""
    return isinstance(x, Integral) and not isinstance(x, bool)


def is_unordered(x: object) -> bool:
    """Whether `x` is a collection without an order."""
    return isinstance(x, (Set, Mapping))


def check_flag(name: str, value: Any, or_none: bool = False) -> Any:
    """Return an argument that is True or False, or also None."""
    if isinstance(value, bool) or (or_none and value is None):
        return value
    forms = "True, False or None" if or_none else "True or False"
    raise TypeError(f"{name} is {value!r}; it must be {forms}")


def check_word(name: str, value: Any, words: Sequence[str]) -> Any:
    """Return an argument that is one of some words.

    An object that is not a string is not compared with them: an array would compare its elements.
    """
    if isinstance(value, str):
        if value in words:
            return value
        error: type[Exception] = ValueError
    else:
        error = TypeError
    *others, last = map(repr, words)
    raise error(f"{name} is {value!r}; it must be {', '.join(others)} or {last}")


def check_order(value: Any) -> Any:
    """Return an argument that is the order of the elements of a new array."""
    return check_word("order", value, ("C", "F"))
