# SPDX-License-Identifier: Apache-2.0
"""The functions that create a `Tensor`, of new memory or over memory of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.placement import Placement, place
from sycl_ext._negotiation.arguments import Shape, check_order, check_word, is_int
from sycl_ext._negotiation.rules import kind_of_copy
from sycl_ext._negotiation.usm_types import ALLOCATED, UsmType
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._protocols.tensors import tensor_device
from sycl_ext._protocols.trace import traced
from sycl_ext._tensor import filling, indexing
from sycl_ext._tensor.tensor import Tensor

if TYPE_CHECKING:
    from sycl_ext._tensor.argument_types import DType, Number

    # The functions of the core, with the class that they return; the stub cannot name it.
    def as_tensor(
        obj: Any,
        /,
        *,
        device: Any = None,
        copy: bool | None = None,
        usm_type: UsmType | None = None,
    ) -> Tensor:
        """Return the memory of any object as a tensor, by the best protocol that it supports."""

    def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
        """Return the memory of any DLPack producer as a tensor."""

    def empty(
        shape: Shape,
        dtype: DType = "float32",
        *,
        usm_type: UsmType = "device",
        device: Any = None,
        order: Literal["C", "F"] = "C",
    ) -> Tensor:
        """Return a new, uninitialised tensor."""

    def zeros(
        shape: Shape,
        dtype: DType = "float32",
        *,
        usm_type: UsmType = "device",
        device: Any = None,
        order: Literal["C", "F"] = "C",
    ) -> Tensor:
        """Return a new tensor of zeros; the arguments are those of `empty`."""

else:
    as_tensor = traced(_core.as_tensor)
    from_dlpack = traced(_core.from_dlpack)
    empty = _core.empty
    zeros = _core.zeros


def full(
    shape: Shape,
    fill_value: Number,
    dtype: DType | None = None,
    *,
    usm_type: UsmType = "device",
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new tensor with one value in all elements.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : bool, int, float or complex, of Python or NumPy
    dtype : optional
        As for `empty`. None: float32 for a float, complex64 for a complex number, int64 for an
        integer, bool for a bool, and the dtype of a scalar of NumPy.
    usm_type, device, order
        As for `empty`, which raises the same errors.

    Raises
    ------
    TypeError, ValueError
        If the dtype does not hold the value, such as int32 and 1.5.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.full((2, 2), 7, "int32").tolist()
    [[7, 7], [7, 7]]

    References
    ----------
    `full of the array API
    <https://data-apis.org/array-api/latest/API_specification/generated/array_api.full.html>`_
    """
    filling.check_number(fill_value)
    name = filling.default_dtype(fill_value) if dtype is None else dtype
    return empty(shape, name, usm_type=usm_type, device=device, order=order).fill(fill_value)


def ones(
    shape: Shape,
    dtype: DType = "float32",
    *,
    usm_type: UsmType = "device",
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new tensor of ones.

    Parameters
    ----------
    shape, dtype, usm_type, device, order
        As for `empty`, which raises the same errors.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.ones(3, "int8").tolist()
    [1, 1, 1]
    """
    tensor = empty(shape, dtype, usm_type=usm_type, device=device, order=order)
    return tensor.fill(filling.kind_of(tensor.dtype)(1))


def empty_like(
    x: Any,
    /,
    dtype: Any = None,
    *,
    usm_type: UsmType | None = None,
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new, uninitialised tensor with the shape, dtype and device of `x`.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
    dtype, usm_type, device : optional
        As for `empty`; None takes the value of `x`. For memory that belongs to no device this is
        device USM of the default device.
    order : {"C", "F"}

    Raises
    ------
    MemoryError
        If there is not enough memory.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> t = sx.zeros((2, 3), "int8", usm_type="host")
    >>> like = sx.empty_like(t, "float64")
    >>> like.shape, like.dtype_name, like.usm_type
    ((2, 3), 'float64', 'host')
    """
    return _new_like(x, dtype, usm_type, device, order, zero=False)


def zeros_like(
    x: Any,
    /,
    dtype: Any = None,
    *,
    usm_type: UsmType | None = None,
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new tensor of zeros with the shape, dtype and device of `x`.

    Parameters
    ----------
    x, dtype, usm_type, device, order
        As for `empty_like`, which raises the same errors.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> sx.zeros_like(np.ones((2, 2), "int32")).tolist()
    [[0, 0], [0, 0]]
    """
    return _new_like(x, dtype, usm_type, device, order, zero=True)


def _new_like(x: Any, dtype: Any, usm_type: Any, device: Any, order: Any, *, zero: bool) -> Tensor:
    source = _core.find_memory(x)
    where = place(device)
    if device is None and source.entry_id is not None:
        where = Placement(tensor_device(source), _core.own_queue(source))
    if usm_type is None:
        usm_type = kind_of_copy(source.usm_type, where.device.usm_types)
    name = source.dtype_name if dtype is None else dtype
    return new_tensor(source.shape, name, usm_type, where, order, zero)


def new_tensor(
    shape: Any, dtype: Any, usm_type: Any, device: Any, order: Any, zero: bool
) -> Tensor:
    """Return a new tensor, for the core's `empty` and `zeros`: arguments in any of their forms."""
    if is_int(dtype) or isinstance(dtype, (bool, np.bool_)):
        raise TypeError(
            f"dtype is {dtype!r}, which is not a dtype; pass the shape as one tuple: "
            f"{(shape, dtype)!r}"
        )
    lengths, name = indexing.as_shape(shape), dtype_name(dtype)
    check_word("usm_type", usm_type, ALLOCATED)
    check_order(order)
    where = device if isinstance(device, Placement) else place(device)
    entry, queue = where.device._entry, where.queue
    tensor = _core.allocate(entry, usm_type, name, lengths, order, queue, zero)
    return cast("Tensor", tensor)
