# SPDX-License-Identifier: Apache-2.0
"""Never stale, never freed early, with kernels pending on the CPU device; see `pending`."""

import gc
import weakref

import numpy as np
import pytest

import pending
import sycl_ext as sx
from pending_ways import DROPS, NBYTES, OLD, READS, WRITES, at, full_of, kernels_in, queue
from waiting import eventually

CELL = ("name", "queue", "kind")


@pytest.mark.parametrize(CELL, pending.cells(READS, "read"))
def test_what_is_read_is_new(name, queue, kind):
    assert pending.check_read(name, queue, kind) == ""


@pytest.mark.parametrize(CELL, pending.cells(WRITES, "write"))
def test_what_is_written_comes_later(name, queue, kind):
    assert pending.check_write(name, queue, kind) == ""


@pytest.mark.parametrize(CELL, pending.cells(DROPS, "drop"))
def test_what_is_dropped_stays(name, queue, kind):
    for nbytes in (1 << 10, 1 << 20):  # blocks of the pool, and of the runtime
        assert pending.check_drop(name, queue, kind, nbytes) == ""


class Array(np.ndarray):
    """Is taken as it is, and not through DLPack."""


def test_the_collector_frees_nothing_that_another_queue_uses():
    """The first tensor, which the collector meets first, knows nothing of the view's queue."""
    array = full_of(OLD)
    on = queue("in-order")
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=on)
    on.wait()
    gone = weakref.ref(array)
    gc.disable()
    try:
        first = sx.as_tensor(array.view(Array))
        cycle = [first, first.to_device(on)]
        cycle.append(cycle)
        with kernels_in(private=False).gate() as gate:
            kernels_in(private=False).copy(on, gate, out.ptr, first.ptr, NBYTES)
            del array, first, cycle
            gc.collect()
            assert gone() is not None
    finally:
        gc.enable()
    on.wait()
    assert at(out.ptr) == {OLD}
    assert eventually(lambda: gone() is None)
