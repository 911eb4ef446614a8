# SPDX-License-Identifier: Apache-2.0
"""The stand-in GPUs, the CPU beside them, and the counters of the stand-in."""

import contextlib
import gc
import os

import pytest

import sycl_ext as sx
from fake_gpu import control
from sycl_ext import _core

HOLD_US = 20_000_000  # longer than any test: a queue is held until `release`


@pytest.fixture(scope="session")
def gpus():
    """The rows of the two GPUs."""
    found = [device for device in sx.devices() if device.name.startswith("Fake GPU")]
    return [device for device in found if device.kind == "root"]


@pytest.fixture(scope="session")
def gpu(gpus):
    return gpus[0]


@pytest.fixture(scope="session")
def cpu():
    return sx.device("opencl:cpu:0")


@pytest.fixture(scope="session")
def tiles(gpu):
    """The rows of the two tiles of the first GPU."""
    return gpu.create_sub_devices("next_partitionable")


@pytest.fixture(scope="session")
def strict():
    """Contexts as on OpenCL, peers that reach each other, no double precision."""
    return os.environ["SYCL_EXT_BED"] == "stand_in_gpu_strict"


@pytest.fixture(scope="session")
def adapter(gpus):
    """The C functions of the adapter."""
    return control.loaded()


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


@pytest.fixture(autouse=True)
def no_memory_left(request, adapter):
    """Every USM allocation of a test is freed by its end."""
    _core.release_cached_memory()
    before = adapter.fakegpu_live_allocations()
    yield
    adapter.fakegpu_fail_at(0)
    adapter.fakegpu_set_delay_us(0)
    if getattr(request.node, "failed", False):
        return  # its traceback holds what the test had
    _core.release_cached_memory()
    if adapter.fakegpu_live_allocations() != before:
        gc.collect()
        _core.release_cached_memory()
    assert adapter.fakegpu_live_allocations() <= before
