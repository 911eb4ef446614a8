# SPDX-License-Identifier: Apache-2.0
"""A refused producer whose last reference goes with the error: its destructor does not hide it.

The destructor of a capsule may be Python (ctypes), and runs while an exception is pending. One that
leaves an exception of its own is told next to the reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx

Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

VERBS: dict[str, Callable[[Any], Any]] = {
    "from_dlpack": sx.from_dlpack,
    "as_tensor": sx.as_tensor,
    "as_tensor(device=0)": lambda x: sx.as_tensor(x, device=0),
    "host_view": sx.host_view,
    "exchange": lambda x: sx.exchange(x, np),
    "copy_from": lambda x: sx.zeros(3).copy_from(x),
}
destroyed: list[int] = []


@Destructor
def destroy(_: int) -> None:
    destroyed.append(1)
    with contextlib.suppress(AttributeError):
        _ = [].nothing


class Holder:
    """A temporary producer that holds the only reference to its capsule."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.capsule = make()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: object) -> object:
        return self.capsule


class Maker(Holder):
    """A producer that gives each capsule away."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def __dlpack__(self, **_: object) -> object:
        return self.make()


def refused_capsule() -> object:
    return new_capsule(1, b"nonsense", ctypes.cast(destroy, ctypes.c_void_p))


def leaving_capsule() -> object:
    """A capsule whose destructor, a function of C, leaves a TypeError."""
    return new_capsule(
        1, b"nonsense", ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p)
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrap", [lambda make: make(), Holder, Maker])
def test_reason_survives_a_destructor_in_python(wrap: Any, verb: str) -> None:
    destroyed.clear()
    with pytest.raises(BufferError, match="the capsule is named 'nonsense'"):
        VERBS[verb](wrap(refused_capsule))
    gc.collect()
    assert destroyed


@pytest.mark.parametrize("verb", ["from_dlpack", "as_tensor"])
def test_exception_of_a_destructor_is_told_with_the_reason(verb: str) -> None:
    with pytest.raises(BufferError, match="the capsule is named 'nonsense'") as refused:
        VERBS[verb](Maker(leaving_capsule))
    assert isinstance(refused.value.__context__, TypeError)
