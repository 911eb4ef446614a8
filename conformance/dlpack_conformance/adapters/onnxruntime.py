# SPDX-License-Identifier: Apache-2.0
"""``OrtValue``, as its C extension has it."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnxruntime import OrtValue
from onnxruntime.capi import onnxruntime_pybind11_state as state

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import (
    COMPACT,
    LEGACY,
    NULL_DATA,
    NULL_DELETER,
    NULL_SHAPE,
    OFFSET,
    STREAMS,
    SUB_INTERPRETER,
    UNKNOWN_DEVICE,
)


def _make(values: np.ndarray[Any, Any]) -> Any:
    value = OrtValue.ortvalue_from_shape_and_type(values.shape, values.dtype)  # its own memory
    value.update_inplace(values)
    return value._ortvalue


adapter = Adapter(
    "onnxruntime",
    _make,
    lambda x: state.OrtValue.from_dlpack(x.__dlpack__()),
    host=lambda value: value.numpy(),
    index=None,
    modules=("onnxruntime",),
    known=(
        Known("producer-dtype_bool", "bool is exported as uint8", versions="<1.32"),
        replace(NULL_DELETER, versions="<1.32"),
        Known("consumer-byte_offset_is_added", "byte_offset is ignored", versions="<1.32"),
        Known("producer-strides_are_always_written", "strides are NULL", versions="<1.32"),
        replace(OFFSET, versions="<1.32"),
        Known(
            "producer-knows_version_1 producer-knows_every_keyword",
            "__dlpack__ has no keyword but stream",
            "https://github.com/microsoft/onnxruntime/issues/24071",
        ),
        Known("producer-stream_is_* producer-stream_on_the_host_is_refused", STREAMS.reason),
        Known("consumer-takes_columns_first", COMPACT.reason),
        Known("consumer-ndim_minus_1", "ndim is not checked"),
        *(LEGACY, COMPACT, UNKNOWN_DEVICE, NULL_SHAPE, NULL_DATA, SUB_INTERPRETER),
    ),
)
