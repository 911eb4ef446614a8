# SPDX-License-Identifier: Apache-2.0
"""Fills a tensor with one number: `Tensor.fill`, and ``copy_from(number)``.

Nothing is computed: the host writes a block of the element, and copies fill the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_ext import _core
from sycl_ext._protocols.dtypes import ITEMSIZES, dtype_name
from sycl_ext._tensor import indexing

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Kinds of number, each of which includes those before it, with their default dtype.
_DEFAULTS = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}
_KINDS = tuple(_DEFAULTS)

#: Bytes that the host writes to a device; what exceeds them is copied on the device.
_BLOCK = 1 << 22


def is_number(value: object) -> bool:
    """Whether `value` is a number: of Python, or a scalar of a dtype that is exchanged."""
    if isinstance(value, np.generic):
        return value.dtype.name in ITEMSIZES  # neither times nor text
    return isinstance(value, _KINDS)


def check_number(value: object) -> None:
    """Raise TypeError unless `value` is a number."""
    if is_number(value):
        return
    if isinstance(value, np.inexact):
        of_python = "complex" if isinstance(value, np.complexfloating) else "float"
        raise TypeError(
            f"the value is of dtype {value.dtype}, which is not supported; pass a Python number, "
            f"such as {of_python}(value)"
        )
    raise TypeError(
        f"the value must be a number, but it is of type {type(value).__name__}; the signature of "
        "full is full(shape, fill_value, dtype), and x.copy_from(array) copies an array of the "
        "same dtype"
    )


def element_of(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a number as an element: an array of 0 dimensions.

    Raises
    ------
    TypeError
        If `value` is not a number, or has a part that the dtype lacks, such as 1.5 for int32.
    ValueError
        If it is out of the range of the dtype.
    """
    check_number(value)
    number: Any = _python_number(value)
    kind, fits = type(number), kind_of(dtype)
    if _KINDS.index(kind) > _KINDS.index(fits):
        raise TypeError(
            f"the value is {value!r}, but the elements are {dtype}, and numbers are not rounded "
            f"silently; pass a value of type {fits.__name__}"
        )
    if kind is int and fits is int:
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise ValueError(
                f"the value {value} is out of bounds for {dtype}, which holds {limits.min} to "
                f"{limits.max}"
            )
    try:
        with np.errstate(all="ignore"):
            element = np.asarray(fits(number), dtype)
            is_lost = bool(_has_overflowed(number, element))
    except OverflowError:
        bits = int(number.real).bit_length()
        raise ValueError(f"a value of {bits} bits is out of bounds for {dtype}") from None
    if is_lost:
        raise ValueError(
            f"the value {value!r} is out of bounds for {dtype}, which would store {element}; use "
            f"a wider dtype, or pass {element}"
        )
    return element


def _has_overflowed(number: complex, element: NDArray[Any]) -> Any:
    """Whether a finite number became infinite, or an infinite one became NaN."""
    exact, stored = np.asarray(complex(number)), element.astype("complex128")
    return (np.isfinite(exact) & ~np.isfinite(stored)) | (~np.isnan(exact) & np.isnan(stored))


def fill(target: _core.TensorBase, value: Any) -> None:
    """Write a number into all elements of a writable tensor.

    The host writes one block of a compact tensor on a device. The device copies that block, then
    what is filled so far, so a large tensor takes a few commands.
    """
    element = _core.find_memory(element_of(value, target.dtype))
    flat = None if target.host_accessible else _flat(target)
    if flat is None:
        return _spread(target, element)
    filled = min(target.size, _BLOCK // target.itemsize)
    _spread(_piece(flat, 0, filled), element)
    while filled < target.size:
        count = min(filled, target.size - filled)
        _core.copy_elements(_piece(flat, filled, count), _piece(flat, 0, count))
        filled += count
    return None


def _python_number(value: Any) -> Any:
    """Return a number of NumPy, or of a subclass, as one of Python."""
    if isinstance(value, np.generic):
        return kind_of(value.dtype)(value)
    return next(kind(value) for kind in _KINDS if isinstance(value, kind))


def kind_of(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return the kind of the numbers of a dtype; those of ml_dtypes without a letter are floats."""
    return {"b": bool, "i": int, "u": int, "c": complex}.get(dtype.kind, float)


def default_dtype(value: Any) -> str:
    """Return the dtype of a new tensor of this number."""
    if isinstance(value, np.generic):
        return dtype_name(value.dtype)
    return next(_DEFAULTS[kind] for kind in _KINDS if isinstance(value, kind))


def _flat(tensor: _core.TensorBase) -> _core.TensorBase | None:
    """Return the elements of a compact tensor along one axis, in any order; None: it has gaps."""
    if not (tensor.c_contiguous or tensor.f_contiguous):
        return None
    return _core.view(tensor, 0, (tensor.size,), (1,))


def _piece(flat: _core.TensorBase, first: int, count: int) -> _core.TensorBase:
    return _core.view(flat, first, (count,), (1,))


def _spread(target: _core.TensorBase, element: _core.TensorBase) -> None:
    strides = indexing.broadcast_strides((), (), target.shape)
    _core.copy_elements(target, _core.view(element, 0, target.shape, strides))
