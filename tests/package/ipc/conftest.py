# SPDX-License-Identifier: Apache-2.0
"""After each test of this folder, the process has as many open files as before."""

import gc
from pathlib import Path

import pytest

import sycl_ext as sx
from waiting import eventually


def _count():
    gc.collect()
    sx.memory.release_cached()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def open_files():
    """Counts the open files of this process, those that only garbage or a pool holds excepted."""
    return _count


@pytest.fixture(autouse=True)
def nothing_is_left(open_files):
    sx.device()  # the files that the runtime keeps open are open now
    before = open_files()
    yield
    assert eventually(lambda: open_files() == before)
