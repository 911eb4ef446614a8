# SPDX-License-Identifier: Apache-2.0
"""dask.array with chunks that are dpnp arrays, or tensors of sycl_ext.

Dask computes with NumPy's functions, and relies on the protocols by which NumPy dispatches a call
to the library of its argument (NEP 13 and NEP 18).  dpnp does not implement them, so this module
adds them to its class: ``np.exp(x)``, which was a TypeError, calls ``dpnp.exp(x)``.  A function
that dpnp does not have is still a TypeError.  A NumPy array with dimensions as an operand is also a
TypeError, because it would need a copy.
"""

from __future__ import annotations

import copyreg
import sys
import threading
from functools import lru_cache
from inspect import Parameter, signature
from numbers import Number
from typing import Any

import dask.array as da
import numpy as np
from dask import config
from dask.array import backends, dispatch

from sycl_ext_dask import random

__all__ = ["DpnpBackend", "register_dpnp", "register_tensors"]

#: A method of a ufunc, such as ``np.add.reduce`` -> the function of dpnp.
_REDUCTIONS = {
    ("add", "reduce"): "sum",
    ("multiply", "reduce"): "prod",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("logical_and", "reduce"): "all",
    ("logical_or", "reduce"): "any",
    ("add", "accumulate"): "cumsum",
    ("multiply", "accumulate"): "cumprod",
}
#: The functions of dpnp 0.20 that refuse an array with a stride of 0; ``dask.array.ones`` has such
#: chunks.
_PRODUCTS = frozenset(("dot", "einsum", "inner", "matmul", "tensordot", "vdot", "vecdot"))


# ---- the protocols of NumPy ----------------------------------------------------------------------


