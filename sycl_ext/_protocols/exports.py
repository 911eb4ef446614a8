# SPDX-License-Identifier: Apache-2.0
"""``__dlpack__`` for everything except plain views: another device, a copy, a queue."""

from typing import Any

from sycl_ext import _core
from sycl_ext._devices.placement import resolve
from sycl_ext._devices.queues import NO_SYNC, queue_from
from sycl_ext._negotiation.arguments import check_flag, is_int
from sycl_ext._negotiation.dlpack import as_dl_device
from sycl_ext._protocols.live_exports import remember
from sycl_ext._protocols.plans import carry_out, plan_for
from sycl_ext._protocols.trace import ENABLED, note, traced


@traced
def export(
    tensor: _core.TensorBase, stream: Any, max_version: Any, dl_device: Any, copy: Any
) -> object:
    """Answer a ``__dlpack__`` call that the core does not answer itself."""
    versioned = _takes_versioned(max_version)
    allowed = check_flag("copy", copy, or_none=True)
    asked = None if dl_device is None else as_dl_device(dl_device, "dl_device")
    facts = _core.array_facts(tensor)
    plan = plan_for(facts, asked, allowed, by_consumer=True, versioned=versioned).check()
    label = asked or tensor.__dlpack_device__()
    named = resolve(label)
    if named.is_host and stream is not None:
        raise BufferError(f"stream is {stream!r}; an export to the host requires stream=None")
    if named.native is not None and stream is not None and not is_int(stream):
        raise TypeError(
            f"stream is {stream!r}; for a device of CUDA or ROCm it must be None, -1, or the "
            "library's stream as an int"
        )
    waits = not (is_int(stream) and stream == NO_SYNC)
    # SYCL cannot order a stream of CUDA or HIP after its work, so the host waits for the work.
    names_queue = waits and named.native is None and stream is not None
    consumer = queue_from(stream) if names_queue else None
    result = carry_out(plan, tensor, label)
    note(plan.route.value, tensor, plan.copies)
    if plan.copies == 0 and waits:  # a finished copy is safe on every queue
        if consumer is None:
            _core.synchronize(tensor)
        else:
            _core.order_after(consumer, tensor)
    mark = _core.ExportMark() if ENABLED else None
    capsule = _core.make_capsule(
        result,
        versioned=versioned,
        device=label,
        copied=plan.copies > 0,
        mark=mark,
        queue=consumer,
    )
    if mark is not None:
        remember(result, label, mark)
    return capsule


def _takes_versioned(max_version: Any) -> bool:
    """Return whether a consumer takes the versioned struct; None stands for DLPack 0.x."""
    if max_version is None:
        return False
    try:
        major, minor = max_version
    except (TypeError, ValueError):
        major = minor = None
    if not (is_int(major) and is_int(minor)):
        raise TypeError(
            f"max_version is {max_version!r}; it must be None or a pair of ints such as (1, 0)"
        )
    return major >= 1
