# SPDX-License-Identifier: Apache-2.0
"""xarray over dask.array over dpnp, which needs sycl-ext-xarray as well."""

import numpy as np
import pytest

dpnp = pytest.importorskip("dpnp")
xr = pytest.importorskip("xarray")
pytest.importorskip("sycl_ext_xarray")

VALUES = np.arange(12.0).reshape(3, 4)


def test_chunks_go_to_dpnp_and_back():
    x = xr.DataArray(VALUES, dims=("y", "x"), coords={"x": [10, 20, 30, 40]})
    there = x.chunk(x=2).dpnp.as_dpnp()
    assert there.dpnp.is_dpnp
    assert type(there.compute(scheduler="sync").data) is dpnp.ndarray
    assert there.dpnp.as_numpy().sum("x").values.tolist() == VALUES.sum(axis=1).tolist()
