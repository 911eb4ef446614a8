# SPDX-License-Identifier: Apache-2.0
"""A library whose arrays are SYCL memory: each keeps a ``sycl_ext.Tensor``, and forwards to it."""

from __future__ import annotations

from typing import Any

import sycl_ext as sx


class Field:
    """An array of numbers on a grid."""

    def __init__(self, memory: sx.Tensor) -> None:
        self._memory = memory

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> object:
        return self._memory.__dlpack__(**keywords)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Field:
    """Return a field over the memory of any DLPack producer."""
    return Field(sx.from_dlpack(x, device=device, copy=copy))
