# SPDX-License-Identifier: Apache-2.0
"""A host view waits for the work on the queue of the memory that it is a view of."""

from __future__ import annotations

import ml_dtypes  # noqa: F401 (NumPy knows the dtypes by name)
import pytest

import sycl_ext as sx
import ways
from lab import of, usm
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
