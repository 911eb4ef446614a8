# SPDX-License-Identifier: Apache-2.0
"""Pending work at the end of the process."""

import environments


def test_no_deleter_runs_in_the_background_once_the_interpreter_ends(gpu_environment):
    """It may be Python's, and be gone with its module: this one aborts."""
    environments.python(
        """
import builtins, ctypes, time
import dpctl, dpctl.memory
import sycl_ext as sx
from level_zero import control
from producers import Table, over, with_table

gpu = sx.device("level_zero:gpu:0")
queue = dpctl.SyclQueue(
    gpu.sycl_context, dpctl.SyclDevice("level_zero:gpu:0"), property="in_order"
)
target, source = (dpctl.memory.MemoryUSMShared(8, queue=queue) for _ in range(2))
tensor = sx.zeros(8, "uint8", usm_type="shared", device=gpu)

class OverTarget(Table):
    def from_object(self, producer, out):
        self.made.append(over(tensor, data=target._pointer, keep=target))
        out[0] = self.made[-1].hand_over()
        self.made[-1]._struct.deleter = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p)
        return 0

class Last:  # the builtins are cleared after all modules
    def __init__(self, function, sleep=time.sleep):
        self.function, self.sleep = function, sleep

    def __del__(self):
        self.function(0)
        self.sleep(0.5)

adapter = control.loaded()
adapter.fakegpu_set_delay_us(20_000_000)
queue.memcpy_async(target, source, 8)
taken = sx.from_dlpack(with_table(OverTarget(stream=queue.addressof_ref()))(tensor))
builtins.last = Last(adapter.fakegpu_set_delay_us)
del taken
""",
        gpu_environment,
    )
