# SPDX-License-Identifier: Apache-2.0
"""Tensors on GPUs."""

from __future__ import annotations

from typing import Any

import sycl_ext as sx
from samples import values

VERSIONED: dict[str, Any] = {"max_version": (1, 0)}
HOST: dict[str, Any] = {"dl_device": (1, 0), **VERSIONED}


def numbers(
    device: Any,
    usm_type: str = "device",
    shape: tuple[int, ...] | int = (2, 3),
    dtype: str = "float32",
) -> sx.Tensor:
    """A tensor of `values`."""
    return sx.empty(shape, dtype, usm_type=usm_type, device=device).copy_from(values(shape, dtype))
