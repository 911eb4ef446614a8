# SPDX-License-Identifier: Apache-2.0
"""Nothing waits with the GIL, nothing hangs after a fork, at the exit or in a signal handler."""

import gc
import weakref

import numpy as np
import pytest

import environments
import sycl_ext as sx

# ---- fork ----------------------------------------------------------------------------------------


#: A child that allocates, and is ended when it hangs; returns its exit status.
FORK = """
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
for thread in threads:
    thread.start()
hung = sum(fork() != 0 for _ in range({forks}))
stop.set()
for thread in threads:
    thread.join()
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


def test_a_child_of_a_process_that_waits_in_the_background_ends():
    """What the parent's threads were doing is not waited for at the child's exit."""
    environments.python(
        """
import os, signal, sys, warnings
import numpy as np, sycl_ext as sx
from sycl_ext import _core
import dpctl, dpctl.memory

warnings.simplefilter("ignore", DeprecationWarning)
queue = dpctl.SyclQueue("cpu", property="in_order")
t = sx.empty(10, device=queue)
for _ in range(100):
    source = dpctl.memory.MemoryUSMHost(40, queue=queue)
    queue.memcpy_async(dpctl.memory.as_usm_memory(t), source, 40).wait()
    del t
    t = sx.empty(10, device=queue)
child = os.fork()
if child == 0:
    signal.alarm(60)
    assert _core.deferred_frees() == 0
    assert _core.interrupted_waits() == 0
    sys.exit(0)
status = os.waitpid(child, 0)[1]
assert status == 0, status
"""
    )


def test_a_child_ends_without_what_its_parent_has_left_to_free(gpu_environment):
    """The thread that does it is not in the child, whose end is that of any process."""
    environments.python(
        """
import ctypes, os, signal, sys, warnings
libc = ctypes.CDLL(None)
libc.on_exit(libc.abort, None)  # runs after what the package does at the end
import dpctl, dpctl.memory
import sycl_ext as sx
from fake_gpu import control
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
assert _core.deferred_frees() > 0
child = os.fork()
if child == 0:
    signal.alarm(60)
    if _core.deferred_frees():
        os._exit(1)
    sys.exit(0)
status = os.waitpid(child, 0)[1]
control.loaded().fakegpu_set_delay_us(0)
queue.wait()
sys.stdout.flush()
os._exit(0 if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT else 1)
""",
        gpu_environment,
    )


# ---- the end of the interpreter ------------------------------------------------------------------


@pytest.mark.parametrize("holder", ["tensor", "capsule", "base"])
def test_a_daemon_thread_whose_object_releases_the_gil_as_it_goes(holder):
    """CPython ends the thread inside __del__; no frame of ours is unwound without the GIL."""
    code = f"""
import ctypes, threading, time, warnings
import numpy as np
import sycl_ext as sx
from sycl_ext.testing import structs as dlpack_ctypes

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


# ---- signals -------------------------------------------------------------------------------------


SLOW_VIEW = """
import os, signal, threading, time
import numpy as np
import sycl_ext as sx
from fake_gpu import control

gpu = sx.device("level_zero:gpu:0")
device = sx.as_tensor(np.arange(300_000, dtype="int16"), device=gpu)
view = sx.host_view(device)
adapter = control.loaded()
HELD = 20_000_000

def interrupt_the_copy(started=adapter.fakegpu_calls):
    # Sends a signal once the copy has started, which the caller makes next, slow as it may be.
    before = started()

    def send():
        while started() == before:
            time.sleep(0.01)
        time.sleep(0.1)  # it waits by now, most likely
        os.kill(os.getpid(), signal.SIGUSR1)

    threading.Thread(target=send).start()
"""


@pytest.fixture(scope="session")
def gpu_environment(tmp_path_factory):
    return environments.ENVIRONMENTS["stand_in_gpu"].environment(tmp_path_factory.getbasetemp())


def test_a_handler_may_touch_the_view_that_is_being_copied(gpu_environment):
    environments.python(
        SLOW_VIEW
        + """
seen = []

def handler(*_):
    threading.Timer(0.2, adapter.fakegpu_set_delay_us, (0,)).start()
    seen.append(int(np.asarray(view)[7]))

signal.signal(signal.SIGUSR1, handler)
adapter.fakegpu_set_delay_us(HELD)
interrupt_the_copy()
assert np.asarray(view)[299_999] == np.arange(300_000, dtype="int16")[-1]
assert seen == [7]
""",
        gpu_environment,
    )


