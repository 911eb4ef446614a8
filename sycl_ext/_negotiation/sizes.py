# SPDX-License-Identifier: Apache-2.0
"""The size of an array in memory, as logs and messages state it. Pure Python."""

from collections.abc import Sequence
from math import prod
from typing import Protocol


class Sized(Protocol):
    """The attributes that the size depends on; the strides are in elements."""

    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def strides(self) -> Sequence[int]: ...
    @property
    def itemsize(self) -> int: ...


def memory_bytes(array: Sized) -> int:
    """Return the number of bytes of memory that the elements take up; a repeated one counts once.

    ``nbytes`` counts indices: it is 4 TB for 4 bytes that are broadcast to a trillion elements.
    """
    if 0 in array.shape:
        return 0
    steps = [
        (n, abs(step)) for n, step in zip(array.shape, array.strides, strict=True) if n > 1 and step
    ]
    span = 1 + sum((n - 1) * step for n, step in steps)  # overlapping windows take less
    return min(span, prod(n for n, _ in steps)) * array.itemsize
