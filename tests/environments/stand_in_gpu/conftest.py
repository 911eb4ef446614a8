# SPDX-License-Identifier: Apache-2.0
"""Two GPUs, the CPU, and the counters of the stand-in.

Most of these tests also run on other GPUs: ``support/environments.py`` says where, and
``support/needs.py`` what they lack.
"""

import contextlib
import os

import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from generated import alive
from level_zero import control
from needs import LACKS
from sycl_ext import _core
from waiting import eventually

LACKING = LACKS.get(os.environ["SYCL_EXT_ENVIRONMENT"], {})
HOLD_US = 20_000_000  # longer than any test: a queue is held until `release`


@pytest.fixture(scope="session")
def gpus():
    """The entries of the two GPUs."""
    gpu_devices = [device for device in sx.devices() if device.device_type == "gpu"]
    return [device for device in gpu_devices if device.kind == "root"]


@pytest.fixture(scope="session")
def gpu(gpus):
    return gpus[0]


@pytest.fixture(scope="session")
def cpu():
    return sx.device("opencl:cpu:0")


@pytest.fixture(scope="session")
def tiles(gpu):
    """The entries of the two tiles of the first GPU."""
    return gpu.create_sub_devices("next_partitionable")


@pytest.fixture(scope="session")
def level_zero():
    """Whether the real adapters of Level Zero run, on the stand-in or on Intel's driver."""
    return os.environ["SYCL_EXT_ENVIRONMENT"].startswith(("level_zero", "neo_v"))


@pytest.fixture(scope="session")
def peers():
    """Whether the GPUs reach each other's memory."""
    return os.environ.get("FAKEGPU_P2P") == "1"


@pytest.fixture(scope="session")
def adapter(gpus):
    """The C functions of the stand-in driver."""
    return control.loaded()


@pytest.fixture
def with_ipc(gpu):
    if not _core.has_ipc(gpu._entry):
        pytest.fail("the stand-in GPU has no inter-process handles")


@pytest.fixture(scope="session")
def pools(level_zero):
    """Whether memory comes out of pools between the runtime and the driver (UMF's)."""
    poses = os.environ["SYCL_EXT_ENVIRONMENT"] in ("cuda", "hip")  # it is Level Zero's adapter
    return (level_zero or poses) and os.environ.get("UR_L0_DISABLE_USM_ALLOCATOR") != "1"


@pytest.fixture(scope="session")
def blocks(adapter, gpus, pools):
    """How many blocks of memory of ours are alive; of a pool the driver sees only the slabs."""
    # each extension of dpnp keeps a byte of host USM from its first call (dpctl4pybind11.hpp)
    dpnp.asarray(np.zeros(1), usm_type="device", device=gpus[0].sycl_device)
    dpnp.zeros(1, dtype="u1", sycl_queue=gpus[0].sycl_queue)

    def ours():
        sx.memory.release_cached()
        return _core._test.live_allocations()

    def the_drivers():  # UMF keeps what it has opened, for the next time
        return adapter.fakegpu_live_allocations() - adapter.fakegpu_opened_allocations()

    return ours if pools else the_drivers


class Held:
    """While a queue is held, no command that is submitted gets done."""

    def __init__(self, adapter):
        self._adapter = adapter

    def release(self):
        self._adapter.fakegpu_set_delay_us(0)


@pytest.fixture
def hold(adapter):
    """A context manager in which every command waits for `release`."""

    @contextlib.contextmanager
    def holding():
        adapter.fakegpu_set_delay_us(HOLD_US)
        try:
            yield Held(adapter)
        finally:
            adapter.fakegpu_set_delay_us(0)

    return holding


@pytest.fixture(scope="session")
def allocations_left(blocks):
    """How many blocks are alive when everything that can go has gone."""

    def left():
        alive()
        sx.memory.release_cached()
        return blocks()

    return left


@pytest.fixture(autouse=True)
def no_memory_left(request):
    """Every USM allocation of a test is freed by its end, as far as somebody counts them."""
    if "adapter" in LACKING:
        yield
        return
    adapter, left = map(request.getfixturevalue, ("adapter", "allocations_left"))
    before = left()
    yield
    adapter.fakegpu_fail_at(0)
    adapter.fakegpu_fail_queries(0)
    adapter.fakegpu_set_delay_us(0)
    if getattr(request.node, "failed", False):
        return  # its traceback holds the objects of the test
    # dpctl lets go of a command's arguments on a thread of its own, some time after the command.
    assert eventually(lambda: left() <= before), (before, left())
