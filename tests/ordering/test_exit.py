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
