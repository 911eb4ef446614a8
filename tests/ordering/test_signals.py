# SPDX-License-Identifier: Apache-2.0
"""Waits end at a signal, whose handler may use what is being waited for."""

import environments
from slow_view import SLOW_VIEW


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
