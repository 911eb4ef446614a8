# SPDX-License-Identifier: Apache-2.0
"""Nothing waits with the GIL: not a block with pending work, not an order, not the end."""

from pathlib import Path

import pytest

import environments
from stand_in_build import compile_library, installed


@pytest.mark.parametrize("holder", ["tensor", "capsule", "base"])
def test_daemon_thread_may_end_inside_a_deleter(holder):
    """CPython ends the thread inside __del__; no frame of ours is unwound without the GIL."""
    code = f"""
import ctypes, threading, time, warnings
import numpy as np
import sycl_ext as sx
from dlpack_conformance import structs as dlpack_ctypes

class Owner(np.ndarray):
    def __del__(self):
        started.set()
        time.sleep(0.5)  # releases the GIL; main is gone when it asks for it again

started = threading.Event()
HOLDER = {holder!r}

def work():
    owner = np.zeros(100).view(Owner)
    if HOLDER == "tensor":
        t = sx.as_tensor(owner)
    elif HOLDER == "base":
        t = sx.as_tensor(owner)[10:][5:]
    else:
        t = sx.as_tensor(owner).__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    del owner
    del t

thread = threading.Thread(target=work, daemon=True)
thread.start()
started.wait(10)
"""
    for _ in range(3):
        environments.python(code)


def test_drop_of_thousands_of_blocks_with_a_pending_kernel_is_deferred():
    """One thread frees them; 20,000 markers would overflow the stack of libintelocl."""
    environments.python(
        """
import dpctl.memory, os
import sycl_ext as sx
from kernels import Kernels
from sycl_ext import _core

device = sx.device("cpu")
queue = device.sycl_queue
target = dpctl.memory.MemoryUSMDevice(64, queue=queue)
kept = [sx.zeros(4, "uint8", device=device) for _ in range(30_000)]
for t in kept:
    t.__sycl_usm_array_interface__  # somebody may submit work
kernels = Kernels(queue)
with kernels.gate() as gate:
    kernels.fill(queue, gate, target._pointer, target.nbytes, 7)
    threads = len(os.listdir("/proc/self/task"))
    del t
    while kept:
        kept.pop()
    assert _core._test.deferred_frees() > 25_000
    assert len(os.listdir("/proc/self/task")) <= threads + 1
queue.wait()
"""
    )


def test_allocation_that_waits_for_room_lets_threads_run(gpu_environment):
    """The block that is missing is freed when the work on it is done."""
    variables = {**gpu_environment, "FAKEGPU_MEM": str(64 << 10)}
    environments.python(
        """
import dpctl.memory, threading
import sycl_ext as sx
from level_zero import control

gpu = sx.device("level_zero:gpu:0")
queue = gpu.sycl_queue
source = dpctl.memory.MemoryUSMHost(64, queue=queue)
adapter = control.loaded()
t = sx.empty(60_000, "uint8", device=gpu)
adapter.fakegpu_set_delay_us(20_000_000)
queue.memcpy_async(dpctl.memory.as_usm_memory(t[:64]), source, 64)
del t
ran = threading.Event()

def other():  # needs the GIL, and ends the wait
    ran.set()
    adapter.fakegpu_set_delay_us(0)

threading.Timer(0.2, other).start()
assert sx.empty(60_000, "uint8", device=gpu).nbytes == 60_000
assert ran.is_set()
""",
        variables,
    )


@pytest.mark.parametrize("other_version", [False, True])
def test_export_waits_for_each_queue_of_a_tensor(other_version):
    """Its own, that of its device, and that of the root device; also where dpctl hides its map."""
    environments.python(
        f"OTHER_VERSION = {other_version}"
        """
import dpctl, dpctl.memory, dpctl.utils, threading, types
import numpy as np
import sycl_ext as sx

manager = dpctl.utils.SequentialOrderManager
if OTHER_VERSION:
    manager._map = types.SimpleNamespace(get=manager._map.get)
device = sx.device()
own = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
t = sx.zeros(8, "uint8", usm_type="shared", device=own)
gate = threading.Event()
source = dpctl.memory.MemoryUSMHost(8, queue=own)
memoryview(source)[:] = b"1" * 8

class Gate:  # a host task of dpctl drops it, with the GIL: the queue waits for that
    def __del__(self):
        gate.wait(20)

queue = device.sycl_queue
event = queue.memcpy_async(dpctl.memory.MemoryUSMHost(8, queue=own), source, 8)
queue._submit_keep_args_alive((Gate(),), [event])
barrier = queue.submit_barrier()
pending = queue.memcpy_async(dpctl.memory.as_usm_memory(t), source, 8, [barrier])
manager[queue].add_event_pair(pending, pending)
threading.Timer(0.3, gate.set).start()
assert np.asarray(t).tobytes() == b"1" * 8
queue.wait()
"""
    )


def test_python_in_a_host_task_makes_and_drops_tensors():
    """Somebody may keep the queue locked who waits for that host task: nothing is asked of it."""
    environments.python(
        """
import threading, time
import dpctl.memory
import sycl_ext as sx

queue = sx.device().sycl_queue
source = dpctl.memory.MemoryUSMHost(64, queue=queue)
target = dpctl.memory.MemoryUSMHost(64, queue=queue)
running = threading.Event()

class Owner:  # a host task of dpctl drops it, with the GIL
    def __del__(self):
        running.set()
        time.sleep(0.3)
        tensor = sx.empty(10, "uint8")
        del tensor

event = queue.memcpy_async(target, source, 64)
queue._submit_keep_args_alive((Owner(),), [event])
assert running.wait(60)
barrier = queue.submit_barrier()  # waits for the host task
queue.wait()
"""
    )


