# SPDX-License-Identifier: Apache-2.0
"""The strict implementation of the array API standard, over NumPy."""

from dataclasses import replace

import array_api_strict as xp
import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.adapters.numpy import ISSUE
from dlpack_conformance.known import NO_ELEMENTS, NULL_DATA, NULL_SHAPE, OFFSET, UNKNOWN_DEVICE

adapter = Adapter(
    "array-api-strict",
    lambda values: xp.asarray(values, copy=True),
    xp.from_dlpack,
    host=np.from_dlpack,
    modules=("array_api_strict",),
    known=(
        Known("consumer-strides_overflow", OFFSET.reason),
        replace(UNKNOWN_DEVICE, issue=ISSUE),
        *(NULL_SHAPE, OFFSET, NULL_DATA, NO_ELEMENTS),
    ),
)
