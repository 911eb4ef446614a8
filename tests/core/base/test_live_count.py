# SPDX-License-Identifier: Apache-2.0
"""Exports and blocks are counted, whichever thread makes them and gives them back."""

import os

import pytest

import sycl_ext as sx
from sycl_ext import _core


def counts():
    return sx.memory.live_exports(), _core._test.live_allocations()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # where threads are
def test_forked_child_goes_on_counting():
    kept = sx.zeros(3).__dlpack__(max_version=(1, 0))
    before = counts()
    child = os.fork()
    if child == 0:
        code = 1
        try:  # an error must not leave a second process of pytest behind
            more = sx.zeros(3).__dlpack__(max_version=(1, 0))
            grown = counts() == (before[0] + 1, before[1] + 1)
            del more
            code = 0 if grown and counts() == before else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del kept
