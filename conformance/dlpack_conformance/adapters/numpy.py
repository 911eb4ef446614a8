# SPDX-License-Identifier: Apache-2.0
"""``numpy.ndarray``."""

from dataclasses import replace
from typing import Any

import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import NO_ELEMENTS, NULL_DATA, NULL_SHAPE, OFFSET, UNKNOWN_DEVICE

ISSUE = "https://github.com/numpy/numpy/issues/30937"


def _readonly(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = values.copy()
    array.flags.writeable = False
    return array


def _index(array: Any, key: Any) -> Any:
    return array[(*key, ...) if isinstance(key, tuple) else key]  # never a scalar


adapter = Adapter(
    "numpy",
    np.array,
    np.from_dlpack,
    readonly=_readonly,
    index=_index,
    modules=("numpy",),
    known=(
        replace(UNKNOWN_DEVICE, issue=ISSUE, versions="<2.5"),
        Known(
            "producer-unsupported_device_is_a_buffer_error", UNKNOWN_DEVICE.reason, versions="<2.4"
        ),
        Known(
            "producer-strides_are_always_written", "strides are NULL in C order", versions="<2.4"
        ),
        Known("consumer-strides_overflow", OFFSET.reason),
        *(NULL_SHAPE, OFFSET, NULL_DATA, NO_ELEMENTS),
    ),
)
