# SPDX-License-Identifier: Apache-2.0
"""Random numbers of ``dask.array`` with dpnp: NumPy makes them, and each chunk is copied.

dpnp has no ``random.Generator``, and does not accept a seed of the length that Dask passes.  A seed
gives the same numbers as with NumPy.  Dask finds this module by the names of the two classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.base import compute, is_dask_collection

__all__ = ["PCG64", "RandomState", "default_rng"]


class PCG64(np.random.PCG64):
    """The generator of NumPy, under a name that Dask maps to this module."""


class RandomState:
    """The class of NumPy, but its methods return dpnp arrays."""

    def __init__(self, *seed: Any) -> None:
        self._host: Any = np.random.RandomState(*seed)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._host, name)

        def call(*values: Any, **named: Any) -> Any:
            numbers = method(*map(_to_host, values), **{n: _to_host(x) for n, x in named.items()})
            return None if numbers is None else to_dpnp(numbers)  # None: of ``shuffle``

        return call


class Generator(RandomState):
    """The class of NumPy, but its methods return dpnp arrays."""

    def __init__(self, *seed: Any) -> None:
        self._host = np.random.default_rng(*seed)


def default_rng(*seed: Any) -> Generator:
    """Return a `Generator`."""
    return Generator(*seed)


def _to_host(x: Any) -> Any:
    """Return a parameter of a distribution for NumPy.

    Chunks are arrays of dpnp; for the type of the result, Dask passes an element of its own array.
    """
    import dpnp

    import sycl_ext as sx

    if is_dask_collection(x):
        (x,) = compute(x)
    return sx.exchange(x, np) if isinstance(x, dpnp.ndarray) else x


def to_dpnp(x: Any, **_: Any) -> Any:
    """Return an array as one of dpnp, on the default device of the process."""
    import sycl_ext as sx

    return sx.exchange(np.asarray(x) if np.isscalar(x) else x, "dpnp")
