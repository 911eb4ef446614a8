# SPDX-License-Identifier: Apache-2.0
"""Every public function of a library that converts arrays, as a consumer of `exchange`.

``check(name)`` gives it each dtype and each layout: the result is right, and a view or a copy as
`explain` says, or the exchange is refused with a call that works.  ``python conversions.py LIBRARY
FIRST`` does that for the functions of a library, from a number on, in a process of their own.
"""

from __future__ import annotations

import itertools
import json
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sycl_ext as sx
from dlpack_conformance import structs

DTYPES = tuple(structs.DTYPES)
LAYOUTS: dict[str, Callable[[sx.Tensor], sx.Tensor]] = {
    "C": lambda t: t,
    "F": lambda t: t.T,
    "1-d": lambda t: t.reshape(-1),
    "1-d sliced": lambda t: t.reshape(-1)[3::2],
    "unaligned": lambda t: t.reshape(-1)[1:13].reshape((3, 4)),
    "sliced": lambda t: t[1::2, ::3],
    "reversed": lambda t: t[::-1],
    "0-d": lambda t: t[1, 2],
    "empty": lambda t: t[2:2],
}
#: Functions of libraries of the everyday environment.
EVERYDAY = (
    *("numpy", "torch", "dpnp", "dpnp.tensor", "tvm_ffi"),
    *("numpy:asarray", "numpy:array", "numpy:asanyarray", "numpy:from_dlpack", "numpy:copy"),
    *("numpy:ascontiguousarray", "numpy:asfortranarray", "numpy:frombuffer", "numpy:ndarray"),
    *("torch:asarray", "torch:as_tensor", "torch:tensor", "torch:from_numpy", "torch:Tensor"),
    *("torch:from_dlpack", "torch:frombuffer", "torch:utils.dlpack.from_dlpack"),
    *("dpnp:asarray", "dpnp:array", "dpnp:asanyarray", "dpnp:from_dlpack", "dpnp:copy"),
    *("dpnp:ascontiguousarray", "dpnp:asfortranarray", "dpnp:frombuffer", "dpnp:ndarray"),
    *("dpnp.tensor:asarray", "dpnp.tensor:from_dlpack", "dpnp.tensor:from_numpy"),
    "dpnp.tensor:usm_ndarray",
    *("tvm_ffi:from_dlpack", "tvm_ffi:convert", "tvm_ffi:Tensor"),
    *("pandas:Series", "pandas:DataFrame", "pandas:array", "pandas:Index"),
    *("sycl_ext:as_tensor", "sycl_ext:from_dlpack", "sycl_ext:host_view"),
)
#: Those of ``make test-interop``.
INTEROP = (
    *("jax", "jax.numpy", "tensorflow", "mlx.core", "pyarrow", "array_api_strict"),
    *("jax.numpy:asarray", "jax.numpy:array", "jax.numpy:from_dlpack", "jax:device_put"),
    *("jax.dlpack:from_dlpack", "jax.numpy:copy", "jax.numpy:frombuffer", "jax:Array"),
    *("tensorflow:constant", "tensorflow:convert_to_tensor", "tensorflow:identity"),
    *("tensorflow:Variable", "tensorflow:Tensor"),
    *("pyarrow:array", "pyarrow:Tensor", "pyarrow:Tensor.from_numpy", "pyarrow:Tensor.from_dlpack"),
    *("polars:Series", "polars:DataFrame", "pandas:Series", "pandas:DataFrame"),
    *("mlx.core:array", "mlx.core:asarray", "mlx.core:from_dlpack"),
    *("array_api_strict:asarray", "array_api_strict:from_dlpack"),
    *("array_api_compat.torch:asarray", "array_api_compat.numpy:asarray"),
)


#: Library -> its functions among those.
OF_LIBRARY: dict[str, list[str]] = {}
for _name in INTEROP:
    OF_LIBRARY.setdefault(re.split("[.:]", _name)[0], []).append(_name)


def resolve(name: str) -> Any:
    return pkgutil.resolve_name(name)


