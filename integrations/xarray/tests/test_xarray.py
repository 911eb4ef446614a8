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


def test_data_goes_to_dpnp_and_back(x):
    there = x.dpnp.as_dpnp()
    assert (there.dpnp.is_dpnp, x.dpnp.is_dpnp) == (True, False)
    assert type((there * 2).mean("y").data) is dpnp.ndarray
    back = there.dpnp.as_numpy()
    assert type(back.data) is np.ndarray
    xr.testing.assert_identical(back, x)
    assert there.dpnp.to_numpy().tolist() == back.values.tolist() == VALUES.tolist()


def test_host_copy_is_independent(x):
    there = x.dpnp.as_dpnp()
    there.dpnp.as_numpy().values[:] = 0
    assert float(there.sum().dpnp.to_numpy()) == VALUES.sum()


def test_as_dpnp_takes_a_device(x):
    assert x.dpnp.as_dpnp("cpu").data.sycl_device.is_cpu


def test_dataset_keeps_dates_on_the_host(x):
    times = np.array(["2026-01-01"] * 3, "M8[ns]")
    dataset = xr.Dataset({"a": x, "time": ("y", times)}, attrs={"title": "t"})
    there = dataset.dpnp.as_dpnp()
    assert (there["a"].dpnp.is_dpnp, there["time"].dpnp.is_dpnp) == (True, False)
    assert there.dpnp.is_dpnp
    assert there[["a"]].dpnp.is_dpnp
    assert not there[["time"]].dpnp.is_dpnp
    assert not dataset.dpnp.is_dpnp
    xr.testing.assert_identical(there.dpnp.as_numpy(), dataset)


def pandas_array(*arguments, **named):
    return lambda: pytest.importorskip("pandas").array(*arguments, **named)


#: What cannot go to dpnp: the other variables of a Dataset go, and it stays as it is.
STAYS = {
    "dates": lambda: np.array(["2026-01-01"] * 3, "M8[ns]"),
    "durations": lambda: np.array([1, 2, 3], "m8[ns]"),
    "text": lambda: np.array(["a", "b", "c"]),
    "objects": lambda: np.array([1, "b", None], object),
    "long double": lambda: np.arange(3, dtype="longdouble"),
    "complex long double": lambda: np.arange(3, dtype="clongdouble"),
    "the other byte order": lambda: np.arange(3, dtype=np.dtype("f8").newbyteorder()),
    "integers in the other byte order": lambda: np.arange(3, dtype=np.dtype("i2").newbyteorder()),
    "records": lambda: np.zeros(3, [("x", "f4")]),
    "nullable integers": pandas_array([1, None, 3], dtype="Int64"),
    "nullable floats": pandas_array([1.5, None, 3], dtype="Float32"),
    "nullable booleans": pandas_array([True, False, True], dtype="boolean"),
    "categories": pandas_array(["a", "b", "a"], dtype="category"),
}


@pytest.mark.parametrize("name", STAYS)
def test_unsupported_variable_stays_and_the_rest_goes(name):
    data = STAYS[name]()
    dataset = xr.Dataset({"a": ("y", np.arange(3.0)), "b": ("y", data)})
    there = dataset.dpnp.as_dpnp()
    assert type(there["a"].data) is dpnp.ndarray
    assert type(there["b"].data) is type(dataset["b"].data)
    assert (there.dpnp.is_dpnp, there["b"].dpnp.is_dpnp) == (True, False)
    assert type(there["b"].dpnp.as_dpnp().data) is type(dataset["b"].data)
    xr.testing.assert_identical(there.dpnp.as_numpy(), dataset)
    if isinstance(data, np.ndarray) and data.dtype.kind not in "OV":
        pytest.importorskip("dask.array")
        chunks = dataset.chunk(y=2).dpnp.as_dpnp()
        assert chunks.dpnp.is_dpnp
        xr.testing.assert_identical(chunks.dpnp.as_numpy().compute(scheduler="sync"), dataset)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numeric_dtypes_go_to_dpnp(dtype):
    there = xr.DataArray(np.ones(3, dtype)).dpnp.as_dpnp()
    assert (type(there.data), there.dtype) == (dpnp.ndarray, dtype)


def test_arithmetic_with_a_coordinate_needs_it_in_dpnp_as_well(x):
    """The page says so: coordinates stay on the host."""
    there = x.dpnp.as_dpnp()
    for compute in (
        lambda: there * there["x"],
        lambda: there * there["height"],
        lambda: there.where(there["x"] > 10),
        lambda: there.weighted(there["x"]).mean(),
        lambda: there.differentiate("x"),
        lambda: there.polyfit("x", 1),
    ):
        with pytest.raises(TypeError):
            compute()
    for moved in (there["height"], xr.DataArray(x["x"].values, dims="x")):
        product = there * moved.dpnp.as_dpnp()
        xr.testing.assert_allclose(product.dpnp.as_numpy(), (x * moved))
    for result in (there.sel(x=20), there.groupby("height").mean(), there + there.isel(x=[1, 2])):
        assert result.dpnp.is_dpnp


def test_coordinates_come_back_as_well(x):
    there = x.dpnp.as_dpnp().assign_coords(weight=("y", dpnp.ones(3)))
    assert type(there.dpnp.as_numpy()["weight"].data) is np.ndarray


def test_import_of_xarray_does_not_load_the_package():
    shown = environments.python(
        "import sys, xarray\nprint([n for n in ('sycl_ext', 'dpctl') if n in sys.modules])"
    )
    assert shown.strip() == "[]"
