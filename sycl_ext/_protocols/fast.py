# SPDX-License-Identifier: Apache-2.0
"""Puts the core's fast functions before the Python functions of the same name.

``src/python/fast_path.cpp`` answers the calls that need no negotiation, and passes every other call
on to the Python function, whose rules, signature and docstring are the ones that count.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from sycl_ext import _core

Function = TypeVar("Function", bound=Callable[..., Any])


def accelerated(function: Function) -> Function:
    """Decorate a function that ``src/python/fast_path.cpp`` has a fast form of."""
    fast = _core.accelerate(function.__name__, function)
    return cast(Function, functools.update_wrapper(fast, function))


def dtype_indices() -> dict[Any, int]:
    """Return the entries of the dtype table by everything that usually names one."""
    indices: dict[Any, int] = {}
    for index, (name, kind, itemsize) in enumerate(_core.DTYPES):
        indices[name] = index
        if kind != "V":
            dtype = np.dtype(name)
            indices.update({dtype: index, dtype.type: index, f"{kind}{itemsize}": index})
    for python_type in (bool, int, float, complex):
        indices[python_type] = indices[np.dtype(python_type)]
    return indices
