# SPDX-License-Identifier: Apache-2.0
"""Kinds of USM, and the questions about an object that several folders ask.  Pure Python."""

import sys
from collections.abc import Mapping, Sequence, Set
from numbers import Integral
from typing import Any, Literal, NoReturn, SupportsIndex, TypeAlias, TypeGuard, TypeVar

UsmType: TypeAlias = Literal["device", "shared", "host"]
#: A shape as callers write it.
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
#: The kinds that a driver allocates.
ALLOCATED: tuple[UsmType, ...] = ("device", "shared", "host")
#: All kinds; "system" is host memory that the device reaches.
USM_TYPES = (*ALLOCATED, "system")


_Same = TypeVar("_Same", bound="CopiesToItself")


class CopiesToItself:
    """The base of objects that keep or stand for something of this process.

    A copy is the object itself, also within a copied dataclass, estimator or module.
    """

    __slots__ = ()

    def __copy__(self: _Same) -> _Same:
        return self

    def __deepcopy__(self: _Same, memo: dict[int, Any]) -> _Same:
        return self


class Identity(CopiesToItself):
    """The base of those that cannot be pickled, such as a device.

    Another process does not have what they stand for.
    """

    __slots__ = ()

    #: What to send to another process in its place.
    _portable_form: str = ""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to this process; {self._portable_form}")


def is_int(x: object) -> TypeGuard[int]:
    """Whether `x` is an integer, of Python or of NumPy; a bool is not."""
    return isinstance(x, Integral) and not isinstance(x, bool)


def is_unordered(x: object) -> bool:
    """Whether `x` is a collection whose iteration gives no order that was asked for."""
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


def check_usm_type(value: Any) -> Any:
    """Return an argument that is a kind of USM that a driver allocates, or None."""
    return None if value is None else check_word("usm_type", value, ALLOCATED)


def is_capsule(x: object) -> bool:
    """Whether `x` is a capsule, whose class Python does not name."""
    return type(x).__name__ == "PyCapsule"


def loaded(package: str, name: str) -> Any:
    """Return an attribute of a package; None if it is not imported yet; does not import it."""
    return getattr(sys.modules.get(package), name, None)
