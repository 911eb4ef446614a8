# SPDX-License-Identifier: Apache-2.0
"""Waits end at a signal, and its handler may use the same memory."""

import environments
from slow_gpu import BORROWED, SLOW_GPU


def test_signal_in_a_buffer_request_is_handled_after_it(gpu_environment):
    """NumPy would drop the exception of the handler.  A wait of ours it ends at once."""
    environments.python(
        SLOW_GPU
        + """
class Stop(Exception):
    pass

def handler(*_):
    raise Stop

def interrupt():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.4)
    adapter.fakegpu_set_delay_us(0)

signal.signal(signal.SIGUSR1, handler)
shared, source = (sx.zeros(1000, usm_type="shared", device=gpu) for _ in range(2))
for request, is_buffer in ((np.asarray, 1), (memoryview, 1), (sx.Tensor.to_numpy, 0)):
    adapter.fakegpu_set_delay_us(HELD)
    copy = shared.copy_from(source, wait=False)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        request(shared)
    except Stop:
        was_done = copy.done()
    else:
        raise AssertionError(request)
    thread.join()
    assert was_done == bool(is_buffer), request
    assert np.asarray(shared)[3] == 0  # an innocent call
""",
        gpu_environment,
    )


def test_interrupted_wait_leaves_work_pending(gpu_environment):
    """Work whose event nobody has kept is still pending after Ctrl-C."""
    environments.python(
        BORROWED
        + """
taken = take()
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    taken.to_numpy()
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
found = bytes(memoryview(taken))
assert found == b"1" * 8, found
""",
        gpu_environment,
    )


#: No thread can be started from here on: none gets such a stack.
NO_MORE_THREADS = """
libc, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
assert libc.pthread_attr_init(attributes) == 0
assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 47)) == 0
assert libc.pthread_setattr_default_np(attributes) == 0
"""


def test_wait_needs_no_thread(gpu_environment):
    environments.python(
        BORROWED
        + """
taken = take()
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
"""
        + NO_MORE_THREADS
        + """
assert bytes(taken.to_numpy()) == b"1" * 8
""",
        gpu_environment,
    )


def test_wait_without_threads_is_interrupted(gpu_environment):
    environments.python(
        BORROWED
        + """
class Stop(Exception):
    pass

def handler(*_):
    raise Stop

signal.signal(signal.SIGALRM, handler)
taken = take()
"""
        + NO_MORE_THREADS
        + """
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    taken.to_numpy()
except Stop:
    adapter.fakegpu_set_delay_us(0)
else:
    raise AssertionError("not interrupted")
assert bytes(taken.to_numpy()) == b"1" * 8
""",
        gpu_environment,
    )


def test_interrupted_waits_keep_no_threads(gpu_environment):
    environments.python(
        SLOW_GPU
        + """
class Stop(Exception):
    pass

def handler(*_):
    raise Stop

signal.signal(signal.SIGALRM, handler)
device.to_numpy()
before = set(os.listdir("/proc/self/task"))
adapter.fakegpu_set_delay_us(HELD)
for _ in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        device.to_numpy()
    except Stop:
        pass
    else:
        raise AssertionError("not interrupted")
assert len(set(os.listdir("/proc/self/task")) - before) <= 1  # the one that frees
adapter.fakegpu_set_delay_us(0)
assert device.to_numpy()[7] == 7
""",
        gpu_environment,
    )


def test_wait_without_memory_does_not_end_the_process(gpu_environment):
    """A thread for the wait could not have its thread-local data."""
    environments.python(
        SLOW_GPU
        + """
import resource

small = sx.zeros(100, "uint8", device=gpu)
for _ in range(3):
    small.wait()
    small.copy_from(small.copy(), wait=False).wait()
try:  # the runtime has thread-local data for errors, too, and ends the process without room for it
    sx.empty(1 << 50, "uint8", device=gpu)
except (MemoryError, sx.SyclError):
    pass
adapter.fakegpu_set_delay_us(20_000)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096, resource.RLIM_INFINITY))
hoard, size = [], 1 << 20
while size >= 64:
    try:
        hoard.append(bytearray(size))
    except MemoryError:
        size //= 2
outcomes = []
for _ in range(10):
    try:
        outcomes.append(small.wait())
        outcomes.append(small.copy_from(small, wait=False).wait())
    except (MemoryError, sx.SyclError):
        pass
del hoard
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
adapter.fakegpu_set_delay_us(0)
assert not small.to_numpy().any()
""",
        gpu_environment,
    )