def test_what_a_handler_was_given_is_not_written_again(gpu_environment):
    """The copy that it interrupts has made some of its steps, and makes no more."""
    environments.python(
        SLOW_VIEW
        + """
device = sx.as_tensor(np.full(12 << 20, 100, dtype="uint8"), device=gpu)
view = sx.host_view(device)
adapter.fakegpu_set_delay_us(200_000)
written = threading.Event()

def handler(*_):
    adapter.fakegpu_set_delay_us(0)
    np.from_dlpack(view)[:] = 7
    written.set()

signal.signal(signal.SIGUSR1, handler)
interrupt_the_copy(started=adapter.fakegpu_copies)
view.ptr
while not written.is_set():  # where the copy was done before the signal came
    time.sleep(0.01)
assert set(np.from_dlpack(view).tolist()) == {7}
""",
        gpu_environment,
    )


def test_a_child_does_not_wait_for_a_copy_of_its_parent(gpu_environment):
    """The thread that makes the copy is not in the child."""
    environments.python(
        SLOW_VIEW
        + """
before = adapter.fakegpu_calls()
adapter.fakegpu_set_delay_us(HELD)
other = threading.Thread(target=lambda: view.ptr)
other.start()
while adapter.fakegpu_calls() == before:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        np.from_dlpack(view)
    except sx.SyclError:
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
adapter.fakegpu_set_delay_us(0)
other.join()
assert np.asarray(view)[9] == 9
""",
        gpu_environment,
    )


def test_a_main_thread_that_waits_for_another_ones_copy_takes_signals(gpu_environment):
    environments.python(
        SLOW_VIEW
        + """
seen = []

def handler(*_):
    seen.append(1)
    adapter.fakegpu_set_delay_us(0)  # nobody else ends the copy

signal.signal(signal.SIGUSR1, handler)
adapter.fakegpu_set_delay_us(HELD)
interrupt_the_copy()
other = threading.Thread(target=lambda: np.asarray(view))
other.start()
assert np.asarray(view)[9] == 9
other.join()
assert seen == [1]
""",
        gpu_environment,
    )


def test_an_exception_of_a_handler_is_raised_once(gpu_environment):
    """NumPy drops it in a buffer request, and __array__ raises it; a later call does not."""
    environments.python(
        SLOW_VIEW
        + """
class Stop(Exception):
    pass

def handler(*_):
    adapter.fakegpu_set_delay_us(0)
    raise Stop

signal.signal(signal.SIGUSR1, handler)
for first in (np.asarray, memoryview, np.from_dlpack):
    view = sx.host_view(device)
    adapter.fakegpu_set_delay_us(HELD)
    interrupt_the_copy()
    try:
        first(view)
    except Stop:
        pass
    else:
        raise AssertionError(first)
    assert np.asarray(view)[3] == 3  # an innocent call
    assert view.__array__()[3] == 3
""",
        gpu_environment,
    )


def test_a_wait_that_was_interrupted_is_not_over(gpu_environment):
    """Work whose event nobody has kept is still pending after Ctrl-C."""
    environments.python(
        """
import os, signal, threading
import dpctl, dpctl.memory
import sycl_ext as sx
from fake_gpu import control
from producers import Table, over, with_table

gpu = sx.device("level_zero:gpu:0")
queue = dpctl.SyclQueue(
    gpu.sycl_context, dpctl.SyclDevice("level_zero:gpu:0"), property="in_order"
)  # and not by way of the queue of the device, which nobody else has here
target, source = (dpctl.memory.MemoryUSMShared(8, queue=queue) for _ in range(2))
memoryview(target)[:], memoryview(source)[:] = b"0" * 8, b"1" * 8
tensor = sx.zeros(8, "uint8", usm_type="shared", device=gpu)

class OverTarget(Table):
    def from_object(self, producer, out):
        self.made.append(over(tensor, data=target._pointer, keep=target))
        out[0] = self.made[-1].hand_over()
        return 0

adapter = control.loaded()
adapter.fakegpu_set_delay_us(20_000_000)
queue.memcpy_async(target, source, 8)
taken = sx.from_dlpack(with_table(OverTarget(stream=queue.addressof_ref()))(tensor))
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    memoryview(taken)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
found = bytes(memoryview(taken))
del taken  # before ctypes is gone, which its deleter needs
assert found == b"1" * 8, found
""",
        gpu_environment,
    )


def test_where_there_is_no_thread_to_be_had(gpu_environment):
    """A wait is then one that no signal ends, and not none."""
    environments.python(
        """
import ctypes, threading
import dpctl.memory
import numpy as np
import sycl_ext as sx
from fake_gpu import control

gpu = sx.device("level_zero:gpu:0")
queue, adapter = gpu.sycl_queue, control.loaded()
tensor = sx.zeros(8, "uint8", usm_type="shared", device=gpu)
source = dpctl.memory.MemoryUSMHost(8, queue=queue)
memoryview(source)[:] = b"1" * 8
adapter.fakegpu_set_delay_us(20_000_000)
queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 8)
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
libc, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
assert libc.pthread_attr_init(attributes) == 0
assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 47)) == 0
assert libc.pthread_setattr_default_np(attributes) == 0  # no thread gets such a stack
assert np.asarray(tensor).tobytes() == b"1" * 8
""",
        gpu_environment,
    )


