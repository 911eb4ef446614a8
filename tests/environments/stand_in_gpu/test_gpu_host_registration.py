# SPDX-License-Identifier: Apache-2.0
"""Host memory that a driver knows: what it is told, and what its copies cost."""

import gc
import os
import signal
import threading

import numpy as np
import pytest

import environments
import sycl_ext as sx
from needs import needs
from sycl_ext.memory import register_host
from waiting import eventually

MANY = 5 << 20  # bytes: more than one block of a staged copy
PIECES = 4  # of the staging: a short copy has four blocks of at least a MiB


@pytest.fixture(autouse=True)
def imports_of_host_memory(level_zero):
    """The features that environments without a Level Zero driver lack."""
    assert level_zero


@pytest.fixture
def numbers():
    return np.arange(MANY, dtype="uint8")


def copies(adapter, work):
    before = adapter.fakegpu_copies()
    work()
    return adapter.fakegpu_copies() - before


def test_registration_imports_once_and_releases(adapter, gpus, cpu, numbers):
    imports = adapter.fakegpu_imports()
    with register_host(numbers) as registration:
        assert registration.registered == {cpu: False, **dict.fromkeys(gpus, True)}
        assert adapter.fakegpu_imports() == imports + 1
        assert adapter.fakegpu_imported() == 1
    assert adapter.fakegpu_imported() == 0
    assert not any(registration.registered.values())
    registration.close()
    assert registration.closed


def test_copies_are_one_command(adapter, gpu, numbers):
    tensor, back = sx.zeros(MANY, "uint8", device=gpu), np.empty_like(numbers)

    def down():
        with sx.staged(tensor, "r", memory=back):
            pass

    work = (lambda: tensor.copy_from(numbers), down, lambda: tensor[1:].copy_from(numbers[1:]))
    assert [copies(adapter, each) for each in work] == [PIECES] * 3
    with register_host(numbers), register_host(back):
        assert [copies(adapter, each) for each in work] == [1, 1, 1]
    assert np.array_equal(back, numbers)
    assert copies(adapter, work[0]) == PIECES


@pytest.mark.parametrize("nbytes", [4096, MANY])
@pytest.mark.parametrize("region", [slice(999), slice(999, None), slice(9, 999), slice(-999, None)])
@pytest.mark.parametrize("wait", [True, False])
def test_copy_across_the_border_of_registered_memory_is_right(gpu, numbers, region, nbytes, wait):
    """The driver knows the registered part as a block, and ends where the block ends."""
    host, tensor = numbers[:nbytes].copy(), sx.zeros(nbytes, "uint8", device=gpu)
    with register_host(host[region]):
        copy = tensor.copy_from(host, wait=wait)
        back = np.empty_like(host)
        with sx.staged(tensor, "r", memory=back), register_host(back[region]):
            pass
        with register_host(back[region]), sx.staged(tensor, "r", memory=back):
            pass
    if not wait:
        copy.wait()
    assert np.array_equal(tensor.to_numpy(), host)
    assert np.array_equal(back, host)


def test_host_usm_needs_no_registration(adapter, gpu):
    tensor = sx.zeros(MANY, "uint8", device=gpu)
    pinned = sx.zeros(MANY, "uint8", device=gpu, usm_type="host")
    assert copies(adapter, lambda: tensor.copy_from(pinned)) == 1
    with sx.staged(tensor) as memory:
        before = adapter.fakegpu_copies()
        np.asarray(memory)[:] = 7
    assert adapter.fakegpu_copies() == before + 1
    assert not any(register_host(pinned).registered.values())


@pytest.mark.parametrize("is_closed", [False, True])
def test_pending_copy_keeps_its_registration(adapter, gpu, numbers, hold, is_closed):
    """The registration is dropped, or Ctrl-C comes while it is being closed."""

    def interrupt():
        assert eventually(sx._core._test.waits_of_main_thread)
        os.kill(os.getpid(), signal.SIGINT)

    tensor = sx.zeros(MANY, "uint8", device=gpu)
    with hold() as held:
        registration = register_host(numbers)
        copy = tensor.copy_from(numbers, wait=False)
        if is_closed:
            threading.Thread(target=interrupt).start()
            with pytest.raises(KeyboardInterrupt):
                registration.close()
            assert not any(registration.registered.values())
        del registration
        gc.collect()
        assert adapter.fakegpu_imported() == 1
        held.release()
        copy.wait()
        with register_host(numbers):  # one that is being released is taken over, or shared
            assert adapter.fakegpu_imported() == 1
    assert np.array_equal(tensor.to_numpy(), numbers)


def test_deleter_may_close_a_registration(gpu, numbers, hold):
    """The thread that frees runs it, and would wait for a copy that only it can free."""

    class Closing(np.ndarray):
        def __del__(self):
            last.close()

    first, last = np.zeros(9, "uint8").view(Closing), register_host(numbers)
    registration = register_host(first)
    with hold():
        for source in (first, numbers):
            sx.empty(source.size, "uint8", device=gpu).copy_from(source, wait=False)
        del first, source, registration
    assert eventually(lambda: not sx._core._test.deferred_frees())


def test_import_of_a_third_party_stays_theirs(adapter, gpu, numbers):
    environments.python(
        """
import ctypes
import numpy as np
import sycl_ext as sx
from level_zero import control
from level_zero.sycl_memory import import_functions
from sycl_ext.memory import register_host

gpu, driver = sx.device("gpu"), control.loaded()
array = np.zeros(100_000)
prepare, release = import_functions()
context = ctypes.c_void_p(gpu.sycl_context.addressof_ref())
prepare(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), context)
with register_host(array[10:]) as registration:
    assert registration.registered[gpu]
assert driver.fakegpu_imported() == driver.fakegpu_imports() == 1
release(ctypes.c_void_p(array.ctypes.data), context)
# A part is theirs: the driver refuses, and the runtime does not tell.
prepare(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(80_000), context)
with register_host(array) as registration:
    assert not registration.registered[gpu]
assert driver.fakegpu_imported() == 1
""",
        inherit=True,
    )


def test_failed_registration_leaves_a_staged_copy(adapter, gpu, numbers):
    adapter.fakegpu_fail_at(1)
    with register_host(numbers) as registration:
        assert not registration.registered[gpu]
        assert (
            copies(adapter, lambda: sx.zeros(MANY, "uint8", device=gpu).copy_from(numbers))
            == PIECES
        )


@needs("adapter")
def test_forked_child_and_process_end_release_no_registration():
    """A child releases nothing of its parent's; at the end of the process nothing is released."""
    environments.python(
        """
import os
import numpy as np
import sycl_ext as sx
from level_zero import control
from sycl_ext.memory import register_host

array, driver = np.zeros(1000), control.loaded() if sx.devices() else None
registration = register_host(array)
if os.fork() == 0:
    registration.close()
    with register_host(np.ones(1000)) as other:
        assert not any(other.registered.values())
    os._exit(0 if driver.fakegpu_imported() == 1 else 1)
assert os.wait()[1] == 0
assert driver.fakegpu_imported() == 1
kept = register_host(np.zeros(10))
""",
        inherit=True,
    )


def test_device_memory_cannot_stage_a_tensor():
    tensor = sx.zeros(3, "int32")
    with pytest.raises(BufferError, match="memory is .*'device'.*that the host can access"):
        sx.staged(tensor, memory=sx.zeros(3, "int32")).__enter__()