def numpy_dtype(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


def make(dtype: str, layout: str, readonly: bool, usm_type: str = "shared") -> sx.Tensor:
    numbers = (np.arange(24) % 2 if dtype == "bool" else np.arange(24)).reshape(4, 6)
    base = sx.empty((4, 6), dtype, usm_type=usm_type).copy_from(numbers.astype(numpy_dtype(dtype)))
    result = LAYOUTS[layout](base)
    return result.as_readonly() if readonly else result


def cases() -> Iterator[sx.Tensor]:
    for dtype, layout in itertools.product(DTYPES, ("C", "1-d")):
        yield make(dtype, layout, readonly=False)
    for layout, readonly in itertools.product(LAYOUTS, (False, True)):
        yield make("float32", layout, readonly)
    yield make("int64", "C", readonly=False, usm_type="device")


def memory(result: Any) -> Any:
    """The memory of an array of any library, without a copy; None: nobody may see it.

    A host view comes second: the default device may be a GPU, which cannot use host memory.
    """
    for take in (sx.as_tensor, sx.host_view):
        try:
            return take(result, copy=False)
        except (TypeError, ValueError, BufferError):
            continue
    return None


def values(result: Any) -> np.ndarray:
    """The elements of an array of any library."""
    seen = memory(result)
    if seen is not None:
        return seen.to_numpy(copy=True)
    if hasattr(result, "to_pylist"):  # of pyarrow, whose bool has a bit for each element
        return result.to_numpy(zero_copy_only=False)
    for method in ("to_numpy", "numpy", "toarray"):
        if hasattr(result, method):
            return getattr(result, method)()
    return np.asarray(result)


def address(result: Any) -> int | None:
    seen = memory(result)
    return None if seen is None else seen.ptr


def refusal_of(x: Any, function: Any, copy: bool | None) -> BufferError | None:
    try:
        sx.exchange(x, function, copy=copy)
    except BufferError as refusal:
        return refusal
    return None


class Subclass(np.ndarray):
    """Of an application: it has methods of its own, and no protocol of its own."""


def check_one(function: Any, x: Any, expected: np.ndarray, copy: bool | None) -> None:
    plan = sx.explain(x, function, copy=copy)
    case = (function, x, copy, plan)
    if plan.error is not None:
        refusal = refusal_of(x, function, copy)
        assert (type(refusal), str(refusal)) == (plan.error, plan.reason), case
        assert any(word in plan.reason for word in ("pass ", "install ", "convert ")), case
        return
    result = sx.exchange(x, function, copy=copy)
    outcome = values(result)
    assert (outcome.shape, str(outcome.dtype)) == (expected.shape, str(expected.dtype)), case
    assert outcome.tobytes() == expected.tobytes(), case
    at = address(result)
    if at is not None and expected.size:
        assert (at == address(x)) == (plan.copies == 0), case


def own_array(function: str, x: sx.Tensor) -> Any:
    """An array of the function's library, where that has one, with the numbers of `x`."""
    try:
        return sx.exchange(x, function.partition(":")[0])
    except (TypeError, BufferError):
        return None


def check(name: str) -> None:
    function, taken = resolve(name), 0
    for tensor in cases():
        expected = tensor.to_numpy(copy=True)
        own = own_array(name, tensor)
        for x in (
            tensor,
            expected.copy(),
            expected.copy().view(Subclass),
            *(() if own is None else (own,)),
        ):
            for copy in (None, True, False):
                check_one(function, x, expected, copy)
        taken += sx.explain(tensor, function).error is None
    refused_always = "frombuffer" in name
    assert (taken == 0) == refused_always, name


def main(library: str, first: int) -> None:
    """Check functions of a library, and print a line of JSON before and after each of them."""
    sx.devices()  # before a library brings files of its own that the CPU driver would find
    for number, name in enumerate(OF_LIBRARY[library]):
        if number < first:
            continue
        print(json.dumps({"begin": number}), flush=True)
        try:
            check(name)
            outcome = {"outcome": "right"}
        except Exception as error:
            outcome = {"outcome": type(error).__name__, "text": traceback.format_exc()}
        print(json.dumps({"end": number, **outcome}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
