# SPDX-License-Identifier: Apache-2.0
"""``pyarrow.Tensor``."""

from pyarrow import Tensor

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import DAEMON, NULL_DATA, OFFSET, UNKNOWN_DEVICE

adapter = Adapter(
    "pyarrow",
    lambda values: Tensor.from_numpy(values.copy()),
    Tensor.from_dlpack,
    host=lambda tensor: tensor.to_numpy(),
    index=None,
    modules=("pyarrow",),
    known=(
        Known("consumer-producer_without_keywords", "a producer of 2021 is not asked again"),
        Known("consumer-takes_negative_strides", "refuses negative strides"),
        Known("producer-max_version_is_short producer-copy_is_a_text", "arguments are not checked"),
        Known("consumer-count_overflows", OFFSET.reason),
        *(OFFSET, UNKNOWN_DEVICE, NULL_DATA, DAEMON),
    ),
)
