# SPDX-License-Identifier: Apache-2.0
"""The tools of a test of synchronisation: GPUs that are slow on demand, and work for them.

The host looks at memory through its address, and at device memory through a queue that nobody has
ordered after anything: a look never waits for the work that it is looking for.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dpctl
import dpctl.memory
import numpy as np

import environments
import sycl_ext as sx
from level_zero import control

HERE = Path(__file__).resolve().parent
#: Where a wait is missing, more than half of the reads are stale (the end of test_waits.py, which
#: counts MANY): a defect is unseen by 20 once in a million times.  ``make test-long`` repeats more.
MANY = 100
REPETITIONS = MANY if environments.LONG else 20
#: Elements of every tensor here; the first and the last are looked at.
LENGTH = 64
DTYPE = np.dtype("int64")
NBYTES = LENGTH * DTYPE.itemsize
#: Pause of each command while something is repeated.
DELAY_US = 100
#: A pause that nobody waits for: it holds every queue until it is set to 0.
HELD_US = 20_000_000


def usm(obj: Any) -> dpctl.memory._memory._Memory:
    """The memory behind anything with ``__sycl_usm_array_interface__``, for a queue's commands."""
    return dpctl.memory.as_usm_memory(obj)


def at(address: int) -> set[int]:
    """The number that the host reads at an address now."""
    first = ctypes.c_int64.from_address(address)
    last = ctypes.c_int64.from_address(address + NBYTES - DTYPE.itemsize)
    return {first.value, last.value}


def of(array: np.ndarray) -> set[int]:
    """The number in a host array now."""
    return {int(array.flat[0]), int(array.flat[-1])}


class Bench:
    """Two GPUs and the CPU device, and work whose result a test can recognise."""

    def __init__(self) -> None:
        self.cpu = sx.device("opencl:cpu")
        self.gpu, self.other_gpu = sx.device("level_zero:gpu:0"), sx.device("level_zero:gpu:1")
        self.control = control.loaded()
        self.reader = self.queue("in_order")
        # Row i is all i: a copy of it into a tensor is the work that the tests look for.
        self._values = sx.empty((MANY + 1, LENGTH), DTYPE, usm_type="host", device=self.gpu)
        np.asarray(self._values)[...] = np.arange(MANY + 1)[:, None]
        self._rows = [usm(row) for row in self._values]
        self._spare = [usm(self.tensor("host")) for _ in range(2)]
        self._landing = usm(self.tensor("host"))

    # ---- objects ---------------------------------------------------------------------------------

    def queue(self, *properties: str) -> dpctl.SyclQueue:
        """A queue in the default context of the first GPU."""
        device = self.gpu.sycl_device
        return dpctl.SyclQueue(self.gpu.sycl_context, device, property=list(properties))

    def private_queue(self, *properties: str) -> dpctl.SyclQueue:
        """A queue of the same GPU in a context of its own."""
        context = dpctl.SyclContext([self.gpu.sycl_device])
        return dpctl.SyclQueue(context, self.gpu.sycl_device, property=list(properties))

    def tensor(self, usm_type: str = "device", device: Any = None) -> sx.Tensor:
        device = self.gpu if device is None else device
        return sx.zeros(LENGTH, DTYPE, usm_type=usm_type, device=device)

    # ---- work ------------------------------------------------------------------------------------

    def write(self, queue: dpctl.SyclQueue, target: Any, value: int) -> dpctl.SyclEvent:
        """Submit work that ends by setting all of `target` to `value`.

        It is three commands, so that one command of another queue overtakes it.
        """
        event = queue.memcpy_async(self._spare[0], self._spare[1], 8)
        event = queue.memcpy_async(self._spare[0], self._spare[1], 8, [event])
        return queue.memcpy_async(target, self._rows[value], NBYTES, [event])

    def read(self, memory: Any, queue: dpctl.SyclQueue | None = None) -> set[int]:
        """The number that a command of a queue, the reader by default, reads in any memory."""
        ctypes.memset(self._landing._pointer, 0, NBYTES)
        (queue or self.reader).memcpy_async(self._landing, memory, NBYTES).wait()
        return at(self._landing._pointer)

    # ---- time ------------------------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, no command is carried out, until `release` is called or the block is left."""
        self.control.fakegpu_set_delay_us(HELD_US)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Let the queues carry out what they have, and all that follows, at once."""
        self.control.fakegpu_set_delay_us(0)

    def stale(
        self,
        repeat: Callable[[int], set[int]],
        repetitions: int = REPETITIONS,
        delay_us: int = DELAY_US,
    ) -> list[tuple[int, set[int]]]:
        """Repeat something that has to see the value it is called with; return the failures."""
        self.control.fakegpu_set_delay_us(delay_us)
        seen = [(value, repeat(value)) for value in range(1, repetitions + 1)]
        return [(value, values) for value, values in seen if values != {value}]

    def is_stale(self, repeat: Callable[[int], set[int]]) -> bool:
        """Whether most of many reads are; a busy machine may need longer pauses for that."""
        delays = (DELAY_US, 10 * DELAY_US, 100 * DELAY_US)
        return any(len(self.stale(repeat, MANY, delay)) > MANY / 2 for delay in delays)

    @contextmanager
    def blocked(self, call: Callable[[], Any]) -> Iterator[list[Any]]:
        """Inside, `call` runs in another thread and waits; leaving releases it.

        The list is empty inside, and holds the result of the call afterwards.
        """
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(call())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive(), f"did not wait: {results or errors}"
        try:
            yield results
        finally:
            self.release()
            thread.join(60)
        assert not thread.is_alive()
        if errors:
            raise errors[0]


class Address:
    """An address as ``__sycl_usm_array_interface__``, without any hold on its memory."""

    def __init__(self, address: int, queue: dpctl.SyclQueue) -> None:
        self.__sycl_usm_array_interface__ = {
            "data": (address, True),
            "shape": (LENGTH,),
            "strides": None,
            "typestr": DTYPE.str,
            "offset": 0,
            "version": 1,
            "syclobj": queue,
        }


def alone(body: str) -> subprocess.CompletedProcess:
    """Run Python code in a process that sees the same devices; only that process may crash."""
    search = os.pathsep.join([str(HERE), str(environments.HERE), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(body)],
        env={**os.environ, "PYTHONPATH": search},
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=100,
    )
