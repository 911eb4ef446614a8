# SPDX-License-Identifier: Apache-2.0
"""``jax.Array``, with 64 bits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import (
    COMPACT,
    DAEMON,
    LEGACY,
    NO_ELEMENTS,
    NULL_DATA,
    NULL_DELETER,
    NULL_SHAPE,
    OFFSET,
    SUB_INTERPRETER,
    UNKNOWN_DEVICE,
)

jax.config.update("jax_enable_x64", True)


def _pending() -> tuple[Any, np.ndarray[Any, Any]]:
    ones = jnp.ones((200, 200), "float32")
    for _ in range(20):
        ones = ones @ ones / 200
    return ones, np.ones((200, 200), "float32")


adapter = Adapter(
    "jax",
    jnp.asarray,
    jax.dlpack.from_dlpack,
    readonly=jnp.asarray,  # its arrays are immutable
    pending=_pending,
    modules=("jax",),
    known=(
        Known("consumer-copy_true_owns_its_memory", "copy=True shares the memory"),
        Known("producer-knows_version_1", "max_version is ignored"),
        Known("producer-readonly_needs_a_version", "immutable arrays are exported as writable"),
        Known("producer-max_version_is_short producer-copy_is_a_text", "arguments are not checked"),
        Known(
            "consumer-other_device_than_announced",
            "the device comes from __dlpack_device__, and not from the struct",
        ),
        *(NULL_DELETER, NO_ELEMENTS, LEGACY, COMPACT, UNKNOWN_DEVICE, NULL_SHAPE, OFFSET),
        *(NULL_DATA, DAEMON, SUB_INTERPRETER),
    ),
)
