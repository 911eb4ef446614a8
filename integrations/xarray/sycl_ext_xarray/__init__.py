# SPDX-License-Identifier: Apache-2.0
"""xarray: the accessor ``.dpnp`` of DataArray and Dataset moves their data to dpnp and back.

``import sycl_ext_xarray`` registers it. xarray computes with dpnp arrays by itself; ``values``,
``to_numpy``, plots and netCDF need ``x.dpnp.as_numpy()`` first, as with cupy-xarray.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

# Before dpnp, which lists the devices by dpctl: from then on, the CPU device cannot be added.
import sycl_ext as sx

# isort: split
import numpy as np
import xarray as xr

__all__ = ["DpnpAccessor"]

__version__ = "0.1.0"

T = TypeVar("T", xr.DataArray, xr.Dataset)


@xr.register_dataarray_accessor("dpnp")
@xr.register_dataset_accessor("dpnp")
class DpnpAccessor(Generic[T]):
    """The data of a DataArray or a Dataset in dpnp.

    Examples
    --------
    >>> import dpnp, xarray as xr, sycl_ext_xarray
    >>> x = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("y", "x"), coords={"x": [10, 20]})
    >>> there = x.dpnp.as_dpnp()
    >>> there.dpnp.is_dpnp, type(there.mean("y").data) is dpnp.ndarray
    (True, True)
    >>> there.mean("y").dpnp.as_numpy().values
    array([2., 3.])
    """

    def __init__(self, obj: T) -> None:
        self._obj: T = obj

    @property
    def is_dpnp(self) -> bool:
        """Whether the data, or with Dask the chunks, are dpnp arrays.

        The variables of a Dataset that `as_dpnp` leaves on the host do not count.
        """
        obj = self._obj
        variables = obj.data_vars.values() if isinstance(obj, xr.Dataset) else [obj]
        data = [x.data for x in variables if _can_move(x.data)]
        return bool(data) and all(map(_is_dpnp, data))

    def as_dpnp(self, device: Any = None) -> T:
        """Return the object with its data in dpnp, or with Dask its chunks.

        Coordinates stay as they are, and so does each variable whose data dpnp cannot hold: dates,
        text, objects, extension arrays (nullable, categorical, of pyarrow), sparse arrays, ``long
        double``, and numbers that are not in native byte order.

        Parameters
        ----------
        device : optional
            In any form that `sycl_ext.exchange` takes; None for the device where the data is, and
            for the default device if it is on the host.
        """

        def move(x: Any) -> Any:
            return _each(x, _to_dpnp, device) if _can_move(x) else x

        return _convert(self._obj, move, coordinates=False)

    def as_numpy(self) -> T:
        """Return the object with its data and its coordinates in NumPy, or with Dask its chunks."""
        return _convert(
            self._obj, lambda x: _each(x, _to_numpy) if _is_dpnp(x) else x, coordinates=True
        )

    def to_numpy(self) -> Any:
        """Return the values of a DataArray as a NumPy array, which with Dask computes them."""
        if isinstance(self._obj, xr.Dataset):
            raise TypeError(
                "a Dataset holds several arrays; use ds[name].dpnp.to_numpy(), or "
                "ds.dpnp.as_numpy() for a Dataset of NumPy arrays"
            )
        return self.as_numpy().to_numpy()


def _convert(obj: T, function: Callable[[Any], Any], *, coordinates: bool) -> T:
    """Return an object like another one, with its data passed through a function."""

    def moved(variables: Any) -> dict[Any, Any]:
        return {n: x.variable.copy(data=function(x.variable.data)) for n, x in variables.items()}

    if isinstance(obj, xr.Dataset):
        made = obj.assign(moved(obj.data_vars))
    elif isinstance(obj.variable, xr.IndexVariable):  # ``x["time"]``: pandas has its data
        made = obj
    else:
        # deep=True would copy the coordinates with copy.deepcopy, which dpnp does not support.
        made = obj.copy(deep=False, data=function(obj.data))
    if coordinates:
        made = made.assign_coords(
            moved({n: x for n, x in obj.coords.items() if n not in obj.indexes})
        )
    return made


def _each(x: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with an array, or with each chunk of an array of Dask."""
    if hasattr(x, "map_blocks"):
        return x.map_blocks(function, *arguments, dtype=x.dtype, meta=function(x._meta, *arguments))
    return function(x, *arguments)


#: The codes of the dtypes of NumPy that dpnp has as well.
_DTYPES = "?bBhHiIlLqQefdFD"


def _can_move(x: Any) -> bool:
    """Return whether dpnp can hold the data, or with Dask the chunks, and can get at them."""
    x = getattr(x, "_meta", x)
    plain = isinstance(x.dtype, np.dtype) and x.dtype.isnative and x.dtype.char in _DTYPES
    return plain and hasattr(x, "__dlpack__")


def _to_dpnp(x: Any, device: Any) -> Any:
    return sx.exchange(x, "dpnp", device=device)


def _to_numpy(x: Any) -> Any:
    return sx.exchange(x, np, copy=True)


def _is_dpnp(x: Any) -> bool:
    return type(getattr(x, "_meta", x)).__module__.partition(".")[0] == "dpnp"
