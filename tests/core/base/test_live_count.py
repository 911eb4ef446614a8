# SPDX-License-Identifier: Apache-2.0
"""Exports and blocks are counted, whichever thread makes them and gives them back."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import sycl_ext as sx
from sycl_ext import _core


def counts():
    # A thread that has made no tensor leaves a block to the one that frees, where others have its
    # queue.
    while _core._test.deferred_frees():
        time.sleep(0.001)
    return sx.memory.live_exports(), _core._test.live_allocations()


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_what_one_thread_makes_another_gives_back():
    before = counts()
    made = []
    in_a_thread(lambda: made.extend(sx.zeros(3).__dlpack__(max_version=(1, 0)) for _ in range(5)))
    assert counts() == (before[0] + 5, before[1] + 5)
    in_a_thread(made.clear)
    assert counts() == before


def test_threads_at_once():
    before = counts()

    def work(_):
        for _ in range(300):
            kept = [sx.zeros(2).__dlpack__(max_version=(1, 0)) for _ in range(3)]
            kept.pop()
        return kept

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert counts() == (before[0] + 16, before[1] + 16)
    del results
    assert counts() == before


def test_a_forked_child_goes_on_counting():
    kept = sx.zeros(3).__dlpack__(max_version=(1, 0))
    before = counts()
    child = os.fork()
    if child == 0:
        more = sx.zeros(3).__dlpack__(max_version=(1, 0))
        grown = counts() == (before[0] + 1, before[1] + 1)
        del more
        os._exit(0 if grown and counts() == before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del kept
