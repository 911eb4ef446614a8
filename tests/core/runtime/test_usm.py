# SPDX-License-Identifier: Apache-2.0
"""Memory: its kind and context as the runtime sees them, its end, and what the host may do."""

from pathlib import Path

import dpctl
import dpctl.memory
import numpy as np

import environments
import sycl_ext as sx


def kind_of(tensor, context=None):
    """The facts of the SYCL runtime about the memory, through dpctl."""
    memory = dpctl.memory.as_usm_memory(tensor)
    return memory.get_usm_type(*([] if context is None else [context]))


def test_kind(usm_type):
    for nbytes in (1, 63, 4096, 1 << 20):
        tensor = sx.empty(nbytes, "uint8", usm_type=usm_type)
        assert kind_of(tensor) == tensor.usm_type == usm_type
        assert kind_of(tensor, tensor.sycl_context) == usm_type


def test_context(private, usm_type):
    default, other = sx.device().sycl_context, private.sycl_context
    assert kind_of(sx.empty(8, usm_type=usm_type), other) == "unknown"
    assert kind_of(sx.empty(8, usm_type=usm_type, device=private), default) == "unknown"
    assert kind_of(sx.empty(8, usm_type=usm_type, device=private), other) == usm_type


def test_alignment(usm_type):
    """jax takes no view of less."""
    for nbytes in (1, 3, 100, 5000, 1 << 20):
        assert sx.empty(nbytes, "uint8", usm_type=usm_type).ptr % 64 == 0


def test_host_copies_are_page_aligned(usm_type):
    for nbytes in (1, 3, 100, 5000, 1 << 20, 5 << 20):
        view = sx.host_view(sx.empty(nbytes, "uint8", usm_type=usm_type), copy=True)
        assert view.ptr % 4096 == 0


def test_no_two_tensors_share_memory(usm_type):
    tensors = [sx.empty(100, "uint8", usm_type=usm_type) for _ in range(200)]
    for number, tensor in enumerate(tensors):
        tensor.copy_from(np.full(100, number, "uint8"))
    for number, tensor in enumerate(tensors):
        assert (tensor.to_numpy() == number).all()


def test_memory_is_used_again(usm_type):
    """A thousand allocations do not add up, of which each touches 512 KiB."""

    def resident():
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])  # KiB

    before = resident()
    for _ in range(1000):
        memoryview(sx.empty(8 << 20, "uint8", usm_type=usm_type))[:: 64 << 10] = bytes(128)
    assert resident() - before < 128 << 10


def test_every_allocation_is_freed():
    """Counted by the runtime itself: as many calls that free as calls that allocate."""
    trace = environments.python(
        """
import time
import numpy as np
import sycl_ext as sx
from sycl_ext import _core

for usm_type in ("device", "shared", "host"):
    for nbytes in (1, 100, 5000, 1 << 20):
        tensor = sx.zeros(nbytes, "uint8", usm_type=usm_type)
        view = tensor[::-2]
        copies = [view.copy(), sx.from_dlpack(tensor.__dlpack__(copy=True)), sx.host_view(view)]
        array = np.from_dlpack(sx.host_view(tensor))
        capsule = tensor.__dlpack__()
        del tensor, view, copies, array, capsule
while _core._test.deferred_frees():
    time.sleep(0.01)
_core.release_cached_memory()
assert sx.memory.live_exports() == 0
""",
        {**environments.cpu(), "SYCL_UR_TRACE": "2"},
    )
    allocated = sum(trace.count(f"<--- urUSM{kind}Alloc(") for kind in ("Device", "Shared", "Host"))
    assert allocated > 0
    assert trace.count("<--- urUSMFree(") == allocated
