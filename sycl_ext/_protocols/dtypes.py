# SPDX-License-Identifier: Apache-2.0
"""NumPy's side of the dtype table (the table itself is in ``src/base/dtype.hpp``)."""

import operator
import sys
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.loaded import loaded

#: Names in the table, with the letter and the size of their array-interface typestr.
_ROWS: dict[str, tuple[str, int]] = {name: (kind, size) for name, kind, size, _ in _core.DTYPES}
TYPESTRS = {name: f"|{kind}{size}" for name, (kind, size) in _ROWS.items()}
ITEMSIZES = {name: size for name, (_, size) in _ROWS.items()}
_BY_DLPACK = {(code, 8 * size, 1): name for name, _, size, code in _core.DTYPES}
_BY_TYPESTR = {f"{kind}{size}": name for name, (kind, size) in _ROWS.items() if kind != "V"}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a table entry; bfloat16 and the fp8 family need ``ml_dtypes``."""
    if _ROWS[name][0] != "V":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(
            f"NumPy has no dtype {name} of its own; install ml_dtypes to get one"
        ) from error
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def dtype_name(dtype: Any, *, of_memory: bool = False) -> str:
    """Return the table entry of a dtype in any form; ValueError if that dtype is not supported.

    `of_memory`: the dtype is that of an object `x` with memory, not an argument, so the advice
    differs.
    """
    if isinstance(dtype, str) and dtype in _ROWS:
        return dtype
    of_torch = loaded("torch", "dtype")
    if isinstance(of_torch, type) and isinstance(dtype, of_torch):
        name = str(dtype).removeprefix("torch.")
        if name in _ROWS:
            return name
        raise ValueError(f"dtype {dtype} is not supported{_use_instead(_small(name))}")
    if hasattr(type(dtype), "__dlpack_data_type__"):
        return _name_in_dlpack(dtype)
    try:
        resolved = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"dtype is {dtype!r}, which is not a dtype: {error}; pass a name such as 'float32', "
            "or a dtype of NumPy or torch"
        ) from error
    if not resolved.isnative and not resolved.names:
        native = repr(resolved.newbyteorder("=").str)
        way_out = (
            f"convert with numpy.asarray(x).astype({native})" if of_memory else f"use {native}"
        )
        raise ValueError(
            f"dtype is {resolved.str}, which is not in native byte order; only native order is "
            f"supported: {way_out}"
        )
    name = str(resolved.name)
    if name in _ROWS:
        return name
    raise ValueError(f"dtype {name} is not supported{_way_out(resolved, of_memory)}")


#: By the kind of NumPy's dtype: the reason why it is not supported, the dtype to use instead, and a
#: call that converts any object with such memory, which need not have methods of an array.
_REFUSED = {
    **dict.fromkeys(
        "Mm", ("times have no DLPack type", "int64", "numpy.ascontiguousarray(x).view('int64')")
    ),
    **dict.fromkeys(
        "SU", ("strings have no DLPack type", "uint8", "numpy.ascontiguousarray(x).view('uint8')")
    ),
    "T": (
        "strings have no DLPack type",
        "uint8",
        "numpy.ascontiguousarray(numpy.strings.encode(x)).view('uint8')",
    ),
    "O": (
        "objects have no DLPack type",
        "float64",
        "numpy.asarray(x).astype('float64') if they are numbers, "
        "numpy.ascontiguousarray(x).astype('U').view('uint8') for their text",
    ),
    "f": ("long double numbers have no DLPack type", "float64", "numpy.asarray(x, 'float64')"),
    "c": (
        "long double numbers have no DLPack type",
        "complex128",
        "numpy.asarray(x, 'complex128')",
    ),
}
#: Replacements of dtypes with less than a byte, of ml_dtypes and torch, by the beginning of their
#: names, and the number of bits that follows.
_BITS = tuple("1234567")
_SMALL = {"int": "int8", "uint": "uint8", "float": "float32"}


def _way_out(dtype: np.dtype[Any], of_memory: bool) -> str:
    """Return the reason why a dtype is not supported, and its replacement."""
    reason, replacement, call = _REFUSED.get(dtype.kind, ("", "", ""))
    small = _small(dtype.name)
    if dtype.names:
        reason = "records have no DLPack type"
        replacement, call = "", f"each of its fields: numpy.asarray(x)[{dtype.names[0]!r}]"
        if not dtype[0].isnative:
            call += f".astype({dtype[0].newbyteorder('=').str!r})"
    elif dtype.type is np.void:
        reason, replacement = "raw bytes have no DLPack type", "uint8"
        call = "numpy.ascontiguousarray(x).view('uint8')"
    elif dtype.itemsize == 1 and small:
        if not of_memory:
            return _use_instead(small)
        reason = "its elements are smaller than a byte"
        call = f"numpy.asarray(x).astype({small!r}), or its bytes, numpy.asarray(x).view('uint8')"
    if not reason:
        return _use_instead(None)
    if of_memory:
        return f" ({reason}); pass {call}"
    use = f"{replacement!r}" if replacement else "a tensor for each of its fields"
    return f" ({reason}); use {use}"


def _small(name: str) -> str | None:
    """Return the replacement of a dtype with less than a byte; None: another dtype."""
    kind = name.partition("_")[0]
    return _SMALL.get(kind.rstrip("0123456789")) if kind.endswith(_BITS) else None


def _use_instead(small: str | None) -> str:
    if small is None:
        return f"; convert it to one of {', '.join(_ROWS)}"
    bytes_too = "" if small == "uint8" else ", or 'uint8' for its bytes"
    return f" (its elements are smaller than a byte); use {small!r}{bytes_too}"


def _name_in_dlpack(dtype: Any) -> str:
    """Read ``__dlpack_data_type__``, the (code, bits, lanes) of a dtype object.

    https://github.com/data-apis/array-api/issues/972
    """
    described = dtype.__dlpack_data_type__()
    try:
        code, bits, lanes = map(operator.index, described)
    except (TypeError, ValueError):
        raise TypeError(
            f"dtype is {dtype!r}, whose __dlpack_data_type__ is {described!r}; it must be three "
            "integers: code, bits, lanes"
        ) from None
    name = _BY_DLPACK.get((code, bits, lanes))
    if name is None:
        raise ValueError(
            f"dtype {dtype!r} (in DLPack: code {code}, bits {bits}, lanes {lanes}) is not "
            f"supported; convert it to one of {', '.join(_ROWS)}"
        )
    return name


def name_from_typestr(text: Any) -> str:
    """Return the table entry of an array-interface typestr; BufferError if there is none."""
    if not isinstance(text, str) or len(text) < 3:
        raise BufferError(f"typestr is {text!r}; it must be a string such as '|f4'")
    order, code = text[0], text[1:]
    foreign = ">" if sys.byteorder == "little" else "<"
    if order == foreign:
        raise BufferError(f"typestr {text!r} is not in native byte order; convert it first")
    if order not in "<>=|" or code not in _BY_TYPESTR:
        raise BufferError(
            f"typestr {text!r} is not supported; use one of "
            + ", ".join(f"|{known}" for known in _BY_TYPESTR)
        )
    return _BY_TYPESTR[code]


def dtype_indices() -> dict[Any, int]:
    """Return the entries of the dtype table by all their usual names, the texts interned."""
    indices: dict[Any, int] = {}
    for index, (name, kind, itemsize, _) in enumerate(_core.DTYPES):
        indices[sys.intern(name)] = index
        if kind != "V":
            dtype, code = np.dtype(name), sys.intern(f"{kind}{itemsize}")
            indices.update({dtype: index, dtype.type: index, code: index})
    for python_type in (bool, int, float, complex):
        indices[python_type] = indices[np.dtype(python_type)]
    return indices
