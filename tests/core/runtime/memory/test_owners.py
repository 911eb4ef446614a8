# SPDX-License-Identifier: Apache-2.0
"""The owner of a bare pointer: which contexts are asked, and which are not."""

import dpctl
import dpctl.memory
import numpy as np
import pytest

import environments
import sycl_ext as sx
from needs import needs
from producers import Managed

QUESTION = "<--- urUSMGetMemAllocInfo("


def new_context():
    return dpctl.SyclContext([sx.device().sycl_device])


def new_block(nbytes=1 << 16):
    """Shared USM of somebody else, in a context that nobody has registered."""
    queue = dpctl.SyclQueue(new_context(), sx.device().sycl_device)
    return dpctl.memory.MemoryUSMShared(nbytes, queue=queue)


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("sx.as_tensor(new_block())", 0),
        ("sx.device(dpctl.SyclQueue(new_context(), sx.device().sycl_device))", 0),
        ("sx.register_context(new_context())", 50),
    ],
)
def test_only_registered_contexts_are_asked(code, more):
    """A context that came with memory or a queue is not, although it is alive."""
    trace = environments.python(
        f"""
import dpctl, numpy as np, sycl_ext as sx
from test_owners import new_block, new_context

def look_up():
    print("@", flush=True)
    assert sx.from_dlpack(np.zeros(1 << 20, "uint8")).usm_type == "system"
    print("@", flush=True)

look_up()
kept = [{code} for _ in range(50)]
look_up()
""",
        {**environments.cpu(), "SYCL_UR_TRACE": "2"},
        near=__file__,
    )
    before, after = (calls.count(QUESTION) for calls in trace.split("@")[1::2])
    assert 0 < before < 10
    assert after == before + more


@needs("system_usm")
def test_memory_of_a_context_that_was_only_met():
    """It is host memory like any other, unless a block that we hold, or copy=False, says more."""
    block = new_block()
    array = np.asarray(block)
    device = sx.as_tensor(block).device
    assert not device._entry.default_context
    result = sx.as_tensor(array)
    assert (result.device, result.usm_type, result.ptr) == (sx.device(), "system", block._pointer)
    result = sx.as_tensor(array, device=device, copy=False)
    assert (result.device, result.usm_type) == (device, "shared")
    assert sx.as_tensor(array[100:]).device is device  # of the block that `found` holds
    del result
    assert sx.as_tensor(array).usm_type == "system"
    capsule = Managed(data=block._pointer, shape=(9,), device=(14, sx.device().id)).capsule()
    with pytest.raises(BufferError, match=f"private context of device .14, {device.id}"):
        sx.from_dlpack(capsule)
    assert sx.register_context(block.sycl_queue) is device
    assert sx.as_tensor(array).device is device


def test_forked_child_is_not_hung_by_a_lock_of_the_parent():
    """Threads register contexts and allocate in them while the process forks.

    The child takes the locks of this package and not those of the runtime, which it cannot repair.
    """
    program = """
import os, signal, sys, threading
import sycl_ext as sx
from test_owners import new_context

sys.setswitchinterval(1e-5)
stop = threading.Event()
context = new_context()
sx.register_context(context)

def hold(device, count):
    return [sx.empty(64, "uint8", usm_type="shared", device=device) for _ in range(count)]

def work():
    mine = sx.register_context(new_context())
    while not stop.is_set():
        hold(mine, 50)

def register():
    while not stop.is_set():
        sx.register_context(new_context())

threads = [threading.Thread(target=one) for one in (work, work, register)]
for thread in threads: thread.start()
hung = 0
for _ in range(100):
    hold(sx.device(), 5)  # from the pool, in the child
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        hold(sx.device(), 5)
        sx.register_context(context)
        os._exit(0)
    hung += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads: thread.join()
print(hung)
"""
    result = environments.python(program, near=__file__)
    assert int(result.splitlines()[-1]) == 0
