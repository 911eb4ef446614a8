# SPDX-License-Identifier: Apache-2.0
"""``tf.Tensor``, through ``tf.experimental.dlpack``."""

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from dlpack_conformance import Adapter, Known
from dlpack_conformance.bench import NotOfferedError
from dlpack_conformance.known import (
    COMPACT,
    LEGACY,
    NO_ELEMENTS,
    NULL_SHAPE,
    UNKNOWN_DEVICE,
)

dlpack = tf.experimental.dlpack


class Producer:
    """A tensor, which has no ``__dlpack__`` itself."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the host."""
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        """Return a capsule; the library has no function that takes the keywords."""
        if keywords:
            raise NotOfferedError("has no __dlpack__")
        return dlpack.to_dlpack(self._tensor)


adapter = Adapter(
    "tensorflow-cpu",
    tf.constant,
    lambda x: dlpack.from_dlpack(x.__dlpack__()),
    host=lambda tensor: tensor.numpy(),
    producer=Producer,
    modules=("tensorflow",),
    known=(
        Known("consumer-takes_columns_first", COMPACT.reason),
        Known("consumer-extent_overflows", "an extent that overflows ends the process"),
        Known("consumer-dtype_of_0_lanes consumer-lanes", "lanes are ignored"),
        Known(
            "consumer-other_device_than_announced",
            "after the error the deleter has run, and the capsule is not renamed",
        ),
        *(COMPACT, NO_ELEMENTS, LEGACY, UNKNOWN_DEVICE, NULL_SHAPE),
    ),
)
