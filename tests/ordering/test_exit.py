# SPDX-License-Identifier: Apache-2.0
"""Pending work at the end of the process."""

import environments
from slow_gpu import BORROWED


def test_deleters_do_not_run_once_the_interpreter_ends(gpu_environment):
    """It may be Python's, and be gone with its module: this one aborts."""
    environments.python(
        BORROWED
        + """
import builtins, time

deleter = ctypes.CDLL(None).abort

class Last:  # the builtins are cleared after all modules
    def __init__(self, function, sleep=time.sleep):
        self.function, self.sleep = function, sleep

    def __del__(self):
        self.function(0)
        self.sleep(0.5)

taken = take()
builtins.last = Last(adapter.fakegpu_set_delay_us)
del taken
""",
        gpu_environment,
    )


def test_deleter_that_has_begun_ends_before_the_interpreter(gpu_environment):
    """It may take the GIL again in a destructor of C++, where CPython would end the process."""
    printed = environments.python(
        BORROWED
        + """
import time

begun = threading.Event()

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def deleter(address):
    begun.set()
    time.sleep(0.5)  # without the GIL
    print("ended", flush=True)

taken = take()
del taken
adapter.fakegpu_set_delay_us(0)
assert begun.wait(60)
""",
        gpu_environment,
    )
    assert printed.split() == ["ended"]


def test_other_threads_call_no_deleters_at_exit(gpu_environment):
    """The callback was registered before the package's own, so it is called after that one."""
    environments.python(
        """
import atexit, time

@atexit.register
def end_the_copy():
    adapter.fakegpu_set_delay_us(0)
    time.sleep(0.5)

"""
        + BORROWED
        + """
deleter = ctypes.CDLL(None).abort
taken = take()
del taken
""",
        gpu_environment,
    )


def test_exit_waits_for_a_compiler(tmp_path):
    """The driver's compiler has static objects, which are destroyed before those of the runtime."""
    environments.python(
        """
import threading
import sycl_ext as sx

device = sx.device("opencl:gpu:0")
sx.zeros((300, 200), "uint8", device=device).T.copy()  # its static objects are there
for dtype in ("int16", "float32", "float64", "complex128"):
    tensor = sx.zeros((300, 200), dtype, device=device)
    threading.Thread(target=tensor.T.copy, daemon=True).start()
""",
        environments.variables_of("opencl_gpu", tmp_path),
    )
