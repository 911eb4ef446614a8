# SPDX-License-Identifier: Apache-2.0
"""Pickling and unpickling of tensors.

A pickled tensor is the name of `load`, plain Python values, and one buffer of raw bytes: the
elements in the order of memory. With protocol 5 the buffer can be out of band; it is then the
memory itself if the host can access it.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.description import read_portable
from sycl_ext._devices.device import by_id
from sycl_ext._devices.placement import Placement, place
from sycl_ext._devices.portable import nearest, portable
from sycl_ext._negotiation.rules import kind_of_copy
from sycl_ext._negotiation.usm_types import USM_TYPES
from sycl_ext._protocols.dtypes import ITEMSIZES
from sycl_ext._protocols.tensors import compact_strides
from sycl_ext._setup import startup
from sycl_ext._tensor import indexing

#: The layout of what `reduce` returns.
FORMAT = 2

_MAX_NDIM = 64

_target: ContextVar[Placement | None] = ContextVar("sycl_ext.pickling.to_device", default=None)


@contextmanager
def to_device(device: Any) -> Iterator[None]:
    """Unpickle tensors on this device, within a ``with`` block.

    By default, tensors are unpickled on the device on which they were pickled, which is found by
    its UUID. Where a process does not have it, a warning names the device that is used: the most
    similar one, of the same type, if possible of the same backend, with the nearest number, and on
    the same sub-device of it; if there is no device of that type, the default device.

    Parameters
    ----------
    device : Device or any ``device=`` form
        A ``dpctl.SyclQueue`` becomes the queue of the tensors.

    Examples
    --------
    >>> import pickle, sycl_ext as sx
    >>> data = pickle.dumps(sx.zeros(3))
    >>> half = sx.device().create_sub_devices([1, 1])[0]
    >>> with sx.pickling.to_device(half):
    ...     t = pickle.loads(data)
    >>> t.device is half
    True
    """
    target, before = place(device), _target.get()
    try:
        _target.set(target)
        yield
    finally:
        _target.set(before)


# ---- out -----------------------------------------------------------------------------------------


def reduce(tensor: _core.TensorBase, protocol: int, *, to_host: bool = False) -> tuple[Any, ...]:
    """Return the result of ``__reduce_ex__``; `to_host`: of a host view, which stays one."""
    shape, strides = tensor.shape, tensor.strides
    axes = indexing.memory_axes(shape, strides)
    axes = tuple(axis for axis in axes if shape[axis] <= 1 or strides[axis] != 0)  # no repetitions
    stored = _core.view(tensor, 0, *indexing.with_axes(shape, strides, axes))
    buffer = _bytes_of(stored)
    entry_id = None if to_host else tensor.entry_id
    device = None if entry_id is None else tuple(portable(by_id(entry_id)))
    return load_host_view if to_host else load, (
        FORMAT,
        tensor.dtype_name,
        tensor.shape,
        axes,
        tensor.usm_type,
        tensor.readonly,
        device,
        pickle.PickleBuffer(buffer) if protocol >= 5 else bytes(buffer),
    )


def _bytes_of(tensor: _core.TensorBase) -> memoryview:
    """Return the bytes of the elements in C order: the memory itself if the host can access it.

    They are read-only: the receiver copies them to a device, and does not need to write to them.
    """
    if tensor.size == 0:
        return memoryview(b"")
    if tensor.host_accessible and tensor.c_contiguous:
        _core.synchronize(tensor)
    else:
        tensor = _core.copy_to_host(tensor)
    raw = _core.borrow(tensor.ptr, "uint8", (tensor.nbytes,), (1,), readonly=True, owner=tensor)
    return memoryview(raw)


# ---- in ------------------------------------------------------------------------------------------


class _Pickled(NamedTuple):
    """The checked parts of a pickle."""

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    usm_type: str
    readonly: bool
    device: Any
    data: memoryview

    def elements(self) -> _core.TensorBase:
        """Return the stored elements, as a view of the pickle's bytes."""
        stored = tuple(self.shape[axis] for axis in self.axes)
        pointer = 0
        if self.data.nbytes:
            pointer = np.frombuffer(self.data, np.uint8).__array_interface__["data"][0]
        strides = compact_strides(stored, range(len(stored)))
        return _core.borrow(pointer, self.dtype, stored, strides, readonly=True, owner=self.data)

    def in_order(self, tensor: _core.TensorBase) -> _core.TensorBase:
        """Return a copy of the elements with the axes of the pickled tensor."""
        if not self.readonly and self.axes == tuple(range(len(self.shape))):
            return tensor
        strides = compact_strides(self.shape, self.axes)
        return _core.view(tensor, 0, self.shape, strides, readonly=self.readonly)


