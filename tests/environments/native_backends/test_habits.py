# SPDX-License-Identifier: Apache-2.0
"""What the adapters of CUDA and HIP do otherwise than those of Level Zero.

They open no inter-process handle in the process that made it, block in the submission of a copy
from or to pageable memory, and have no error for a lost device.
"""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import bits, values
from sycl_ext import _core
from waiting import eventually

BACKEND = os.environ["SYCL_EXT_ENVIRONMENT"]
NUMBERS = values((4, 5), "int32")
HOLD_US = 20_000_000  # longer than any test


def shared_numbers(gpus):
    return sx.ipc.empty((4, 5), "int32", device=gpus[1]).copy_from(NUMBERS)


# ---- inter-process handles -----------------------------------------------------------------------

OPENS = """
import pickle
import sycl_ext as sx
t = sx.ipc.open(pickle.loads({pickled!r}))
print(t.device.filter_string, t.usm_type, t.strides, t.readonly, t.to_numpy().tolist())
if not t.readonly:
    t.copy_from(t.to_numpy() + 1)
"""


def opened_elsewhere(handle):
    """What another process sees, which then adds one."""
    return environments.python(OPENS.format(pickled=pickle.dumps(handle)), inherit=True).strip()


def test_two_processes_see_one_memory(gpus):
    shared = shared_numbers(gpus)
    handle = sx.ipc.handle(shared[::2, ::-1])
    seen = opened_elsewhere(handle)
    assert seen == f"{BACKEND}:gpu:1 device (10, -1) False {NUMBERS[::2, ::-1].tolist()}"
    expected = NUMBERS.copy()
    expected[::2] += 1
    assert bits(shared.to_numpy()) == bits(expected)
    assert "True" in opened_elsewhere(sx.ipc.handle(shared.as_readonly()))
    assert bits(shared.to_numpy()) == bits(expected)


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_refusal_of_other_usm_names_a_copy_that_can_be_shared(gpus, usm_type):
    t = sx.zeros(3, usm_type=usm_type, device=gpus[0])
    with pytest.raises(BufferError, match=f"'{usm_type}' memory has no inter-process handle"):
        sx.ipc.handle(t)
    copy = sx.ipc.empty(t.shape, t.dtype, device=t.device).copy_from(t)
    assert sx.ipc.open(sx.ipc.handle(copy)).ptr == copy.ptr


def test_bytes_that_the_driver_does_not_open_here_are_explained(gpus):
    """Those of another library, of which nothing is known here: handles of ours are views."""
    shared = shared_numbers(gpus)
    export = _core.IpcExport(shared)
    with pytest.raises(sx.SyclError, match="in the process that made it; use the array itself"):
        sx.ipc.open(export.data, device=shared.device, shape=20)


# ---- copies from and to pageable memory ----------------------------------------------------------

COPIES = {
    "to_numpy": lambda t: t.to_numpy(),
    "a few bytes": lambda t: t[:1].to_numpy(),
    "copy_from": lambda t: t.copy_from(np.zeros(t.shape, "int32")),
    "copy_from, wait=False": lambda t: t.copy_from(np.zeros(t.shape, "int32"), wait=False).wait(),
    "as_tensor": lambda t: sx.as_tensor(np.zeros(100, "int32"), device=t.device),
    "from memory that was registered": lambda t: copy_registered(t),
    "to the CPU": lambda t: t.to_device("opencl:cpu:0"),
    "to the other GPU": lambda t: t.to_device(sx.devices()[2], copy=True),
    "exchange": lambda t: sx.exchange(t, np),
}


def copy_registered(t):
    source = np.zeros(t.shape, "int32")
    with sx.memory.register_host(source):
        t.copy_from(source)


def interrupt_the_next_wait(driver):
    """Send SIGINT when the main thread waits where a signal ends the wait; else let it go on."""

    def interrupt():
        for _ in range(200):
            if _core._test.waits_of_main_thread():
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.01)
        driver.fakegpu_set_delay_us(0)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


@pytest.mark.parametrize("size", [100, 65_536, 200_000])
@pytest.mark.parametrize("name", COPIES)
def test_control_comes_back_from_a_copy_behind_pending_work(gpus, driver, name, size):
    t = sx.zeros(size, "int32", device=gpus[0])
    COPIES[name](t)  # what is made once is made
    driver.fakegpu_set_delay_us(HOLD_US)
    try:
        thread = interrupt_the_next_wait(driver)
        with pytest.raises(KeyboardInterrupt):
            COPIES[name](t)
        thread.join()
    finally:
        driver.fakegpu_set_delay_us(0)
    assert eventually(lambda: not _core._test.deferred_frees())
    assert not t.copy_from(np.zeros(size, "int32")).to_numpy().any()


def test_registering_host_memory_says_that_it_does_nothing(gpus):
    """The adapters report success, and the driver has not been told."""
    with sx.memory.register_host(np.zeros(1000)) as registration:
        assert not any(registration.registered[gpu] for gpu in gpus)


# ---- a lost device -------------------------------------------------------------------------------


def test_lost_device_is_named_and_keeps_nothing():
    """After a fault of a kernel each call fails with the same error, for ever."""
    environments.python(
        """
import numpy as np
import sycl_ext as sx
from level_zero import control
from waiting import eventually

gpu, driver = sx.devices()[1], control.loaded()
tensor, source = sx.zeros((30, 40), "int16", device=gpu), np.zeros((30, 40), "int16")
other = tensor.copy()
driver.fakegpu_set_delay_us(20_000_000)
other.copy_from(tensor, wait=False)
driver.fakegpu_lose_devices()
del other  # its block waits for the copy
assert eventually(lambda: not sx._core._test.deferred_frees())
for usm_type in ("device", "shared", "host"):
    try:
        sx.empty(1 << 24, device=gpu, usm_type=usm_type)
    except sx.SyclError as error:
        assert "is lost" in str(error), error
    else:
        raise AssertionError("no error")
for call in (
    lambda: tensor.to_numpy(),
    lambda: tensor.copy(),
    lambda: tensor[::2].copy_from(source[::2]),
    lambda: tensor.to_device("opencl:cpu:0"),
    lambda: sx.as_tensor(source, device=gpu),
    lambda: sx.ipc.empty(3, device=gpu),
):
    try:
        call()
    except (sx.SyclError, BufferError):  # not MemoryError, which blames the program
        continue
    raise AssertionError("no error")
assert eventually(lambda: not sx._core._test.deferred_frees())
assert not sx.zeros(3, device="opencl:cpu:0").to_numpy().any()
""",
        inherit=True,
    )
