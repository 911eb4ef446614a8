# SPDX-License-Identifier: Apache-2.0
"""Dask's tests of arrays on cupy, with dpnp in the place of cupy."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import sycl_ext as sx
from standing_in import StandIn

sx.devices()  # before dpnp lists them
dpnp = importlib.import_module("dpnp")
np = importlib.import_module("numpy")
utils = importlib.import_module("dask.array.utils")
backends = importlib.import_module("dask.array.backends")
numbers = importlib.import_module("sycl_ext_dask.random")


class Generator:
    """The array module of the tests: NumPy's, over memory that `sycl_ext` allocates."""

    def __init__(self, *seed: Any) -> None:
        self.host = np.random.default_rng(*seed)
        self.bit_generator = numbers.PCG64(*seed)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.host, name)
        return lambda *v, **n: from_host(method(*v, **n))


def from_host(x: Any) -> Any:
    return dpnp.from_dlpack(sx.as_tensor(np.ascontiguousarray(x), copy=True)).reshape(np.shape(x))


random = StandIn(dpnp.random, default_rng=Generator, RandomState=numbers.RandomState)
cupy = StandIn(dpnp, __version__="13.0.0", random=random)
dpnp.ndarray.get = dpnp.asnumpy  # cupy's name
utils.normalize_to_array = lambda x: dpnp.asnumpy(x) if isinstance(x, dpnp.ndarray) else x


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "gpu: of Dask")
    # Not before: plugins of other distributions look for CuPy when they are loaded.
    sys.modules.update({"cupy": cupy, "cupy.random": random})
    dispatch = backends.array_creation_dispatch
    dispatch.register_backend("cupy", dispatch.dispatch("dpnp"))