def load(version: Any, *fields: Any) -> _core.TensorBase:
    """Make a tensor from the fields of a pickle, after checking all of them."""
    pickled = _read(version, fields)
    placement = _placement_for(pickled.device)
    kind = kind_of_copy(pickled.usm_type, placement.device.usm_types, moves=False)
    given = pickled.elements()
    tensor = _core.empty(given.shape, pickled.dtype, usm_type=kind, device=placement)
    if given.size:
        _core.copy_elements(tensor, given)
    return pickled.in_order(tensor)


def load_host_view(version: Any, *fields: Any) -> _core.TensorBase:
    """Make a host view, in host memory, from the fields of a pickle."""
    pickled = _read(version, fields)
    return _core.as_host_view(pickled.in_order(_core.copy_to_host(pickled.elements())))


def _read(version: Any, fields: tuple[Any, ...]) -> _Pickled:
    """Check the fields of a pickle."""
    startup.load_core()  # this may be the first use of the package in the process
    if type(version) is not int or version != FORMAT:
        raise _refused(f"its format is {version!r}, not {FORMAT}; update sycl_ext")
    if len(fields) != 7:
        raise _refused(f"it has {len(fields)} fields after the format, not 7")
    dtype, shape, axes, usm_type, readonly, device, buffer = fields
    stored = _check_layout(dtype, shape, axes)
    if type(usm_type) is not str or usm_type not in USM_TYPES:
        raise _refused(f"usm_type is {usm_type!r}; it must be one of {', '.join(USM_TYPES)}")
    if type(readonly) is not bool:
        raise _refused(f"readonly is {readonly!r}")
    data = _check_buffer(buffer, prod(stored) * ITEMSIZES[dtype])
    return _Pickled(dtype, shape, axes, usm_type, readonly, device, data)


def _refused(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f"this is not a pickle of a sycl_ext.Tensor: {what}")


def _check_layout(dtype: Any, shape: Any, axes: Any) -> tuple[int, ...]:
    """Return the lengths of the stored axes, in the order of memory."""
    if type(dtype) is not str or dtype not in ITEMSIZES:
        raise _refused(f"dtype is {dtype!r}; it must be one of {', '.join(ITEMSIZES)}")
    if type(shape) is not tuple or len(shape) > _MAX_NDIM:
        raise _refused(f"the shape is not a tuple of at most {_MAX_NDIM} lengths")
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise _refused(f"the shape is {shape!r}")
    if prod(max(n, 1) for n in shape) * ITEMSIZES[dtype] >= 1 << 63:
        raise _refused(f"shape {shape!r} exceeds the address space")
    if type(axes) is not tuple or not all(type(axis) is int for axis in axes):
        raise _refused(f"the order of the axes is {axes!r}")
    if len(set(axes)) != len(axes) or not set(axes) <= set(range(len(shape))):
        raise _refused(f"{axes!r} is not an order of {len(shape)} axes")
    return tuple(shape[axis] for axis in axes)


def _check_buffer(buffer: Any, nbytes: int) -> memoryview:
    try:
        data = pickle.PickleBuffer(buffer).raw()
    except (TypeError, BufferError, ValueError) as error:
        raise _refused(f"its bytes are of type {type(buffer).__name__}: {error}") from error
    if data.nbytes != nbytes:
        raise _refused(f"it has {data.nbytes} bytes, but its dtype and shape require {nbytes}")
    return data


def _placement_for(device: Any) -> Placement:
    """Return where to unpickle a tensor, after checking the device that its pickle names."""
    try:
        wanted = None if device is None else read_portable(device)
    except ValueError as error:
        raise _refused(str(error)) from None
    target = _target.get()
    if target is not None:
        return target
    return place(None) if wanted is None else Placement(nearest(wanted))
