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
