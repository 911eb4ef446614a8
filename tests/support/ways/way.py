# SPDX-License-Identifier: Apache-2.0
"""A row of the registry: a function, its result, and tags that the loops over rows select by."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

import sycl_ext as sx

#: The result of a way: the memory itself, wherever it is; a host view, a copy where the host
#: cannot reach the memory; memory of its own; one or the other; a new tensor like this one; a
#: number; the tensor itself, after it was written to; nothing of the memory.
VIEW, HOST, COPY, EITHER, NEW, NUMBER, WRITES, NOTHING = (
    "view", "host view", "copy", "view or copy", "new", "number", "writes", "nothing",
)  # fmt: skip


class Tag(Enum):
    """A fact about a way that decides in which tests it is."""

    DPNP = "imports dpnp, which submits commands of its own"
    TORCH = "imports torch"
    TVM_FFI = "imports tvm_ffi"
    DPCTL = "calls dpctl.memory, which submits commands of its own"
    EXCHANGE = "an exchange, which copies for a consumer that takes no such view"
    INTERFACE = "takes ``__sycl_usm_array_interface__``, which only USM has"
    C_TABLE = "takes the C exchange table, which only the default context has"
    LEGACY = "a capsule of before versions, which cannot say that it is read-only"
    WITHOUT_STREAM = "the producer waits for nothing, and only shows its queue"
    FIRST_COMMAND = "submits a barrier of the test to the queue of the result"
    KERNELS = "computes: it needs a device with kernels, and may change the dtype"
    SUB_DEVICE = "partitions the device equally, which the stand-in GPUs refuse"
    CPU_ONLY = "the device has to reach host memory, as only a CPU device does"
    COMMAND = "a command copies, also on the CPU device"
    ALLOCATES = "allocates USM of the size of the tensor"
    STAYS = "a copy, or a new tensor, that stays on the device and the queue of the tensor"
    KEEPS_FLAG = "a copy of read-only memory is read-only"
    UNINITIALIZED = "its elements may be anything"
    ONE_NUMBER = "right only where all elements are one number"


@dataclass(frozen=True)
class Way:
    """`call(tensor)` is the way; for `WRITES` it is `call(tensor, array)`."""

    call: Callable[..., Any]
    gives: str
    any: bool = False  # takes any producer, and not only a tensor
    host: bool = False  # the host has to reach the memory
    default: bool = False  # for a view, the memory has to be in the default context
    holds: bool = True  # a view keeps the memory alive
    readonly: bool = False  # a view is read-only
    flagless: bool = False  # the library knows no read-only memory
    dtype: str = "int64"  # in tests of one dtype
    takes: Callable[[sx.Tensor], bool] = lambda _tensor: True  # which dtypes and layouts
    like: Callable[[np.ndarray], Any] = lambda array: array  # the same in NumPy
    copies: int = 1  # commands, for memory that the host cannot reach
    tags: Set[Tag] = frozenset()

    @property
    def is_view(self) -> bool:
        return self.gives in (VIEW, HOST)
