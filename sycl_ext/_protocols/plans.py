# SPDX-License-Identifier: Apache-2.0
"""Makes the plan for the memory of a tensor, and carries it out."""

from typing import Any

from sycl_ext import _core
from sycl_ext._devices.placement import resolve
from sycl_ext._negotiation.dlpack import DLDevice
from sycl_ext._negotiation.rules import Plan, Relation, Route, kind_of_copy, plan


def plan_for(
    facts: _core.ArrayFacts,
    device: DLDevice | None,
    copy: bool | None,
    *,
    by_consumer: bool = False,
    **limits: Any,
) -> Plan:
    """Plan for a DLPack device; None: that of ``__dlpack_device__``.

    `by_consumer` is that of `rules.plan`. The limits are those of `_core.request_for`. `ours`: this
    package takes the data. It knows the entries, and takes host memory that the device can read. A
    third party expects USM of the default context under a root id.
    """
    if device is not None and not all(-(1 << 31) <= number < 1 << 31 for number in device):
        return plan(Relation.UNKNOWN, copy, facts, device)  # the numbers of DLPack have 32 bits
    request = _core.request_for(facts, device, **limits)
    row = Relation[_core.relation(facts, request)]
    return plan(row, copy, facts, request.device, by_consumer=by_consumer)


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
