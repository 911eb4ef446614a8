# SPDX-License-Identifier: Apache-2.0
"""Never stale, never freed early, with kernels pending on the CPU device; see `pending`."""

import gc

import dpctl.memory
import pytest

import pending
import sycl_ext as sx
from pending_ways import DROPS, NBYTES, OLD, READS, WRITES, at, device, full_of, kernels_in, queue
from sycl_ext import _core
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


def test_the_collector_frees_nothing_that_another_queue_uses():
    """The first tensor, which the collector meets first, knows nothing of the view's queue."""
    memory = dpctl.memory.MemoryUSMDevice(NBYTES, queue=device().sycl_queue)
    sx.as_tensor(memory).copy_from(full_of(OLD, "uint8"))
    on = queue("in-order")
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=on)
    on.wait()
    before = _core.live_allocations()
    gc.disable()
    try:
        first = sx.as_tensor(memory)
        cycle = [first, first.to_device(on)]
        cycle.append(cycle)
        with kernels_in(private=False).gate() as gate:
            kernels_in(private=False).copy(on, gate, out.ptr, first.ptr, NBYTES)
            del memory, first, cycle
            gc.collect()
            assert _core.live_allocations() == before + 2  # the block as each of the two knows it
    finally:
        gc.enable()
    on.wait()
    assert at(out.ptr) == {OLD}
    assert eventually(lambda: _core.live_allocations() == before)
