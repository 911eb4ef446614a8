# SPDX-License-Identifier: Apache-2.0
"""The accessor of xarray: data in dpnp, and back to where plots and files can take it."""

import numpy as np
import pytest

import environments

xr = pytest.importorskip("xarray")
dpnp = pytest.importorskip("dpnp")

import sycl_ext_xarray  # noqa: E402, F401

VALUES = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def x():
    coordinates = {"x": [10, 20, 30, 40], "height": ("y", np.arange(3.0))}
    return xr.DataArray(VALUES, dims=("y", "x"), coords=coordinates, name="a", attrs={"units": "m"})


def test_there_and_back(x):
    there = x.dpnp.as_dpnp()
    assert (there.dpnp.is_dpnp, x.dpnp.is_dpnp) == (True, False)
    assert type((there * 2).mean("y").data) is dpnp.ndarray
    back = there.dpnp.as_numpy()
    assert type(back.data) is np.ndarray
    xr.testing.assert_identical(back, x)
    assert there.dpnp.to_numpy().tolist() == back.values.tolist() == VALUES.tolist()


def test_the_copy_on_the_host_is_ones_own(x):
    there = x.dpnp.as_dpnp()
    there.dpnp.as_numpy().values[:] = 0
    assert float(there.sum().dpnp.to_numpy()) == VALUES.sum()


def test_a_device(x):
    assert x.dpnp.as_dpnp("cpu").data.sycl_device.is_cpu


def test_a_dataset_and_what_stays_on_the_host(x):
    times = np.array(["2026-01-01"] * 3, "M8[ns]")
    dataset = xr.Dataset({"a": x, "time": ("y", times)}, attrs={"title": "t"})
    there = dataset.dpnp.as_dpnp()
    assert (there["a"].dpnp.is_dpnp, there["time"].dpnp.is_dpnp) == (True, False)
    assert not there.dpnp.is_dpnp
    assert there[["a"]].dpnp.is_dpnp
    xr.testing.assert_identical(there.dpnp.as_numpy(), dataset)


def test_coordinates_come_back_as_well(x):
    there = x.dpnp.as_dpnp().assign_coords(weight=("y", dpnp.ones(3)))
    assert type(there.dpnp.as_numpy()["weight"].data) is np.ndarray


def test_chunks_of_dask(x):
    pytest.importorskip("dask.array")
    there = x.chunk(x=2).dpnp.as_dpnp()
    assert there.dpnp.is_dpnp
    assert type(there.compute(scheduler="sync").data) is dpnp.ndarray
    assert there.dpnp.as_numpy().sum("x").values.tolist() == VALUES.sum(axis=1).tolist()


def test_an_import_of_xarray_alone_loads_nothing_of_this():
    shown = environments.python(
        "import sys, xarray\nprint([n for n in ('sycl_ext', 'dpctl') if n in sys.modules])"
    )
    assert shown.strip() == "[]"
