# SPDX-License-Identifier: Apache-2.0
"""Imports NumPy arrays and buffers, and says why any other object cannot be imported."""

from contextlib import suppress
from ctypes import c_wchar, sizeof
from types import ModuleType
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.errors import REFUSALS
from sycl_ext._negotiation.producers import definer
from sycl_ext._negotiation.ways_out import way_out_of
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._protocols.producer_facts import DESCRIPTION_METHODS, DLPACK_METHODS


def from_ndarray(array: np.ndarray[Any, Any]) -> _core.TensorBase:
    """Return the memory of a NumPy array, also of dtypes that NumPy itself does not export."""
    owner, array = array, np.asarray(array)  # the attributes of a subclass are not trusted
    name = _exchanged_dtype(array.dtype)
    itemsize = array.itemsize
    if any(  # the stride of a length of 1 is never used
        stride % itemsize
        for stride, length in zip(array.strides, array.shape, strict=True)
        if length > 1
    ):
        raise BufferError(
            f"the strides {array.strides} of the array are not multiples of its itemsize, "
            f"{itemsize} bytes; copy it with numpy.ascontiguousarray"
        )
    strides = [stride // itemsize for stride in array.strides]
    pointer = array.__array_interface__["data"][0] if array.size else 0
    readonly = not array.flags.writeable
    return _core.borrow(pointer, name, array.shape, strides, readonly, owner)


def _exchanged_dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; BufferError if memory of that dtype is not supported."""
    try:
        return dtype_name(dtype, of_memory=True)
    except ValueError as error:  # of an argument; here a producer cannot export
        raise BufferError(str(error)) from None


#: The calls that read buffers of ctypes whose formats NumPy does not know.
_READ_BY_BYTES = {
    "P": "numpy.frombuffer(x, 'uintp'), its addresses",
    "g": "numpy.frombuffer(x, 'longdouble').astype('float64')",
    "u": f"numpy.frombuffer(x, 'uint{8 * sizeof(c_wchar)}'), its characters as numbers",
}


def from_buffer(x: Any) -> _core.TensorBase:
    """Return the memory of an object with the buffer protocol; TypeError: it has none."""
    try:
        view = memoryview(x)
    except TypeError:
        raise TypeError(
            f"an object of type {type(x).__name__} exports no memory: it has neither "
            f"__sycl_usm_array_interface__, __dlpack__ nor the buffer protocol; {way_in(x)}"
        ) from None
    if isinstance(view.obj, np.generic):  # a scalar, such as a date, may offer its bytes
        _exchanged_dtype(view.obj.dtype)
    try:
        array = np.asarray(view)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        by_bytes = "numpy.frombuffer(x, 'uint8'), its bytes"
        call = _READ_BY_BYTES.get(str(view.format).lstrip("@=<>!"), by_bytes)
        raise BufferError(
            f"the {type(x).__name__} exports a buffer of format {view.format!r}, which NumPy "
            f"cannot read ({error}); pass {call}"
        ) from error
    return from_ndarray(array)


def has_buffer(x: Any) -> bool:
    """Whether an object has the buffer protocol, even if it refuses a buffer now."""
    try:
        memoryview(x)
    except TypeError:
        return False
    except BufferError:  # it has one that cannot be exported now
        pass
    return True


def _holds_array(x: Any) -> bool:
    """Whether the ``data`` of an object is an array that stands for the same elements."""
    data: Any = getattr(x, "data", None)
    is_array = definer(type(data), *DLPACK_METHODS, DESCRIPTION_METHODS[0]) is not None
    with suppress(*REFUSALS):
        return is_array and tuple(x.shape) == tuple(data.shape)
    return False


def way_in(x: Any) -> str:
    """Return advice for an object without memory."""
    if way_out := way_out_of(x):
        return way_out.removeprefix("; ")
    if _holds_array(x):
        return "pass x.data, which is an array"  # of xarray, over any library
    arrays = ("__array__", "__array_interface__")  # pillow's images have only the second
    if isinstance(x, (int, float, complex)) or any(hasattr(type(x), name) for name in arrays):
        return "convert it with numpy.asarray(x, dtype)"
    if isinstance(x, (list, tuple)):
        with suppress(*REFUSALS):  # of unequal lengths, or of arrays on a device
            _exchanged_dtype(np.asarray(x).dtype)
            return "convert it with numpy.asarray(x, dtype)"
        return "combine its elements into one array in their library, and pass that"
    if isinstance(x, (ModuleType, str)):
        return "pass an array; exchange takes the array first, and then the library"
    return "pass an array, such as one of NumPy, dpnp or torch"
