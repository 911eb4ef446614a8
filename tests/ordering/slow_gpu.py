# SPDX-License-Identifier: Apache-2.0
"""A program's first lines: a copy on the stand-in GPU that takes as long as it is held."""

#: `device` is a tensor whose copies can be held.
SLOW_GPU = """
import os, signal, threading, time
import numpy as np
import sycl_ext as sx
from level_zero import control

gpu = sx.device("level_zero:gpu:0")
device = sx.as_tensor(np.arange(300_000, dtype="int16"), device=gpu)
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

#: `taken` is a tensor over memory of dpctl that a pending copy fills with ones; its exporter named
#: the queue, which only this program has.
BORROWED = """
import ctypes, os, signal, threading
import dpctl, dpctl.memory
import sycl_ext as sx
from level_zero import control
from producers import Table, over, with_table

gpu = sx.device("level_zero:gpu:0")
queue = dpctl.SyclQueue(
    gpu.sycl_context, dpctl.SyclDevice("level_zero:gpu:0"), property="in_order"
)
target, source = (dpctl.memory.MemoryUSMShared(8, queue=queue) for _ in range(2))
memoryview(target)[:], memoryview(source)[:] = b"0" * 8, b"1" * 8
tensor = sx.zeros(8, "uint8", usm_type="shared", device=gpu)
deleter = None

class OverTarget(Table):
    def from_object(self, producer, out):
        self.made.append(over(tensor, data=target._pointer, keep=target))
        out[0] = self.made[-1].hand_over()
        if deleter is not None:
            self.made[-1]._struct.deleter = ctypes.cast(deleter, ctypes.c_void_p)
        return 0

def take():
    adapter.fakegpu_set_delay_us(20_000_000)
    queue.memcpy_async(target, source, 8)
    return sx.from_dlpack(with_table(OverTarget(stream=queue.addressof_ref()))(tensor))

adapter = control.loaded()
"""
