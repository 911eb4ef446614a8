# SPDX-License-Identifier: Apache-2.0
"""Processes that hung or died because of a kernel that was pending; each is one of its own."""

import os
import textwrap

import pytest

import environments
from kernels.build import environment

START = """
import faulthandler
import gc
import threading
import time

import dpctl
import dpctl.memory
import sycl_ext as sx
from kernels import Kernels

device = sx.device()
own = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property=["in_order"])
kernels = Kernels(own)


def pending(tensor, queue, milliseconds=300):
    # A kernel, and after it a host task that wants the GIL, as dpctl submits it for each kernel.
    memory = dpctl.memory.as_usm_memory(tensor)
    other = dpctl.memory.MemoryUSMHost(memory.nbytes, queue=queue)
    queue.wait()
    kernels.fill(queue, kernels.gate(watch_ms=milliseconds), tensor.ptr, tensor.nbytes, 7)
    event = queue.memcpy_async(other, memory, memory.nbytes)
    queue._submit_keep_args_alive((memory, other), [event])


def must_return_within(seconds):
    faulthandler.dump_traceback_later(seconds, exit=True)

"""


def run(code):
    """In a process with the devices of this one, which must not fail."""
    known = {**os.environ, **environment()}  # the kernels that another process has compiled
    environments.python(START + textwrap.dedent(code), known)


# ---- the end of a process ------------------------------------------------------------------------

START_OF_END = """
    queues = [dpctl.SyclQueue(device.sycl_context, device.sycl_device) for _ in range(4)]
    tensors = [sx.zeros(200_000, "int64", device=queue) for queue in queues for _ in range(4)]
    for queue in queues:
        queue.wait()
    kernels = Kernels(queues[0])
    gate = kernels.gate(watch_ms=1000)  # the interpreter is gone by then
    for tensor in tensors:
        kernels.fill(tensor.sycl_queue, gate, tensor.ptr, tensor.nbytes, 7)
    del tensor, kernels, gate
"""
ENDS = {
    "a global": "",
    "a cycle": """
        class Cycle:
            pass

        gc.disable()
        cycle = Cycle()
        cycle.itself, cycle.tensors = cycle, tensors
        del cycle, tensors
    """,
    "daemon threads": """
        for tensor in tensors:
            threading.Thread(target=tensor.to_numpy, daemon=True).start()
        del tensor, tensors
        time.sleep(0.05)
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_process_ends_with_pending_kernels(name):
    """Tensors with pending kernels at the end of the interpreter."""
    for _ in range(3 if "threads" in name else 1):
        run(textwrap.dedent(START_OF_END) + textwrap.dedent(ENDS[name]) + "must_return_within(60)")


# ---- the GIL -------------------------------------------------------------------------------------


def test_c_exchange_table_waits_without_the_gil():
    run("""
        import tvm_ffi

        tensor = sx.zeros(1000, "int64", device=own)
        pending(tensor, own)
        must_return_within(60)
        tvm_ffi.from_dlpack(tensor)
        device.sycl_queue.wait()
    """)


def test_drop_during_an_export_does_not_deadlock():
    """The export holds the device's queue until a host task of another one has had the GIL."""
    run("""
        tensor = sx.zeros(1000, "int64", device=own)
        dropped = sx.zeros(1000, "int64")
        device.sycl_queue.wait()
        pending(tensor, own)
        export = threading.Thread(
            target=lambda: tensor.__dlpack__(stream=device.sycl_queue, max_version=(1, 0))
        )
        must_return_within(60)
        export.start()
        time.sleep(0.1)
        del dropped
        export.join()
        own.wait()
    """)
