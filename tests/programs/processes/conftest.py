# SPDX-License-Identifier: Apache-2.0
"""``make test-processes``: clusters and ranks, which take their time to start."""

import os

import pytest

if os.environ.get("SYCL_EXT_PROCESSES") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def nothing_leaks():
    """Not here: the scheduler, in this process, keeps what it has sent as long as it sees fit."""
