# SPDX-License-Identifier: Apache-2.0
"""Processes that open memory with pending work, for the tests of events between processes.

A test writes a line to a process, and gets the line that it answers.
"""

import os
import pickle
import subprocess
import sys

import numpy as np

import environments
import sycl_ext as sx

#: How the code of a reader begins.
_BEGIN = """
import pickle, sys
import numpy as np
import sycl_ext as sx
from level_zero import control
from sycl_ext import _core
_core._test.check_gil()
driver = control.loaded() if sx.devices() else None
def opened():
    return sx.ipc.open(pickle.loads(bytes.fromhex(input())))
"""
#: Copies on the device without a wait, and says how many copies have been made, and what it sees.
COPIES = """
t = opened()
mine = sx.empty(t.shape, t.dtype, device=t.device)
mine.copy_from(t, wait=False)
print("submitted", driver.fakegpu_copies(), flush=True)
input()
print(driver.fakegpu_copies(), mine.tolist(), driver.fakegpu_copies(), flush=True)
"""
#: Copies on the device, and waits by three calls, each of which ends with an error.
WAITS = """
t = opened()
mine = sx.empty(t.shape, t.dtype, device=t.device)
mine.copy_from(t, wait=False)
print("submitted", flush=True)
for number, wait in enumerate((t.tolist, mine.wait, t.wait), 1):
    try:
        print("waits", number, flush=True)
        wait()
    except (sx.SyclError, KeyboardInterrupt) as error:
        print(type(error).__name__, error, flush=True)
del t, mine
print("ends", flush=True)
"""
#: Shares memory with work that is pending until it gets a line.
MAKER = """
import os, pickle, sys
import numpy as np
import sycl_ext as sx
from level_zero import control
t = sx.ipc.empty(3, "int32", device="level_zero:gpu:0")
new = sx.ipc.empty(3, "int32", device="level_zero:gpu:0").copy_from(np.full(3, 2, "int32"))
control.loaded().fakegpu_set_delay_us(20_000_000)
t.copy_from(new, wait=False)
handle = sx.ipc.handle(t)
print(os.getpid(), pickle.dumps(handle).hex(), flush=True)
input()
control.loaded().fakegpu_set_delay_us(0)
t.wait()
"""


class Readers:
    """Starts processes with code after that of `_BEGIN`, and ends them."""

    def __init__(self):
        self._started = []

    def __call__(self, code):
        path = os.pathsep.join([str(environments.HERE), os.environ.get("PYTHONPATH", "")])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = [sys.executable, "-W", "error", "-c", _BEGIN + code]
        variables = {**os.environ, "PYTHONPATH": path}
        process = subprocess.Popen(command, text=True, env=variables, **pipes)
        self._started.append(process)

        def ask(line):
            print(line, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        ask.process = process
        return ask

    def end(self):
        for process in self._started:
            process.kill()
            process.communicate()


def sent(handle):
    return pickle.dumps(handle).hex()


def numbers(gpu, value):
    return sx.ipc.empty(3, "int32", device=gpu).copy_from(np.full(3, value, "int32"))
