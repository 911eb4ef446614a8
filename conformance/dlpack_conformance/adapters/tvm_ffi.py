# SPDX-License-Identifier: Apache-2.0
"""``tvm_ffi.Tensor``."""

from dataclasses import replace

import numpy as np
import tvm_ffi

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import (
    DAEMON,
    LEGACY,
    NO_ELEMENTS,
    SHORT_VERSION,
    STREAMS,
    SUB_INTERPRETER,
    UNCHECKED,
)

adapter = Adapter(
    "apache-tvm-ffi",
    lambda values: tvm_ffi.from_dlpack(values.copy()),
    tvm_ffi.from_dlpack,
    host=np.from_dlpack,
    index=None,
    modules=("tvm_ffi",),
    known=(
        Known("producer-older_version_is_respected", "max_version=(0, 8) is an AttributeError"),
        Known("producer-copies_on_request", "copy=True is refused"),
        Known("consumer-ndim_minus_1", UNCHECKED.reason),
        *(UNCHECKED, NO_ELEMENTS, STREAMS, LEGACY, SHORT_VERSION, DAEMON),
        replace(SUB_INTERPRETER, sometimes=True),
    ),
)
