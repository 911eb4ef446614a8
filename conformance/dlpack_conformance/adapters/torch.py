# SPDX-License-Identifier: Apache-2.0
"""``torch.Tensor``; on an accelerator when there is one."""

from dataclasses import replace

import torch

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import (
    DAEMON,
    NULL_DATA,
    NULL_SHAPE,
    OFFSET,
    SHORT_VERSION,
    SUB_INTERPRETER,
    UNKNOWN_DEVICE,
)

ISSUES = "https://github.com/pytorch/pytorch/issues/"
DEVICE = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"

adapter = Adapter(
    "torch",
    lambda values: torch.from_numpy(values.copy()).to(DEVICE),
    torch.utils.dlpack.from_dlpack,
    host=lambda tensor: tensor.cpu().numpy(),
    modules=("torch",),
    known=(
        Known(
            "consumer-negative_strides consumer-takes_negative_strides",
            "negative strides end the process",
            f"{ISSUES}188023",
        ),
        Known(
            "consumer-readonly_is_not_written_to consumer-readonly_survives_an_export",
            "the flag READ_ONLY is ignored",
            f"{ISSUES}44027",
        ),
        Known("producer-copy_true_sets_the_flag", "a copy does not have the flag IS_COPIED"),
        Known("producer-unsupported_device_is_a_buffer_error", UNKNOWN_DEVICE.reason),
        Known("consumer-ndim_minus_1", "ndim is not checked"),
        Known(
            "consumer-extent_overflows consumer-strides_overflow",
            "an extent that overflows ends the process",
        ),
        Known(
            "consumer-count_overflows",
            "after the error the deleter has run, and the capsule is not renamed",
        ),
        *(UNKNOWN_DEVICE, NULL_SHAPE, OFFSET, NULL_DATA, SHORT_VERSION),
        *(DAEMON, replace(SUB_INTERPRETER, sometimes=True)),
    ),
)
