# SPDX-License-Identifier: Apache-2.0
"""A namespace of the array API for array-api-tests: NumPy, with our exports and imports.

    ARRAY_API_TESTS_MODULE=suite_array_api_tests.xp

The suite is in no package index; $SYCL_EXT_ARRAY_API_TESTS names a checkout, with its submodule.
It needs pytest-json-report and ndindex.
"""

from __future__ import annotations

import numpy as np

from standing_in import StandIn, converted
from suite_numpy import from_dlpack, ours

NAMES = (
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like", "reshape", "astype", "broadcast_to",
)  # fmt: skip

xp = StandIn(np, from_dlpack=from_dlpack, **converted(ours, np, *NAMES))