def test_runtime_call_with_the_gil_aborts_the_tests():
    """This session ends at a call of the runtime with the GIL held; here one is planted."""
    with pytest.raises(AssertionError, match="called with the GIL held"):
        environments.python(
            """
from sycl_ext import _core
_core._test.check_gil()
_core._test.call_runtime_with_gil()
"""
        )


#: Which queue is ordered after which, and by what.
ORDERS = {
    "a stream": ("queue()", "queue()", "a", "t.__dlpack__(stream=b, max_version=(1, 0))"),
    "a description": ("device.sycl_queue", "queue()", "b", "t.__sycl_usm_array_interface__"),
}


@pytest.mark.parametrize("is_busy", [True, False], ids=["busy", "free"])
@pytest.mark.parametrize("order", ORDERS)
def test_ordering_of_queues_waits_for_no_host_task(order, is_busy):
    """Neither the thread that asks for it, nor the only one of the runtime that runs host tasks.

    A barrier with a command behind a host task in its list lets the enqueuing thread wait for that
    task: the thread that submits it, or, on a queue that a host task keeps busy, the thread that
    has just run this one, and would have to run the other one.
    """
    first, second, owner, way = ORDERS[order]
    environments.python(f"""
import dpctl, dpctl.memory, sycl_ext as sx, threading

device = sx.device()

def queue():
    return dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")

class Blocks:
    def __del__(self):
        gate.wait()

gate = threading.Event()
a, b = {first}, {second}
t = sx.zeros(4, "uint8", device={owner})
source = dpctl.memory.MemoryUSMHost(4, queue=a)
source.copy_from_host(b"abcd")
target = dpctl.memory.as_usm_memory(t)
if {is_busy}:
    b._submit_keep_args_alive((Blocks(),), [])
a._submit_keep_args_alive((Blocks(),), [])
a.memcpy_async(target, source, 4)
{way}
after = dpctl.memory.MemoryUSMHost(4, queue=b)
b.memcpy_async(after, target, 4)
gate.set()
b.wait()
assert bytes(after.copy_to_host()) == b"abcd"
a.wait()
""")


def test_copy_behind_a_host_task_leaves_the_scheduler_free():
    """The host task wants the GIL, which dpctl holds while it submits."""
    environments.python(
        """
import dpctl, sycl_ext as sx, threading, time

device = sx.device()
queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")

class Blocks:
    def __del__(self):
        gate.wait()

gate = threading.Event()
source = sx.zeros(4, "uint8", usm_type="host", device=queue)
target = sx.zeros(4, "uint8")
queue._submit_keep_args_alive((Blocks(),), [])
copies = [target.copy_from(source, wait=False), target.to_numpy(wait=False)]
time.sleep(0.2)  # their threads wait
device.sycl_queue._submit_keep_args_alive((), [])
gate.set()
for copy in copies:
    copy.wait()
device.sycl_queue.wait()
"""
    )


def test_work_before_a_dropped_block_is_flushed(tmp_path):
    """OpenCL may leave commands where they are until somebody flushes or waits; nobody waits."""
    header = installed("intel-sycl-rt", "include/CL/cl_layer.h")
    source = Path(environments.HERE) / "extensions" / "flush_layer.cpp"
    layer = compile_library(tmp_path / "libflush_layer.so", source, header)
    output = environments.python(
        """
import dpctl, os, sycl_ext as sx, threading
from sycl_ext import _core
from waiting import eventually

class Blocks:
    def __del__(self):
        gate.wait()

gate = threading.Event()
device = sx.device()
queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
block = sx.empty(100, "uint8", device=queue)
queue._submit_keep_args_alive((Blocks(),), [])
os.write(1, b"=== dropped\\n")
del block
assert _core._test.deferred_frees() == 1
gate.set()
assert eventually(lambda: not _core._test.deferred_frees())
os.write(1, b"=== freed\\n")
queue.wait()
""",
        {**environments.cpu(), "OPENCL_LAYERS": str(layer)},
    )
    assert "---> clFlush" in output.split("===")[1]


@pytest.mark.parametrize("room", [0, 8 << 10, 32 << 10])
def test_first_wait_with_room_for_no_more_than_the_stack_of_a_thread(room):
    """A thread that cannot allocate its thread-local data ends the process: none is started."""
    environments.python(
        f"""
import resource
import numpy as np
import sycl_ext as sx

tensor, other = sx.zeros(1 << 20, "uint8"), sx.zeros(1 << 20, "uint8")
large, ones = sx.zeros(32 << 20, "uint8"), np.ones(32 << 20, "uint8")
with open("/proc/self/status") as status:
    [size] = [int(line.split()[1]) << 10 for line in status if line.startswith("VmSize")]
stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
stack = 8 << 20 if stack == resource.RLIM_INFINITY else stack
resource.setrlimit(resource.RLIMIT_AS, (size + stack + {room},) * 2)
for _ in range(10):
    for _ in range(10):
        tensor.copy_from(ones[: 1 << 20], wait=False)
        other.copy_from(tensor, wait=False)
    large.copy_from(ones, wait=False).wait()
    other.wait()
"""
    )
