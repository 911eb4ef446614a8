# SPDX-License-Identifier: Apache-2.0
"""Copies that are pending for a while: by a kernel that waits, or behind long copies."""

import ctypes
import time
from typing import Any

import dpctl
import dpctl.memory
import dpctl.program

import sycl_ext as sx
from sycl_ext_hardware import kernel
from sycl_ext_hardware.samples import Cannot

#: The most loops of the kernel, and the most long copies that one copy waits for.
MOST_LOOPS, MOST_COPIES = 1 << 32, 256


def is_pending(event: dpctl.SyclEvent) -> bool:
    """Return whether the command is not done yet."""
    return bool(event.execution_status != dpctl.event_status_type.complete)


class LateKernel:
    """Copies by a kernel that computes for some milliseconds before it reads and writes."""

    def __init__(self, queue: dpctl.SyclQueue, milliseconds: float) -> None:
        try:
            module = dpctl.program.create_program_from_spirv(queue, kernel.late_copy())
            self._kernel = module.get_sycl_kernel(kernel.NAME)
        except (dpctl.program.SyclProgramCompilationError, ValueError) as error:
            raise Cannot(f"its driver builds no kernel of SPIR-V {error}".strip()) from error
        self._loops = 1000
        self._loops = self._loops_for(queue, milliseconds / 1000)

    def _loops_for(self, queue: dpctl.SyclQueue, seconds: float) -> int:
        """Return how many loops take so many seconds, measured with more and more loops."""
        target, source = (dpctl.memory.MemoryUSMHost(8 * kernel.ITEMS, queue=queue) for _ in "ab")
        self.submit(queue, target, source).wait()  # the first one may compile
        while self._loops < MOST_LOOPS:
            begin = time.perf_counter()
            self.submit(queue, target, source).wait()
            taken = time.perf_counter() - begin
            if taken > seconds / 4:
                return int(self._loops * max(1, seconds / taken))
            self._loops *= 4
        return self._loops

    def submit(self, queue: dpctl.SyclQueue, target: Any, source: Any) -> dpctl.SyclEvent:
        """Submit a copy between two memories of dpctl, which live until it is done."""
        count = ctypes.c_uint64(target.nbytes // 8)
        arguments = [target, source, count, ctypes.c_uint64(self._loops)]
        return queue.submit_async(self._kernel, arguments, [kernel.ITEMS])


class LateMemcpy:
    """Copies of the runtime that wait for long ones, where the device runs no kernels."""

    def __init__(self, device: sx.Device, milliseconds: float, nbytes: int) -> None:
        queue, self._nbytes = device.sycl_queue, nbytes
        # Tensors, because they keep their memory until the copies are done; dpctl would free it.
        self._target, self._source = (
            memory_of(sx.zeros(nbytes, "uint8", usm_type=kind, device=device))
            for kind in ("device", "host")
        )
        queue.memcpy(self._target, self._source, nbytes)  # the first one takes longer
        begin = time.perf_counter()
        queue.memcpy(self._target, self._source, nbytes)
        taken = time.perf_counter() - begin
        self._copies = min(MOST_COPIES, 1 + int(milliseconds / 1000 / taken))

    def submit(self, queue: dpctl.SyclQueue, target: Any, source: Any) -> dpctl.SyclEvent:
        """Submit a copy between two memories of dpctl, which live until it is done."""
        before: list[dpctl.SyclEvent] = []
        for _ in range(self._copies):
            before = [queue.memcpy_async(self._target, self._source, self._nbytes, before)]
        return queue.memcpy_async(target, source, target.nbytes, before)


def memory_of(tensor: sx.Tensor) -> Any:
    """Return the memory of a tensor as dpctl's, for kernels and copies of its queues."""
    return dpctl.memory.as_usm_memory(tensor)
