# SPDX-License-Identifier: Apache-2.0
"""A GPU does not survive a fork: a clear error instead of a wait without end."""

import environments
from needs import needs

SETUP = """
import gc, os, signal, warnings
import numpy as np
import sycl_ext as sx
import ways

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
gpu = sx.device("gpu:0")

def in_a_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_gpu_in_a_forked_child_is_a_clear_error():
    environments.python(
        SETUP
        + """
numbers = np.arange(300_000, dtype="int16")
tensor = sx.as_tensor(numbers, device=gpu)
ones = np.ones(8, "float32")
few = sx.zeros(8, device=gpu)
few.to_numpy()  # a block for such a copy is in the pool
small = sx.zeros(10, device=gpu)  # and a block of its size in the pool
del small
on_the_cpu = sx.as_tensor(numbers, device="opencl:cpu:0")
try:
    shared = sx.ipc.empty(8, device=gpu)
except BufferError:  # the driver has no handles
    shared = few

OF_US = ways.select(
    *(ways.COPY, ways.HOST, ways.NEW, ways.WRITES),
    without={ways.Tag.DPNP, ways.Tag.TORCH, ways.Tag.TVM_FFI, ways.Tag.SUB_DEVICE},
    host=False, dtype="int64",
)

def work():
    calls = {
        name: lambda way=way: way.call(*([few, ones] if way.gives == ways.WRITES else [few]))
        for name, way in OF_US.items()
    }
    calls["of many bytes"] = lambda: tensor[::2].to_numpy()
    calls["from the CPU"] = lambda: on_the_cpu.to_device(gpu)
    calls["from NumPy"] = lambda: sx.as_tensor(numbers, device=gpu)
    if shared is not few:
        calls["a handle"] = lambda: sx.ipc.handle(shared)
    wrong = {}
    for name, call in calls.items():
        try:
            call()
        except sx.SyclError as error:
            if "forked" not in str(error) or "spawn" not in str(error):
                wrong[name] = str(error)
        except BaseException as error:
            wrong[name] = repr(error)
        else:
            wrong[name] = "no error"
    assert not wrong, wrong
    assert sx.from_dlpack(tensor.__dlpack__()).ptr == tensor.ptr  # touches nothing
    assert (on_the_cpu[::-1].copy().to_numpy() == numbers[::-1]).all()
    global_tensor = globals().pop("tensor")
    del global_tensor
    gc.collect()

in_a_child(work)
assert (tensor.to_numpy() == numbers).all()  # the parent's device never noticed
""",
        inherit=True,
    )


def test_forked_child_makes_no_queue(adapter):
    """Locks of the adapter may be held for ever there, by threads that waited at the fork."""
    environments.python(
        SETUP
        + """
import pytest
from level_zero import control

tensor = sx.as_tensor(np.arange(300_000, dtype="int16"), device=gpu)
shared = sx.zeros(8, "uint8", usm_type="shared", device=gpu)
driver = control.loaded()
driver.fakegpu_set_delay_us(20_000_000)
shared.copy_from(sx.empty(8, "uint8", usm_type="host", device=gpu), wait=False)

def work():
    before = driver.fakegpu_calls()
    for read in (tensor.to_numpy, shared.to_numpy):  # the host reaches the second one
        with pytest.raises(sx.SyclError, match="forked"):
            read()
    assert driver.fakegpu_calls() == before

in_a_child(work)
driver.fakegpu_set_delay_us(0)
""",
        inherit=True,
    )


def test_forked_child_does_not_ask_the_driver_about_pointers():
    """Another thread may have held a lock of the driver at the fork."""
    environments.python(
        SETUP
        + """
import dpctl.memory

theirs = dpctl.memory.MemoryUSMShared(64, queue=gpu.sycl_queue)
seen_by_host = np.asarray(memoryview(theirs))

def work():
    try:
        sx.as_tensor(theirs)
    except sx.SyclError as error:
        assert "forked" in str(error)
    else:
        raise AssertionError
    plain = sx.as_tensor(seen_by_host, device="opencl:cpu:0", copy=False)
    assert plain.usm_type == "system"

in_a_child(work)
""",
        inherit=True,
    )


@needs("adapter")
def test_work_that_was_pending_at_the_fork():
    """It is the parent's; the child does not wait for it."""
    environments.python(
        SETUP
        + """
import dpctl, dpctl.memory
from level_zero import control

queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
tensor = sx.zeros(100, "uint8", device=queue)
source = dpctl.memory.MemoryUSMHost(100, queue=queue)
control.loaded().fakegpu_set_delay_us(60_000_000)
queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 100)

def work():
    capsule = tensor.__dlpack__()
    global_tensor = globals().pop("tensor")
    del capsule, global_tensor
    gc.collect()

in_a_child(work)
control.loaded().fakegpu_set_delay_us(0)
assert not tensor.to_numpy().any()
""",
        inherit=True,
    )


@needs("adapter")
def test_forked_child_frees_no_memory_of_its_parent():
    environments.python(
        SETUP
        + """
from level_zero import control
from waiting import eventually

count = control.loaded().fakegpu_live_allocations
tensors = [sx.zeros(nbytes, "uint8", device=gpu) for nbytes in (10, 16 << 20)]
blocks = count()

def work():
    tensors.clear()
    gc.collect()
    sx.memory.release_cached()
    assert count() == blocks

in_a_child(work)
tensors.clear()
sx.memory.release_cached()
assert eventually(lambda: count() < blocks)
""",
        inherit=True,
    )


def test_forked_child_works_when_the_parent_used_no_sycl():
    """Nothing of SYCL was used before the fork, so everything works after it."""
    environments.python(
        """
import os, sys
child = os.fork()
if child == 0:
    import sycl_ext as sx
    assert not sx.zeros(10, device="gpu:0").to_numpy().any()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
        inherit=True,
    )


def test_forked_child_leaves_the_work_of_its_parent_alone(monkeypatch):
    """It asks no driver, and releases no event: another thread may have locked it at the fork."""
    monkeypatch.setenv("SYCL_UR_TRACE", "2")
    environments.python(
        SETUP
        + """
from contextlib import suppress
from dpctl.memory import MemoryUSMDevice
tensors = [sx.empty(8, device=gpu) for _ in range(3)]
assert all(tensor.ptr for tensor in tensors)
to, of = (MemoryUSMDevice(64 << 20, queue=gpu.sycl_queue) for _ in range(2))
pending = [gpu.sycl_queue.memcpy_async(to, of, of.nbytes) for _ in range(20)]
tensors.pop()
copies = [tensors[0].copy_from(np.ones(8, "float32"), wait=False)]
read, write = os.pipe()
def work():
    for output in (1, 2): os.dup2(write, output)
    del copies[:], tensors[-1]
    for _ in range(3):
        with suppress(sx.SyclError):
            tensors[0].to_numpy()
in_a_child(work)
gpu.sycl_queue.wait()
os.close(write)
said = open(read).read()
assert "urEvent" not in said, said
""",
        inherit=True,
    )
