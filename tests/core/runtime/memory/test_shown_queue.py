# SPDX-License-Identifier: Apache-2.0
"""A queue that a program has read counts while the program holds it, and until it is idle."""

import re

import dpctl
import pytest

import environments
import sycl_ext as sx

#: Of the runtime, whether the shared queue is idle; and other calls of an export.
QUESTION = re.compile(r"<--- ur(Enqueue|Event|Queue)\w+")


def questions(read, times=3):
    """How many calls each of several exports makes, after a program has read the queue."""
    trace = environments.python(
        f"""
import time
import numpy as np, sycl_ext as sx
from sycl_ext import _core
sx.empty(4).sycl_queue
while _core._test.deferred_frees():  # the thread that frees asks the queue, too
    time.sleep(0.001)
t = sx.empty(4, usm_type="shared")
{read}
for _ in range({times}):
    print("@", flush=True)
    t.__dlpack__(max_version=(1, 3))
    print("@", flush=True)
""",
        {**environments.cpu(), "SYCL_UR_TRACE": "2"},
    )
    return [len(QUESTION.findall(calls)) for calls in trace.split("@")[1::2]]


def test_queue_that_was_merely_read_is_asked_once():
    first, *later = questions("t.sycl_queue.sycl_device")
    assert first > 0
    assert later == [0, 0]


@pytest.mark.parametrize("read", [
    "queue = t.sycl_queue",
    "queue = t[1:].sycl_queue",
    "t.sycl_queue; queue = sx.empty(4).sycl_queue",  # the same object
])  # fmt: skip
def test_held_queue_is_always_asked(read):
    assert min(questions(read)) > 0


@pytest.mark.parametrize("read", [
    "t.sycl_queue; np.asarray(t)",
    "np.asarray(t); t.sycl_queue",
    "memoryview(sx.host_view(t)); t.sycl_queue",
    "t.sycl_queue; t.ptr",
    "import dpnp; dpnp.asarray(t)",  # reads the tensor's own description
])  # fmt: skip
def test_queue_of_a_known_address_is_always_asked(read):
    """Nobody knows when a view of the host ends, and it has the address."""
    assert min(questions(read)) > 0


def test_memory_that_dpnp_had_is_asked_once():
    """The queue of an array of dpnp is none that the tensor has shown."""
    first, *later = questions("import dpnp; sx.exchange(t, dpnp)")
    assert (first > 0, later) == (True, [0, 0])
    assert questions("import dpnp; sx.exchange(t, dpnp).sycl_queue; np.asarray(t)") == [0, 0, 0]


@pytest.mark.parametrize("read", [
    "part = sx.exchange(t, dpnp)[1:]",
    "one, other = sx.exchange(t, dpnp), sx.exchange(t, dpnp); del one",
])  # fmt: skip
def test_memory_that_an_array_of_dpnp_has_is_always_asked(read):
    assert min(questions(f"import dpnp; {read}")) > 0


@pytest.mark.parametrize("use", ["array += 5", "saved.append(array)"])
def test_finalizer_uses_an_array_of_dpnp_that_is_garbage(use):
    """The collector runs finalizers in any order, and a consumer may live on after them."""
    printed = environments.python(
        f"""
import gc, time
import dpnp, numpy as np, sycl_ext as sx
from sycl_ext import _core

gc.disable()
saved, others = [], []

def take_freed_blocks():
    while _core._test.deferred_frees():
        time.sleep(0.001)
    others.extend(sx.zeros(1000, "int64", usm_type="shared") for _ in range(20))

class Holder:
    def __init__(self, array):
        self.array, self.me = array, self

    def __del__(self):
        array = self.array
        take_freed_blocks()
        {use}

older = Holder(None)
t = sx.full(1000, 37, "int64", usm_type="shared")
older.array = sx.exchange(t, dpnp)
newer = Holder(sx.exchange(t, dpnp))
del t, older, newer
gc.collect()
take_freed_blocks()
for array in saved:
    array += 5
print([other.to_numpy().any() for other in others].count(True), len(saved))
""",
        environments.cpu(),
    )
    assert printed.split() == ["0", "2" if "saved" in use else "0"]


def test_tensor_without_a_reader_of_its_queue_is_not_asked():
    assert questions("np.asarray(t)") == [0, 0, 0]


def test_queue_of_a_tensor_is_that_of_its_device():
    queue = sx.empty(4).sycl_queue
    assert queue == sx.device().sycl_queue
    assert hash(queue) == hash(sx.device().sycl_queue)
    assert queue.addressof_ref() == sx.empty(4).sycl_queue.addressof_ref()  # for ever
    mine = dpctl.SyclQueue(property="in_order")
    assert sx.empty(4, device=mine).sycl_queue == mine


def test_queue_that_a_consumer_named_is_released_once_it_is_idle():
    """Else the memory would ask it, and keep it, for as long as it lives."""
    trace = environments.python(
        """
import dpctl, sycl_ext as sx
t = sx.empty(4, usm_type="shared")
queue = dpctl.SyclQueue(property="in_order")
taken = sx.from_dlpack(t.__dlpack__(stream=queue))
taken.ptr  # whoever has the address may submit work
del queue, taken
print("@", flush=True)
t.to_numpy()
print("@", flush=True)
del t
print("@", flush=True)
""",
        {**environments.cpu(), "SYCL_UR_TRACE": "2"},
    )
    asked, dropped = (calls.count("<--- urQueueRelease(") for calls in trace.split("@")[1:3])
    assert (asked, dropped) == (1, 0)