def _array_ufunc(_self: Any, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
    """Call the function of dpnp with the name of a ufunc (NEP 13)."""
    import dpnp

    name = ufunc.__name__
    if method != "__call__":
        name = _REDUCTIONS.get((name, method), "")
        named.setdefault("axis", 0)  # the functions reduce all axes if none is given
    function = getattr(dpnp, name, None)
    outputs = named.pop("out", ())
    inputs = tuple(map(_number, inputs))
    if name in _PRODUCTS:
        inputs = tuple(map(_written_out, inputs))
    if function is None or not all(
        isinstance(x, (dpnp.ndarray, Number, np.generic)) for x in (*inputs, *outputs)
    ):
        return NotImplemented
    if outputs:
        named["out"] = outputs if len(outputs) > 1 else outputs[0]
    return function(*inputs, **named)


def _number(x: Any) -> Any:
    """Return the number in an array of 0 dimensions, and other objects unchanged.

    ``np.float64(2) < x`` passes such an array, and so does xarray to ``np.where``.
    """
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def _written_out(x: Any) -> Any:
    """Return a compact copy of an array of dpnp with repeated elements, and others unchanged."""
    import dpnp

    if not isinstance(x, dpnp.ndarray) or 0 in x.shape:
        return x
    axes = zip(x.shape, x.strides, strict=True)
    return x.copy() if any(n > 1 and not step for n, step in axes) else x


def _array_function(_self: Any, function: Any, types: Any, args: Any, named: Any) -> Any:
    """Call the function of dpnp with the name of a function of NumPy (NEP 18)."""
    import dpnp

    if getattr(_within, "dpnp", False):
        # dpnp calls NumPy for some functions, such as ``iscomplexobj(x)``.
        return function._implementation(*args, **named)
    own, first, names = _same_in_dpnp(function)
    known = all(issubclass(cls, (dpnp.ndarray, np.ndarray)) for cls in types)
    # Dask tries structured arrays, and uses plain ones after a TypeError.
    if own is None or not known or isinstance(named.get("dtype"), list):
        return NotImplemented
    _within.dpnp = True
    try:
        # The arguments that dpnp takes only by name have this order in NumPy.
        args = tuple(map(_number, args))
        if function.__name__ in _PRODUCTS:
            args = tuple(map(_written_out, args))
        return own(*args[:first], **dict(zip(names, args[first:], strict=False)), **named)
    except TypeError:
        if np.ndarray not in types:
            raise
        # Without these protocols, NumPy answers: ``np.array_equal`` is False with dpnp's array.
        return function._implementation(*args, **named)
    finally:
        _within.dpnp = False


_within = threading.local()


@lru_cache(maxsize=1024)
def _same_in_dpnp(function: Any) -> tuple[Any, int, list[str]]:
    """Return dpnp's function, its number of positional arguments, and the names of the others."""
    import dpnp

    same_name: Any = dpnp
    for name in (*function.__module__.split(".")[1:], function.__name__):
        same_name = getattr(same_name, name, None)
    if same_name is None:
        return None, 0, []
    theirs, ours = (list(signature(f).parameters.values()) for f in (function, same_name))
    if any(p.kind is Parameter.VAR_POSITIONAL for p in ours):
        return same_name, sys.maxsize, []
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    first = sum(p.kind in by_place for p in ours)
    return same_name, first, [p.name for p in theirs if p.kind in by_place][first:]


def add_protocols(dpnp: Any) -> None:
    """Let NumPy dispatch calls with dpnp arrays to dpnp, as it does with arrays of CuPy."""
    if dpnp.ndarray.__array_ufunc__ is None and not hasattr(dpnp.ndarray, "__array_function__"):
        dpnp.ndarray.__array_ufunc__ = _array_ufunc
        dpnp.ndarray.__array_function__ = _array_function
        dpnp.ndarray.__array_priority__ = 100  # the highest of several chunks decides the library


# ---- the registries of Dask ----------------------------------------------------------------------


def register_dpnp(dpnp: Any) -> None:
    """Register dpnp arrays with dask.array."""
    add_protocols(dpnp)
    da.register_chunk_type(dpnp.ndarray)
    dispatch.empty_lookup.register(dpnp.ndarray, dpnp.empty)
    dispatch.numel_lookup.register(dpnp.ndarray, backends._numel_arraylike)
    dispatch.percentile_lookup.register(dpnp.ndarray, backends.percentile)
    dispatch.to_numpy_dispatch.register(dpnp.ndarray, lambda x, **_: dpnp.asnumpy(x))
    copyreg.pickle(dpnp.ndarray, _reduce)


def _reduce(array: Any) -> Any:
    """Pickle an array of dpnp, for Dask's processes without distributed; dpnp itself cannot."""
    import sycl_ext as sx

    return sx.exchange, (sx.as_tensor(array, copy=False), "dpnp")


def register_tensors() -> None:
    """Register tensors with dask.array, which moves and splits them; they have no arithmetic."""
    import sycl_ext as sx

    def concatenate(tensors: Any, axis: int = 0) -> Any:
        shape = list(tensors[0].shape)
        shape[axis] = sum(t.shape[axis] for t in tensors)
        first = tensors[0]
        joined = sx.empty(tuple(shape), first.dtype, usm_type=first.usm_type, device=first.device)
        start = 0
        for t in tensors:
            end = start + t.shape[axis]
            joined[(slice(None),) * (axis % t.ndim) + (slice(start, end),)].copy_from(t)
            start = end
        return joined

    dispatch.concatenate_lookup.register(sx.Tensor, concatenate)
    dispatch.empty_lookup.register(sx.Tensor, sx.empty)
    dispatch.to_numpy_dispatch.register(sx.Tensor, lambda x, **_: x.to_numpy())


class DpnpBackend(backends.ArrayBackendEntrypoint):  # type: ignore[misc]
    """The backend for ``dask.config.set({"array.backend": "dpnp"})``: chunks are dpnp arrays."""

    @classmethod
    def to_backend_dispatch(cls) -> Any:
        """Return the function that moves a chunk."""
        return random.to_dpnp

    @classmethod
    def to_backend(cls, data: Any, **named: Any) -> Any:
        """Return an array of Dask with dpnp arrays as chunks."""
        import dpnp

        is_dpnp = isinstance(data._meta, dpnp.ndarray)
        return data if is_dpnp else data.map_blocks(random.to_dpnp, **named)

    @property
    def RandomState(self) -> Any:  # noqa: N802
        """The class of random numbers."""
        return random.RandomState

    @property
    def default_bit_generator(self) -> Any:
        """The class that generates random bits."""
        return random.PCG64


def _creation(name: str, like: str) -> Any:
    def create(*args: Any, **named: Any) -> Any:
        import dpnp

        if named.get(like) is None:
            named[like] = dpnp.empty(())
        with config.set({"array.backend": "numpy"}):
            return getattr(da, name)(*args, **named)

    create.__doc__ = f"As ``dask.array.{name}``."
    return staticmethod(create)


for _name in ("ones", "zeros", "empty", "full"):
    setattr(DpnpBackend, _name, _creation(_name, "meta"))
DpnpBackend.arange = _creation("arange", "like")
