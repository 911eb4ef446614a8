# SPDX-License-Identifier: Apache-2.0
"""A host view waits for the work on the queue of the memory that it is a view of."""

from __future__ import annotations

import ml_dtypes  # noqa: F401 (NumPy knows the dtypes by name)
import numpy as np
import pytest

import sycl_ext as sx
import ways
from lab import DTYPE, NBYTES, of, usm
from ways import WAYS

#: Ways of anything, here of a host view of shared or host USM, to data that has to be there.
ANYTHING = [
    name
    for name, way in WAYS.items()
    if way.any and way.gives in (ways.VIEW, ways.HOST, ways.COPY, ways.EITHER)
]


@pytest.mark.parametrize("own_queue", [False, True], ids=["the device's queue", "its own queue"])
@pytest.mark.parametrize("usm_type", ["shared", "host"])
@pytest.mark.parametrize("way", ANYTHING)
def test_no_way_out_of_a_host_view_is_ahead_of_pending_work(bench, way, usm_type, own_queue):
    queue = bench.queue("in_order") if own_queue else bench.gpu.sycl_queue
    tensor = bench.tensor(usm_type, device=queue if own_queue else None)
    memory, view = usm(tensor), sx.host_view(tensor)

    def repeat(value):
        bench.write(queue, memory, value)
        return of(ways.content(WAYS[way].call(view)))

    assert bench.stale(repeat) == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_a_dtype_without_a_buffer_format_waits_too(bench, dtype):
    """NumPy requests such an array only through ``__array__``."""
    queue = bench.queue("in_order")
    tensor = sx.zeros(NBYTES // np.dtype(dtype).itemsize, dtype, usm_type="shared", device=queue)
    view, memory = sx.host_view(tensor), usm(Bytes(tensor))

    def repeat(value):
        bench.write(queue, memory, value)
        return of(np.asarray(view).view(DTYPE))

    assert bench.stale(repeat) == []


class Bytes:
    """A tensor of any dtype as dpctl sees it, who knows no bfloat16."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def __sycl_usm_array_interface__(self):
        fields = self.tensor.__sycl_usm_array_interface__
        return {**fields, "typestr": "|u1", "shape": (NBYTES,)}
