# SPDX-License-Identifier: Apache-2.0
"""Helpers for objects that may be tensors."""

from collections.abc import Sequence
from typing import Any, TypeGuard
from weakref import ProxyTypes

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id


def is_tensor(x: object) -> TypeGuard[_core.TensorBase]:
    """Whether the core treats `x` as a tensor; `isinstance` trusts the ``__class__`` of a proxy."""
    return issubclass(type(x), _core.TensorBase)


def strong(x: Any) -> Any:
    """Return the referent of a ``weakref.proxy``, which a view keeps alive, or `x` itself."""
    return x.__repr__.__self__ if type(x) in ProxyTypes else x


def tensor_device(tensor: _core.TensorBase) -> Device:
    """Return the device of a tensor that has an entry."""
    if tensor.entry_id is None:
        raise ValueError("the memory is plain host memory, which does not belong to a SYCL device")
    return by_id(tensor.entry_id)


def compact_strides(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a compact tensor in the order of `axes`; the other axes get 0."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)
