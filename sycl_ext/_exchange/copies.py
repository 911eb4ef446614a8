# SPDX-License-Identifier: Apache-2.0
"""Whether the result of a consumer is a copy, for ``copy=False``."""

import ctypes
import math
from typing import Any

from sycl_ext import _core
from sycl_ext._negotiation.errors import CopyRefusedError, is_refusal
from sycl_ext._negotiation.kinds import is_capsule


def check_no_copy(result: Any, source: _core.TensorBase, consumer: str) -> None:
    """Raise CopyRefusedError if the result is a copy of the source, as far as that can be known.

    It is a copy if it has the dtype, the shape and the elements of the source in other memory. A
    result with other elements was computed, and one whose memory is not known is not examined. Nor
    is a capsule, which can be used once, by the caller.
    """
    if is_capsule(result):
        return
    try:
        memory = _core.find_memory(result, copy=False)
    except Exception as error:
        if not is_refusal(error):
            raise
        return  # not an array, or its memory cannot be seen
    same = (memory.dtype_name, tuple(memory.shape)) == (source.dtype_name, tuple(source.shape))
    if not same or source.size == 0 or _overlap(memory, source) or _bits(memory) != _bits(source):
        return
    raise CopyRefusedError(
        f"copy=False was asked for, and {consumer} made a copy of what it was given; pass "
        "copy=None, or a function that does not copy"
    )


def _overlap(tensor: _core.TensorBase, other: _core.TensorBase) -> bool:
    (first, end), (other_first, other_end) = _extent(tensor), _extent(other)
    return first < other_end and other_first < end


def _extent(tensor: _core.TensorBase) -> tuple[int, int]:
    """Return the first address of the elements, and the one after the last."""
    nbytes, offset = _core.extent_of_elements(tensor)
    lowest = tensor.ptr - offset
    return lowest, lowest + nbytes


def _bits(tensor: _core.TensorBase) -> bytes:
    host = _core.copy_to_host(tensor)
    return ctypes.string_at(host.ptr, math.prod(host.shape) * host.itemsize)
