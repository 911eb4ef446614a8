# SPDX-License-Identifier: Apache-2.0
"""``sycl_ext.Tensor``, for ``pytest --pyargs dlpack_conformance --dlpack=sycl_ext``."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import numpy as np

import sycl_ext as sx
from dlpack_conformance import Adapter

__all__ = ["adapter"]


def _make(values: np.ndarray[Any, Any], **where: Any) -> Any:
    return sx.empty(values.shape, values.dtype, **where).copy_from(values)


def _write(tensor: Any, value: Any) -> None:
    tensor.copy_from(np.full(tensor.shape, value, tensor.dtype))


@functools.cache  # memory must not be freed while commands use it
def _sources() -> tuple[Any, Any, Any]:
    """Return a queue, and device memory of zeros and of ones."""
    dpctl: Any = import_module("dpctl")
    memory: Any = import_module("dpctl.memory")
    queue = dpctl.SyclQueue(property="in_order")
    zeros, ones = (memory.MemoryUSMDevice(8 << 20, queue=queue) for _ in range(2))
    zeros.copy_from_host(np.zeros(zeros.nbytes, "uint8"))
    ones.copy_from_host(np.ones(ones.nbytes, "uint8"))
    return queue, zeros, ones


def _pending() -> tuple[Any, np.ndarray[Any, Any]]:
    """Return memory to which a device copies zeros, many times, and then ones.

    dpnp is not used for this: without kernels, it frees memory that a command still uses.
    """
    queue, zeros, ones = _sources()
    memory: Any = import_module("dpctl.memory")
    allocated = memory.MemoryUSMShared(ones.nbytes, queue=queue)
    for source in [zeros] * 20 + [ones]:
        queue.memcpy_async(allocated, source, ones.nbytes)
    return sx.as_tensor(allocated), np.ones(ones.nbytes, "uint8")


adapter = Adapter(
    "sycl_ext",
    _make,
    sx.from_dlpack,
    host=lambda tensor: tensor.to_numpy(),
    write=_write,
    readonly=lambda values: _make(values).as_readonly(),
    pending=_pending,
    on_queue=lambda values, queue: _make(values, device=queue),
    modules=("sycl_ext",),
)
