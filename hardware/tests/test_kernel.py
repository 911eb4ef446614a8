# SPDX-License-Identifier: Apache-2.0
"""The kernel of the hardware report: a valid module, which copies, late."""

import ctypes
import struct

import dpctl.program
import numpy as np
import pytest

import sycl_ext as sx
from sycl_ext_hardware import kernel
from sycl_ext_hardware.late import LateKernel, is_pending, memory_of


@pytest.fixture
def queue():
    return sx.device("cpu").sycl_queue


def test_kernel_header_counts_the_ids():
    module = kernel.late_copy()
    magic, version, _, bound, _ = struct.unpack_from("<5I", module)
    assert (magic, version) == (kernel.MAGIC, kernel.VERSION)
    assert bound == len({word for word in kernel.ASSEMBLY.split() if word.startswith("%")}) + 1


@pytest.mark.parametrize("count", [1, kernel.ITEMS, 10 * kernel.ITEMS + 1])
@pytest.mark.parametrize("loops", [0, 1000])
def test_kernel_copies_the_elements_and_no_more(queue, count, loops):
    module = dpctl.program.create_program_from_spirv(queue, kernel.late_copy())
    source = sx.empty(count + 8, "int64", usm_type="shared", device="cpu")
    source.copy_from(np.arange(count + 8) + 7)
    target = sx.zeros(count + 8, "int64", usm_type="shared", device="cpu")
    arguments = [memory_of(target), memory_of(source), *map(ctypes.c_uint64, (count, loops))]
    queue.submit(module.get_sycl_kernel(kernel.NAME), arguments, [kernel.ITEMS])
    assert target.tolist() == [*range(7, 7 + count), *([0] * 8)]


def test_late_copy_is_pending_and_then_right(queue):
    source = sx.empty(512, "int64", device="cpu").copy_from(np.arange(512))
    target = sx.zeros(512, "int64", device="cpu")
    memories = memory_of(target), memory_of(source)
    event = LateKernel(queue, 200).submit(queue, *memories)
    assert is_pending(event)
    event.wait()
    assert not is_pending(event)
    assert target.tolist() == list(range(512))
