# SPDX-License-Identifier: Apache-2.0
"""Base classes of objects that are bound to this process. Pure Python."""

from typing import Any, NoReturn, TypeVar

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
        raise TypeError(
            f"cannot pickle {self!r}, which belongs to this process; {self._portable_form}"
        )
