# SPDX-License-Identifier: Apache-2.0
"""``mlx.core.array``."""

from typing import Any

import mlx.core as mx
import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import DAEMON, LEGACY, NANOBIND, NO_ELEMENTS, STREAMS, UNKNOWN_DEVICE


def _pending() -> tuple[Any, np.ndarray[Any, Any]]:
    ones = mx.ones((100, 100))
    for _ in range(20):
        ones = ones @ ones / 100
    mx.async_eval(ones)
    return ones, np.ones((100, 100), "float32")


adapter = Adapter(
    "mlx",
    mx.array,
    mx.from_dlpack,
    host=np.array,
    pending=_pending,
    known=(
        Known("producer-knows_version_1", "max_version is ignored"),
        Known("consumer-asks_for_version_1", LEGACY.reason),
        Known("producer-max_version_is_*", "arguments are ignored"),
        Known("consumer-takes_negative_strides", "refuses negative strides"),
        Known("consumer-imports_are_views", "every import is a copy"),
        Known(
            "consumer-negative_length consumer-null_shape_of_a_matrix consumer-strides_overflow "
            "consumer-offset_overflows consumer-null_data",
            "trusts the struct, and copies",
        ),
        *(*NANOBIND, NO_ELEMENTS, STREAMS, UNKNOWN_DEVICE, DAEMON),
    ),
)
