# SPDX-License-Identifier: Apache-2.0
"""Never stale, never freed early, with kernels pending on the CPU device; see `pending`."""

import pytest

import pending
from pending_ways import DROPS, READS, WRITES

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
