# SPDX-License-Identifier: Apache-2.0
"""``dpnp.ndarray``, on dpctl's default device."""

from dataclasses import replace
from typing import Any

import dpnp
import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import DAEMON, NO_ELEMENTS, NULL_DELETER, OFFSET


def _host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else dpnp.asnumpy(array)


def _readonly(values: np.ndarray[Any, Any]) -> Any:
    array = dpnp.asarray(values)
    array.flags.writable = False
    return array


def _pending() -> tuple[Any, np.ndarray[Any, Any]]:
    """Return the sum of many numbers, in memory that the host can access."""
    count, steps = 1_000_000, 10
    zeros, array = (dpnp.zeros(count, dtype="int64", usm_type="shared") for _ in range(2))
    for step in range(1, steps + 1):
        dpnp.add(zeros, step, out=array)
    return array, np.full(count, steps)


adapter = Adapter(
    "dpnp",
    lambda values: dpnp.asarray(values, copy=True),
    dpnp.from_dlpack,
    host=_host,
    readonly=_readonly,
    pending=_pending,
    on_queue=lambda values, queue: dpnp.asarray(values, copy=True, sycl_queue=queue),
    modules=("dpnp",),
    known=(
        Known(
            "producer-writable_is_not_flagged", "an array of 0 dimensions has the flag READ_ONLY"
        ),
        Known(
            "consumer-null_strides_mean_compact",
            "strides that are NULL end the process",
            memory="own",
        ),
        Known(
            "consumer-byte_offset_is_added",
            "byte_offset is ignored in host memory",
            memory="host",
        ),
        Known(
            "consumer-pending_work_reaches_a_copy producer-pending_work_*",
            "work that is pending is not waited for",
            sometimes=True,
        ),
        Known("producer-readonly_needs_a_version", "a read-only array is exported silently"),
        Known("producer-no_synchronisation_on_request", "stream=-1 is refused"),
        Known("producer-address_of_a_queue_is_a_stream", "stream takes only a dpctl.SyclQueue"),
        Known(
            "producer-sub_device_is_exported producer-private_context_is_not_handed_over",
            "DLPackCreationError, which is not a BufferError",
        ),
        Known(
            "consumer-takes_negative_strides",
            "refuses negative strides with byte_offset 0",
            memory="own",
        ),
        Known(
            "consumer-ndim_minus_1 consumer-null_shape_of_a_matrix",
            "ndim and shape are not checked",
        ),
        Known("consumer-strides_overflow", OFFSET.reason),
        Known(
            "consumer-negative_length consumer-extent_overflows consumer-count_overflows",
            "the shape is not checked",
            memory="own",
        ),
        replace(OFFSET, memory="host"),
        Known("producer-copy_is_a_text", "copy takes anything"),
        Known("producer-deleter_after_the_interpreter", "the deleter needs a living interpreter"),
        *(NULL_DELETER, NO_ELEMENTS, replace(DAEMON, memory="own")),
    ),
)
