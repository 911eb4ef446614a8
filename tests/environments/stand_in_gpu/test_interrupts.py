# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the device works: control comes back, and memory stays until the device is done."""

import os
import signal
import threading
import time

import dpctl
import dpctl.memory
import greenlet
import numpy as np
import pytest

import environments
import sycl_ext as sx
from generated import alive
from needs import needs
from samples import bits, values
from sycl_ext import _core

SMALL, LARGE = values((30, 40), "int16"), values((1500, 2000), "int16")


def on(gpu):
    """A tensor that one command copies, and one that is staged in blocks."""
    return sx.as_tensor(SMALL, device=gpu), sx.as_tensor(LARGE, device=gpu)


kept = []


def pending_elsewhere(a):
    """Hand a tensor over while another library's command on its queue runs."""
    queue = dpctl.SyclQueue(a.sycl_context, a.device.sycl_device, property="in_order")
    tensor = sx.empty(100, "uint8", device=queue)
    source = dpctl.memory.MemoryUSMHost(100, queue=queue)
    kept.append(source)  # their memory is theirs to keep
    queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 100)
    tensor.__dlpack__()


OPERATIONS = {
    "zeros": lambda a, b, other: sx.zeros(1000, device=a.device),
    "to_numpy": lambda a, b, other: a.to_numpy(),
    "to_numpy, staged": lambda a, b, other: b.T[::3].to_numpy(),
    "host_view": lambda a, b, other: np.asarray(sx.host_view(a)),
    "memoryview": lambda a, b, other: memoryview(sx.host_view(b[:, 1:])),
    "copy": lambda a, b, other: a.copy(),
    "copy, staged": lambda a, b, other: b[::2, ::-1].copy(),
    "copy_from": lambda a, b, other: a.copy_from(SMALL),
    "copy_from, staged": lambda a, b, other: b.copy_from(LARGE),
    "copy_from, gaps": lambda a, b, other: a[::2].copy_from(SMALL[::2]),
    "to the other GPU": lambda a, b, other: b.to_device(other, copy=True),
    "to the CPU": lambda a, b, other: a.to_device("opencl:cpu:0"),
    "export to the host": lambda a, b, other: a.__dlpack__(dl_device=(1, 0)),
    "exchange": lambda a, b, other: sx.exchange(a, np),
    "from the host": lambda a, b, other: sx.as_tensor(LARGE, device=other),
    "another library's command": lambda a, b, other: pending_elsewhere(a),
}


def interrupt(after=0.05, number=signal.SIGINT):
    """In a moment; called where `KeyboardInterrupt` is expected, since a moment may be no time."""
    threading.Timer(after, os.kill, (os.getpid(), number)).start()


def interrupted(operation, *signal):
    interrupt(*signal)
    return operation()


def interrupt_the_wait(operation):
    """On a busy machine the signal may come before the operation waits: then once more."""
    before = _core._test.interrupted_waits()
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            interrupted(operation)
        if _core._test.interrupted_waits() > before:
            return
    pytest.fail("no wait was interrupted")


def until_nobody_waits():
    while _core._test.deferred_frees():
        time.sleep(0.01)


@pytest.mark.parametrize("name", OPERATIONS)
def test_control_comes_back(name, gpus, hold):
    """While the command is still running; what it reads and writes lives until it has run."""
    operation, (a, b) = OPERATIONS[name], on(gpus[0])
    operation(a, b, gpus[1])
    before = alive()
    with hold() as held:
        interrupt_the_wait(lambda: operation(a, b, gpus[1]))
        assert _core._test.live_allocations() > before[1]  # what the command reads or writes
        held.release()
    until_nobody_waits()
    kept.clear()
    assert alive() == before
    if "copy_from" not in name:  # the target of a copy that was given up is anybody's guess
        assert (bits(a.to_numpy()), bits(b.to_numpy())) == (bits(SMALL), bits(LARGE))
    operation(a, b, gpus[1])
    kept.clear()
    assert bits(a.copy_from(SMALL).to_numpy()) == bits(SMALL)


def test_handler_that_does_not_raise_does_not_end_the_wait(gpu, hold, adapter):
    """Even where greenlets wait in it, and the first wait ends before the second."""
    a, main = on(gpu)[0], greenlet.getcurrent()
    other = greenlet.greenlet(a.to_numpy)

    def handler(*_):
        if greenlet.getcurrent() is other:
            return main.switch()
        interrupt(0.2, signal.SIGUSR1)
        other.switch()
        raise KeyboardInterrupt

    signal.signal(signal.SIGUSR1, handler)
    with hold():
        with pytest.raises(KeyboardInterrupt):
            interrupted(a.to_numpy, 0.2, signal.SIGUSR1)
        threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
        assert bits(other.switch()) == bits(SMALL)


def test_ctrl_c_leaves_the_waits_of_threads(gpu, hold):
    """Ctrl-C is the main thread's."""
    a, results = on(gpu)[0], []
    thread = threading.Thread(target=lambda: results.append(a.to_numpy()))
    with hold() as held:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            interrupted(lambda: time.sleep(60))
        held.release()
        thread.join()
    assert bits(results[0]) == bits(SMALL)


def test_block_between_two_gpus_stays_until_the_second_has_read_it(gpus, adapter, peers):
    source = sx.as_tensor(SMALL, device=gpus[0])
    target = sx.as_tensor(SMALL[::-1], device=gpus[1])
    copies = 1 if peers else 2
    assert sx.explain(source, gpus[1], copy=True).copies == copies

    def interrupted_in_the_last_copy():
        """Not, where this thread was too slow to hold it, or the other one to begin it."""
        last, comes = adapter.fakegpu_copies() + copies - 1, []
        before = _core._test.interrupted_waits()

        def interrupt_it():
            while adapter.fakegpu_copies() < last:
                time.sleep(0.001)
            adapter.fakegpu_set_delay_us(20_000_000)
            if adapter.fakegpu_copies() == last:
                comes.append(interrupt(0.3))

        adapter.fakegpu_set_delay_us(500_000)
        thread = threading.Thread(target=interrupt_it)
        try:
            thread.start()
            target.copy_from(source)
            thread.join()
            if comes:
                time.sleep(60)
        except KeyboardInterrupt:
            if _core._test.interrupted_waits() > before:
                return True
        adapter.fakegpu_set_delay_us(0)
        until_nobody_waits()
        return False

    assert any(interrupted_in_the_last_copy() for _ in range(20))
    others = []
    for _ in range(50):  # on top of the block, if it was free
        others.append(np.asarray(sx.host_view(np.full_like(SMALL, 7), copy=True)))
        time.sleep(0.001)
    adapter.fakegpu_set_delay_us(0)
    until_nobody_waits()
    assert bits(target.to_numpy()) == bits(SMALL)


@needs("adapter")
def test_interrupted_script_ends_with_the_code_of_ctrl_c(gpu):
    """With a traceback and the code of Ctrl-C; it waits for the device a moment, and no longer."""
    output = environments.python(
        """
import os, signal, subprocess, sys

script = '''
import os, signal, threading, time
import sycl_ext as sx
from level_zero import control
tensor = sx.zeros(1000, device="level_zero:gpu:0")
delay = control.loaded().fakegpu_set_delay_us
delay(20_000_000)
def interrupt():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
    threading.main_thread().join()
    delay(0)
threading.Thread(target=interrupt).start()
tensor.copy()
'''
done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
assert done.returncode in (130, -signal.SIGINT), (done.returncode, done.stderr)
assert done.stderr.strip().endswith("KeyboardInterrupt"), done.stderr
print("ended")
""",
        inherit=True,
    )
    assert output == "ended\n"
