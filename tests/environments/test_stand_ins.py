# SPDX-License-Identifier: Apache-2.0
"""The checks of the stand-ins: a driver without them would let every defect pass."""

import re
import signal
import subprocess
import sys

import pytest

import environments

SETUP = """
import ctypes, dpctl
from dpctl.memory import MemoryUSMDevice, MemoryUSMHost
from level_zero import control

gpus = dpctl.get_devices(device_type="gpu")
driver = control.loaded()
queue = dpctl.SyclQueue(gpus[0], property="in_order")
memory, host = MemoryUSMDevice(16, queue=queue), MemoryUSMHost(16, queue=queue)
"""
#: A program -> the exit of its process, and the words on stderr.
DEADLY = {
    "ctypes.string_at(memory._pointer, 1)": (-signal.SIGSEGV, ""),
    "driver.fakegpu_set_delay_us(20_000_000); queue.memcpy_async(memory, host, 16); del memory": (
        -signal.SIGABRT,
        "memory was freed before a command that uses it was done",
    ),
    "queue.memcpy_async(memory, MemoryUSMDevice(16, queue=dpctl.SyclQueue(gpus[1])), 16)": (
        1,
        "memcpy operation encountered an error",
    ),
}


@pytest.fixture(params=["v1", "v2"])
def devices(request):
    return environments.level_zero(request.param, pools=False)


@pytest.mark.parametrize("action", DEADLY)
def test_misuse_of_the_stand_in_ends_the_process(devices, action):
    returncode, words = DEADLY[action]
    done = subprocess.run(
        [sys.executable, "-c", SETUP + action],
        env={**environments.clean_environment(), **devices, "PYTHONPATH": str(environments.HERE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == returncode, done.stderr
    assert re.search(words, done.stderr), done.stderr
