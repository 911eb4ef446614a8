# SPDX-License-Identifier: Apache-2.0
"""Kernels that wait for a test, on the CPU device; see `kernels`."""

import ctypes

import dpctl

import sycl_ext as sx
from kernels import Kernels, is_usm


def test_a_kernel_is_pending_until_its_gate_opens(root, usm_type):
    queue = dpctl.SyclQueue(root.sycl_context, root.sycl_device, property="in_order")
    kernels = Kernels(queue)
    first, second = (sx.zeros(100, "int64", usm_type=usm_type) for _ in range(2))
    last = ctypes.c_int64.from_address(second.ptr + second.nbytes - 8)
    with kernels.gate() as gate:
        kernels.fill(queue, gate, first.ptr, first.nbytes, 7)
        kernels.copy(queue, gate, second.ptr, first.ptr, first.nbytes)
        assert last.value == 0
    queue.wait()
    assert last.value == 7
    assert set(second.to_numpy().tolist()) == {7}
    assert not gate.was_opened_by_the_watch


def test_is_usm(root):
    tensor = sx.zeros(1 << 20)
    assert is_usm(root.sycl_queue, tensor.ptr)
    assert not is_usm(root.sycl_queue, id(tensor))
