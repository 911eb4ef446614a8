# SPDX-License-Identifier: Apache-2.0
"""A child takes over no lock, no thread and no work of its parent."""

import pytest

import environments
from kernels.build import environment as kernel_environment
from slow_gpu import SLOW_GPU

#: A child that allocates, and is ended when it hangs; returns its exit status.
FORK = """
import logging  # which says that it lacks its lock when it is imported during a fork
import os, signal, threading, warnings
import sycl_ext as sx

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are

def fork():
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang
        for kind in ("device", "shared", "host"):
            sx.empty(16, "uint8", usm_type=kind)
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""


@pytest.mark.parametrize("forks", [60, pytest.param(300, marks=pytest.mark.long)])
def test_forks_while_threads_allocate(forks):
    """A child takes over no lock that a thread of its parent held."""
    program = f"""{FORK}
stop = threading.Event()
def allocate():
    while not stop.is_set():
        [sx.empty(16, "uint8", usm_type=kind) for kind in ("device", "shared", "host")]
        sx.empty(100, "uint8").to_numpy(copy=True)
threads = [threading.Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
hung = sum(fork() != 0 for _ in range({forks}))
stop.set()
[thread.join() for thread in threads]
print(hung, "hung")
"""
    assert environments.python(program) == "0 hung\n"


@pytest.mark.parametrize("processes", [2, pytest.param(12, marks=pytest.mark.long)])
def test_forks_while_threads_use_the_driver_for_the_first_time(processes):
    """The pools are empty then, so the threads are in the driver, which has locks of its own."""
    for _ in range(processes):
        environments.python(f"""{FORK}
def allocate():
    kept = []
    for _ in range(300):
        kept += [sx.empty(16, "uint8", usm_type=kind) for kind in ("device", "shared", "host")]

for _ in range(4):
    threading.Thread(target=allocate, daemon=True).start()
for _ in range(6):
    assert fork() == 0
""")


def test_forked_child_ends_without_the_deferred_frees_of_its_parent(gpu_environment):
    """The thread that does it is not in the child, whose end is that of any process."""
    environments.python(
        """
import ctypes, os, signal, sys, warnings
libc = ctypes.CDLL(None)
libc.on_exit(libc.abort, None)  # runs after the package's own functions at the end
import dpctl, dpctl.memory
import sycl_ext as sx
from level_zero import control
from sycl_ext import _core

warnings.simplefilter("ignore", DeprecationWarning)

gpu = sx.device("level_zero:gpu:0")
queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
source = dpctl.memory.MemoryUSMHost(64, queue=queue)
control.loaded().fakegpu_set_delay_us(20_000_000)
for _ in range(20):
    t = sx.empty(64, "uint8", device=queue)
    queue.memcpy_async(dpctl.memory.as_usm_memory(t), source, 64)
    del t
assert _core._test.deferred_frees() > 0
child = os.fork()
if child == 0:
    signal.alarm(60)
    if _core._test.deferred_frees():
        os._exit(1)
    sys.exit(0)
status = os.waitpid(child, 0)[1]
control.loaded().fakegpu_set_delay_us(0)
queue.wait()
os._exit(0 if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT else 1)
""",
        gpu_environment,
    )


def test_forked_child_does_not_wait_for_a_copy_of_its_parent(gpu_environment):
    """The thread that makes the copy is not in the child."""
    environments.python(
        SLOW_GPU
        + """
before, found = adapter.fakegpu_calls(), []
adapter.fakegpu_set_delay_us(HELD)
other = threading.Thread(target=lambda: found.append(device.to_numpy()[9]))
other.start()
while adapter.fakegpu_calls() == before:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        sx.host_view(device)
    except sx.SyclError:
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
adapter.fakegpu_set_delay_us(0)
other.join()
assert found == [9]
""",
        gpu_environment,
    )


@pytest.mark.parametrize(
    "read", ["copy.wait()", "target.tolist()", "sx.exchange(target, 'numpy')", "target.sycl_queue"]
)
def test_forked_child_is_told_of_a_pending_copy_on_the_cpu(read):
    """It goes on in the parent only; the child uses the device, and copies again."""
    environments.python(f"""
import os, signal, threading, warnings
import dpctl
import sycl_ext as sx

class Gate:  # a host task of dpctl drops it, with the GIL: the queue waits for that
    def __del__(self):
        gate.wait(60)

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
gate, device = threading.Event(), sx.device()
before = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
source = sx.zeros(8, "uint8", usm_type="host", device=before).copy_from(b"1" * 8)
target, other = sx.zeros(8, "uint8"), sx.zeros(8, "uint8")
list(iter(other.copy_from(b"3" * 8, wait=False).done, True))  # it is over
before._submit_keep_args_alive((Gate(),), [])
copy = target.copy_from(source, wait=False)
assert not copy.done()
child = os.fork()
if child == 0:
    signal.alarm(60)
    found = other.tolist()
    if not copy.done():  # it counts as failed
        os._exit(3)
    try:
        {read}
    except sx.SyclError as error:
        found += target.copy_from(b"2" * 8).tolist()
        os._exit(0 if "forked" in str(error) and bytes(found) == b"3" * 8 + b"2" * 8 else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
gate.set()
assert copy.result().tolist() == [49] * 8
before.wait()
""")


def test_child_forked_in_a_wait_gets_an_error(gpu_environment):
    """The wait is its parent's: it has no end in the child, and is an error there."""
    environments.python(
        SLOW_GPU
        + """
import sys, warnings

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
child = None

def handler(*_):
    global child
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang
    else:
        adapter.fakegpu_set_delay_us(0)

signal.signal(signal.SIGUSR1, handler)
adapter.fakegpu_set_delay_us(HELD)
interrupt_the_copy()
try:
    device.to_numpy()
except RuntimeError as error:
    os._exit(0 if "forked" in str(error) and child == 0 else 1)
if child == 0:
    os._exit(2)
status = os.waitpid(child, 0)[1]
assert status == 0, status
""",
        gpu_environment,
    )


@pytest.mark.parametrize("name", ["cpu", "opencl_gpu_kernels"])
def test_forked_child_ends_while_a_copy_of_its_parent_is_pending(name, tmp_path):
    """A driver may wait for the commands of all queues when its library is unloaded."""
    environments.python(
        """
import ctypes, os, signal, warnings
import dpctl
import numpy as np
import sycl_ext as sx
from kernels import Kernels

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
device = sx.device()
queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
tensor = sx.zeros(100, "int64", device=queue)
kernels = Kernels(queue)
with kernels.gate() as gate:
    kernels.fill(queue, gate, tensor.ptr, tensor.nbytes, 7)
    copy = tensor.copy_from(np.ones(100, "int64"), wait=False)
    assert not copy.done()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang
        ctypes.CDLL(None).exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert set(copy.result().tolist()) == {1}
""",
        {**environments.variables_of(name, tmp_path), **kernel_environment()},
    )


@pytest.mark.long  # ten seconds, which the work is given
def test_forked_child_does_not_wait_for_work_of_its_parent():
    """A kernel that was pending at the fork ends only in the parent."""
    environments.python(
        """
import os, signal, warnings
import sycl_ext as sx
from kernels import Kernels

warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
tensor = sx.zeros(100, "int64", usm_type="shared")
queue, address = tensor.sycl_queue, tensor.ptr
kernels = Kernels(queue)
with kernels.gate() as gate:
    kernels.fill(queue, gate, address, tensor.nbytes, 7)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            tensor.to_numpy()
        except sx.SyclError as error:
            os._exit(0 if "before the fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
assert set(tensor.to_numpy().tolist()) == {7}
""",
        {**environments.cpu(), **kernel_environment()},
    )


@pytest.mark.parametrize(
    "first",
    ["_core.set_hooks", "dlpack.VERSION", "ipc.empty", "memory.cached", "mpi.staged_request"],
)
@pytest.mark.parametrize("before", ["", "import sycl_ext; "], ids=["", "late logging"])
def test_fork_waits_while_a_name_is_loaded(first, before):
    """It waits: the child would have the locks of modules whose import nobody finishes."""
    environments.python(f"""
{FORK.replace("import logging", before + "import logging")}
import sys, time

class Slow:
    begun = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name.startswith("sycl_ext._") and threading.current_thread() is not main:
            self.begun.set()
            time.sleep(0.02)
            logging.getLogger("dpctl")  # as its import does

main = threading.current_thread()
sx.{first.partition(".")[0]} if {first!r}[0] != "_" else None
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=eval, args=("sx.{first}", {{"sx": sx}}))
thread.start()
assert Slow.begun.wait(60)
assert fork() == 0
thread.join()
""")
