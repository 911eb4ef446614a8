# SPDX-License-Identifier: Apache-2.0
"""The checks of the stand-ins: a driver without them would let every defect pass."""

import re
import signal
import subprocess
import sys

import pytest

import environments
import opencl_gpu.build as opencl_gpu

OPENCL = environments.ROOT / "build" / "opencl_gpu"
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
def test_what_ends_a_process(devices, action):
    returncode, words = DEADLY[action]
    done = subprocess.run(
        [sys.executable, "-c", SETUP + action],
        env={**environments.clean_environment(), **devices, "PYTHONPATH": str(environments.HERE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == returncode, done.stderr
    assert re.search(words, done.stderr), done.stderr


@pytest.mark.parametrize("system_usm", [False, True])
def test_the_gpu_of_opencl(system_usm):
    """It is a GPU to every question, runs kernels, and reaches system memory when it is told so."""
    opencl_gpu.build(OPENCL)
    environments.python(
        f"""
import dpnp
import sycl_ext as sx

cpu, *gpus = sx.devices()
assert [gpu.filter_string for gpu in gpus] == ["opencl:gpu:0", "opencl:gpu:1"]
assert len({{device.sycl_context for device in (cpu, *gpus)}}) == 3
for gpu in gpus:
    reach = [gpu.host_accessible(kind) for kind in ("device", "shared", "host")]
    assert reach == [False, True, True]
    assert gpu.sycl_device.has_aspect_usm_system_allocations == {system_usm}
    assert all(part.device_type == "gpu" for part in gpu.create_sub_devices(1))
    array = dpnp.arange(1000, dtype="float32", device=gpu.sycl_device)
    assert float(dpnp.sum(array * 2)) == 999_000
""",
        opencl_gpu.environment(OPENCL, gpus=2, system_usm=system_usm),
    )
