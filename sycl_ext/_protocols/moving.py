# SPDX-License-Identifier: Apache-2.0
"""The last step of every import, and ``to_device``: the tensor goes to the requested device."""

from typing import Any

from sycl_ext import _core
from sycl_ext._devices.placement import Placement, place
from sycl_ext._devices.queues import NO_SYNC, queue_from
from sycl_ext._negotiation.arguments import is_int
from sycl_ext._negotiation.rules import Route, kind_of_copy
from sycl_ext._negotiation.usm_types import UsmType, check_usm_type
from sycl_ext._protocols.plans import plan_for
from sycl_ext._protocols.tensors import tensor_device
from sycl_ext._protocols.trace import note


def to_device(
    tensor: _core.TensorBase,
    device: Any,
    stream: Any,
    copy: bool | None,
    usm_type: UsmType | None,
) -> _core.TensorBase:
    """Implement ``to_device`` of a tensor, except for a view where the tensor already is."""
    where, kind = place(device), check_usm_type(usm_type)
    names_queue = stream is not None and not (is_int(stream) and stream == NO_SYNC)
    queue = queue_from(stream) if names_queue else None
    if queue is not None:
        queue.wait()
    moved = move(_core.as_usm(tensor), where, copy, kind)
    if queue is not None:
        _core.order_after(queue, moved)
    return moved


def move(
    tensor: _core.TensorBase,
    placement: Placement | None,
    copy: bool | None,
    usm_type: UsmType | None = None,
) -> _core.TensorBase:
    """Bring a tensor to a device, into a kind of USM: without a copy, with one, or not at all."""
    if tensor.entry_id is None:
        tensor = _core.as_usm(tensor, thorough=copy is False)  # not found: refused
    is_host_memory = tensor.entry_id is None
    if is_host_memory and placement is None:
        placement = place(None)
    elif placement is None and copy is None and usm_type in (None, tensor.usm_type):
        note(Route.VIEW.value, tensor, 0)
        return tensor
    target = tensor_device(tensor) if placement is None else placement.device
    queue = None if placement is None else placement.queue
    plan = plan_for(
        _core.array_facts(tensor), target.__dlpack_device__(), copy, ours=True, usm_type=usm_type
    ).check()
    note(plan.route.value, tensor, plan.copies)
    if plan.route is not Route.VIEW:
        kind = usm_type or kind_of_copy(tensor.usm_type, target.usm_types)
        return _core.copy_to_entry(tensor, target._entry, kind, queue=queue)
    if is_host_memory:
        return _core.adopt(tensor, target._entry, queue=queue)
    if queue is None:
        return tensor
    _core.order_after(queue, tensor)
    return _core.on_queue(tensor, queue)
