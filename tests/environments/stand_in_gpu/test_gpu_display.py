# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GPU as text, while other code has the memory, and may submit work on it."""

import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx

NUMBERS = np.arange(3, dtype="int32")


def lent(gpu, usm_type):
    """A tensor, and what a consumer holds of it."""
    tensor = sx.empty(3, "int32", usm_type=usm_type, device=gpu)
    return tensor, tensor.__dlpack__(max_version=(1, 0))


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_elements_are_shown_after_a_wait_while_others_have_the_memory(gpu, usm_type):
    tensor, _capsule = lent(gpu, usm_type)
    tensor.copy_from(NUMBERS)
    tensor.wait()
    assert repr(tensor).startswith("Tensor([0, 1, 2], ")
    assert repr(tensor).startswith("Tensor([0, 1, 2], ")  # again, without another wait


def test_work_of_others_is_pending_until_it_is_done(gpu, hold):
    tensor, _capsule = lent(gpu, "shared")
    tensor.copy_from(NUMBERS)
    queue = tensor.sycl_queue
    source = dpctl.memory.MemoryUSMHost(tensor.nbytes, queue=queue)
    source.copy_from_host((NUMBERS + 7).view("uint8"))
    with hold() as held:
        queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, tensor.nbytes)
        assert repr(tensor).startswith("Tensor(pending: call .wait() to see the elements, ")
        held.release()
    tensor.wait()
    assert repr(tensor).startswith("Tensor([7, 8, 9], ")
