# SPDX-License-Identifier: Apache-2.0
"""These tests run on the stand-in GPU, in a process that ``tests/ordering/test_sync.py`` starts."""

import os

import pytest

if os.environ.get("SYCL_EXT_ENVIRONMENT") != "sync":
    collect_ignore_glob = ["test_*.py"]
else:
    import lab

    @pytest.fixture(scope="session")
    def bench():
        return lab.Bench()

    @pytest.fixture(autouse=True)
    def at_rest(bench):
        """Each test leaves the queues as it finds them: they carry out their commands at once."""
        yield
        bench.release()
