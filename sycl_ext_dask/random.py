# SPDX-License-Identifier: Apache-2.0
"""Random numbers of ``dask.array`` with dpnp: NumPy makes them, and each chunk is copied.

dpnp has no ``random.Generator``, and takes no seed of the length that Dask gives.  So a seed gives
the same numbers as with NumPy.  Dask finds this module by the names of the two classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["PCG64", "RandomState", "default_rng"]


class PCG64(np.random.PCG64):
    """NumPy's, under a name that says whose arrays are wanted."""


class RandomState:
    """NumPy's, with its arrays as those of dpnp."""

    def __init__(self, *seed: Any) -> None:
        self._host: Any = np.random.RandomState(*seed)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._host, name)
        return lambda *values, **named: to_dpnp(method(*values, **named))


class Generator(RandomState):
    """NumPy's, with its arrays as those of dpnp."""

    def __init__(self, *seed: Any) -> None:
        self._host = np.random.default_rng(*seed)


def default_rng(*seed: Any) -> Generator:
    """Return a `Generator`."""
    return Generator(*seed)


def to_dpnp(x: Any, **_: Any) -> Any:
    """Return an array as one of dpnp, on the default device of the process."""
    import sycl_ext as sx

    return sx.exchange(np.asarray(x) if np.isscalar(x) else x, "dpnp")
