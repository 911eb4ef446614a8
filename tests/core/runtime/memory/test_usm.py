# SPDX-License-Identifier: Apache-2.0
"""Memory: its kind and context as the runtime sees them, its end, and the access of the host."""

import dpctl
import dpctl.memory
import numpy as np

import sycl_ext as sx
from needs import needs


def kind_of(tensor, context=None):
    """The facts of the SYCL runtime about the memory, through dpctl."""
    memory = dpctl.memory.as_usm_memory(tensor)
    return memory.get_usm_type(*([] if context is None else [context]))


def test_kind(usm_type):
    """Small blocks, a page, and a block of which the pool keeps none."""
    for nbytes in (1, 63, 4096, 1 << 20):
        tensor = sx.empty(nbytes, "uint8", usm_type=usm_type)
        assert kind_of(tensor) == tensor.usm_type == usm_type
        assert kind_of(tensor, tensor.sycl_context) == usm_type


@needs("list_of_a_context")
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
    """Below a page, above it, and beyond the 2 MiB of a huge page."""
    for nbytes in (1, 3, 100, 5000, 1 << 20, 5 << 20):
        view = sx.host_view(sx.empty(nbytes, "uint8", usm_type=usm_type), copy=True)
        assert view.ptr % 4096 == 0


def test_tensors_do_not_share_memory(usm_type):
    """200 of one size, each full of its number, which fits into a byte."""
    tensors = [sx.empty(100, "uint8", usm_type=usm_type) for _ in range(200)]
    for number, tensor in enumerate(tensors):
        tensor.copy_from(np.full(100, number, "uint8"))
    for number, tensor in enumerate(tensors):
        assert (tensor.to_numpy() == number).all()