# ---- pending work --------------------------------------------------------------------------------


def test_blocks_with_pending_work_share_one_thread(gpu_environment):
    environments.python(
        """
import dpctl.memory, os
import sycl_ext as sx
from fake_gpu import control
from sycl_ext import _core
from waiting import eventually

gpu = sx.device("level_zero:gpu:0")
queue = gpu.sycl_queue
source = dpctl.memory.MemoryUSMHost(64, queue=queue)
adapter = control.loaded()
sx.zeros(64, "uint8", device=gpu).to_numpy()
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
adapter.fakegpu_set_delay_us(20_000_000)
t = sx.empty(64, "uint8", device=gpu)
queue.memcpy_async(dpctl.memory.as_usm_memory(t), source, 64)
del t
for _ in range(2000):
    del_me = sx.empty(64, "uint8", device=gpu)
    del del_me
assert _core.deferred_frees() >= 2000, _core.deferred_frees()
assert threads() <= before + 1, (before, threads())
adapter.fakegpu_set_delay_us(0)
assert eventually(lambda: not _core.deferred_frees())
""",
        gpu_environment,
    )


def test_an_allocation_that_waits_for_room_lets_others_run(gpu_environment):
    """The block that is missing is freed when the work on it is done."""
    variables = {**gpu_environment, "FAKEGPU_MEM": str(64 << 10)}
    environments.python(
        """
import dpctl.memory, threading
import sycl_ext as sx
from fake_gpu import control

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


def test_every_queue_of_a_tensor_counts():
    """Its own, that of its device, and that of the root device."""
    environments.python(
        """
import dpctl, dpctl.memory, threading
import numpy as np
import sycl_ext as sx
from sycl_ext import _core

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
queue.memcpy_async(dpctl.memory.as_usm_memory(t), source, 8, [barrier])
threading.Timer(0.3, gate.set).start()
assert np.asarray(t).tobytes() == b"1" * 8
"""
    )


def test_a_child_that_is_forked_in_the_middle_of_a_wait(gpu_environment):
    """The wait is its parent's: it has no end in the child, and is an error there."""
    environments.python(
        SLOW_VIEW
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


# ---- reference cycles ----------------------------------------------------------------------------


class Owner(np.ndarray):
    """An array that may hold what holds it."""


def owner():
    return np.zeros(10).view(Owner)


CYCLES = {
    "a tensor": lambda o: sx.as_tensor(o),
    "two views": lambda o: [t := sx.as_tensor(o), t[2:], t[2:][1:]],
    "a host view": lambda o: sx.host_view(sx.as_tensor(o)),
    "a host view and a slice": lambda o: (t := sx.as_tensor(o), sx.host_view(t), t[:4]),
    "two imports": lambda o: [sx.as_tensor(o), sx.as_tensor(o)],
    "from_dlpack": lambda o: sx.from_dlpack(o),
    "a tensor of a tensor": lambda o: sx.from_dlpack(sx.as_tensor(o)),
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_is_collected(name):
    array = owner()
    gone = weakref.ref(array)
    array.held = CYCLES[name](array)
    del array
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", CYCLES)
def test_what_others_hold_is_not_collected(name):
    """A view in an older generation, a capsule, or an array over the memory keeps it."""
    array = owner()
    array[:] = 7
    array.held = CYCLES[name](array)
    gone = weakref.ref(array)
    held = array.held
    kept = held[-1] if isinstance(held, (list, tuple)) else held
    capsule = kept.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    del array, held, kept
    for generation in (0, 1, 2):
        gc.collect(generation)
    assert gone() is not None
    assert np.from_dlpack(sx.host_view(capsule))[0] == 7
    del capsule
    gc.collect()
    assert gone() is None


def test_the_rule_is_checked():
    """This session ends at a call of the runtime with the GIL held; here one is planted."""
    with pytest.raises(AssertionError, match="called with the GIL held"):
        environments.python(
            """
from sycl_ext import _core
_core.check_gil_at_runtime_calls(True)
_core.call_runtime_with_gil()
"""
        )


#: Which queue is ordered after which, and by what.
ORDERS = {
    "a stream": ("queue()", "queue()", "a", "t.__dlpack__(stream=b, max_version=(1, 0))"),
    "a description": ("device.sycl_queue", "queue()", "b", "t.__sycl_usm_array_interface__"),
}


@pytest.mark.parametrize("is_busy", [True, False], ids=["busy", "free"])
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_waits_for_no_host_task(order, is_busy):
    """Neither the thread that asks for it, nor the only one of the runtime that runs host tasks.

    A barrier whose list names a command behind a host task has whoever enqueues it wait for that
    task: who submits it, or, on a queue that a host task keeps busy, the thread that has just run
    this one, and would have to run the other one.
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
