# SPDX-License-Identifier: Apache-2.0
"""The facts of tensors for the negotiation, and the steps of a plan."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, TypeGuard
from weakref import ProxyTypes

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import resolve
from sycl_ext._negotiation.dlpack import DeviceType, DLDevice
from sycl_ext._negotiation.rules import Plan, Relation, Route, kind_of_copy, plan


def plan_for(
    facts: _core.ArrayFacts, device: DLDevice | None, copy: bool | None, **limits: Any
) -> Plan:
    """Plan for a DLPack device; None: that of ``__dlpack_device__``.

    The limits are those of `_core.request_for`. `ours`: this package takes the data. It knows the
    entries, and takes host memory that the device can read. A third party expects USM of the
    default context under a root id.
    """
    if device is not None and not all(-(1 << 31) <= number < 1 << 31 for number in device):
        return plan(Relation.UNKNOWN, copy, facts, device)  # the numbers of DLPack have 32 bits
    request = _core.request_for(facts, device, **limits)
    row = Relation[_core.relation(facts, request)]
    return plan(row, copy, facts, request.device)


@functools.lru_cache(maxsize=256)
def is_native(entry_id: int) -> bool:
    """Whether a device has memory for which DLPack has names of CUDA or ROCm."""
    return by_id(entry_id).backend in ("cuda", "hip")


def native_device(entry_id: int, usm_type: str) -> DLDevice | None:
    """Return CUDA's or ROCm's name of a kind of USM of a root device, or None: it has none."""
    for device_type, ordinal in itertools.product(DeviceType, range(_core.root_count())):
        device = (int(device_type), ordinal)
        named = resolve(device)
        if named.entry is not None and (named.entry.id, named.kind) == (entry_id, usm_type):
            return device
    return None


def carry_out(planned: Plan, tensor: _core.TensorBase, target: DLDevice) -> _core.TensorBase:
    """Return the memory of a plan (a tensor of the base class or a `Tensor`)."""
    if planned.route in (Route.VIEW, Route.HOST_VIEW):
        return tensor
    if planned.route is Route.HOST_COPY:
        return _core.copy_to_host(tensor)
    native = resolve(target).native
    if native is not None:
        entry, kind = native
        return _core.copy_to_entry(tensor, entry, kind)
    return copy_to(tensor, _core.entry(target[1]))


def copy_to(tensor: _core.TensorBase, entry: _core.Entry) -> _core.TensorBase:
    """Return a compact copy on an entry, of the same kind of USM where the entry has it."""
    kind = kind_of_copy(tensor.usm_type, entry.usm_types)
    return _core.copy_to_entry(tensor, entry, kind)


def compact_strides(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a compact tensor in the order of `axes`; the other axes get 0."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


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
