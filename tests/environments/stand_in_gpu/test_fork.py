# SPDX-License-Identifier: Apache-2.0
"""A GPU does not survive a fork: a clear error instead of a wait without end."""

import environments

SETUP = """
import gc, os, signal, warnings
import numpy as np
import sycl_ext as sx

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


def test_the_gpu_in_a_forked_child():
    environments.python(
        SETUP
        + """
numbers = np.arange(300_000, dtype="int16")
tensor = sx.as_tensor(numbers, device=gpu)
few = sx.zeros(3, device=gpu)
few.to_numpy()  # a block for such a copy is in the pool
small = sx.zeros(10, device=gpu)  # and a block of its size in the pool
del small
on_the_cpu = sx.as_tensor(numbers, device="opencl:cpu:0")

OPERATIONS = {
    "to_numpy": lambda: tensor.to_numpy(),
    "one command": lambda: few.to_numpy(),
    "host_view": lambda: np.asarray(sx.host_view(tensor[::2], copy=True)),
    "export": lambda: tensor.__dlpack__(dl_device=(1, 0)),
    "copy": lambda: tensor.copy(),
    "copy_from": lambda: tensor.copy_from(numbers),
    "to the CPU": lambda: tensor.to_device("opencl:cpu:0"),
    "from the CPU": lambda: on_the_cpu.to_device(gpu),
    "zeros": lambda: sx.zeros(10, device=gpu),
    "empty": lambda: sx.empty(1 << 20, device=gpu),
    "as_tensor": lambda: sx.as_tensor(numbers, device=gpu),
}

def work():
    for name, operation in OPERATIONS.items():
        try:
            operation()
        except sx.SyclError as error:
            assert "forked" in str(error) and "spawn" in str(error), (name, error)
        else:
            raise AssertionError(f"{name}: no error")
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


def test_work_that_was_pending_at_the_fork():
    """It is the parent's; the child does not wait for it."""
    environments.python(
        SETUP
        + """
import dpctl, dpctl.memory
from fake_gpu import control

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


def test_a_child_frees_nothing_of_the_parents():
    environments.python(
        SETUP
        + """
from fake_gpu import control
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


def test_a_child_that_uses_the_package_alone():
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
