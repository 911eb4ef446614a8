# SPDX-License-Identifier: Apache-2.0
"""The arrays, producers and libraries that the statements of the benchmarks name."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from ctypes import addressof, c_char
from types import SimpleNamespace
from typing import Any

import dpctl.memory
import dpnp
import numpy as np
import torch
import tvm_ffi

import sycl_ext as sx
from benchmarks.build import load_bare

MIB = 1 << 20
HUGE_PAGE = 2 * MIB
LARGE = 256 * MIB
VERSION = sx.dlpack.VERSION

bare = load_bare()

Names = dict[str, Any]


class Ready:
    """A producer in Python with the signature of the standard; its capsules are made beforehand."""

    def __init__(self, make: Callable[[], object], device: tuple[int, int]) -> None:
        self.make = make
        self.device = device

    def fill(self, count: int) -> None:
        """Make as many capsules as will be requested."""
        make = self.make
        self.capsules = [make() for _ in range(count)]

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: object = None,
        dl_device: object = None,
        copy: object = None,
    ) -> object:
        return self.capsules.pop()


def without_table(x: Any) -> SimpleNamespace:
    """Return a producer with the methods of `x` and without its C exchange table."""
    return SimpleNamespace(__dlpack__=x.__dlpack__, __dlpack_device__=x.__dlpack_device__)


class FreshTarget:
    """memcpy into page-aligned memory that is newly mapped, and unmapped after the copy."""

    def __init__(self, address: int, nbytes: int, *, huge_pages: bool) -> None:
        self.address = address
        self.nbytes = nbytes
        self.huge_pages = huge_pages

    def fill(self) -> None:
        """Map, copy, unmap."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        with mmap.mmap(-1, self.nbytes + HUGE_PAGE, flags=flags) as block:
            if self.huge_pages:
                block.madvise(mmap.MADV_HUGEPAGE)
            first = c_char.from_buffer(block)
            target = -(-addressof(first) // HUGE_PAGE) * HUGE_PAGE
            bare.copy(target, self.address, self.nbytes)
            del first  # else the block cannot be unmapped


def libraries() -> Names:
    """Return the names that every statement may use."""
    return {
        "sx": sx,
        "np": np,
        "dpnp": dpnp,
        "dpctl": dpctl,
        "torch": torch,
        "tvm_ffi": tvm_ffi,
        "bare": bare,
    }


def small() -> Names:
    """Arrays of 4 x 4 float32, one of each library, and functions that exchange them."""
    tensor = sx.zeros((4, 4), "float32", usm_type="shared")
    array = np.zeros((4, 4), "float32")
    of_dpnp = dpnp.zeros((4, 4), dtype="float32")
    of_torch = torch.zeros(4, 4)
    usm = of_dpnp.__dlpack_device__()
    return {
        **libraries(),
        "t": tensor,
        "view": sx.host_view(tensor),
        "a": array,
        "d": of_dpnp,
        "torch_tensor": of_torch,
        "tvm_tensor": tvm_ffi.from_dlpack(np.zeros((4, 4), "float32")),
        "memory": dpctl.memory.MemoryUSMShared(64),
        "t_without_table": without_table(tensor),
        "torch_without_table": without_table(of_torch),
        "producer": bare.Producer(),
        "context": sx.device().sycl_context.addressof_ref(),
        "ready_host": Ready(lambda: array.__dlpack__(max_version=VERSION), (1, 0)),
        "ready_host_too": Ready(lambda: array.__dlpack__(max_version=VERSION), (1, 0)),
        "ready_host_bare": Ready(lambda: array.__dlpack__(max_version=VERSION), (1, 0)),
        "ready_usm": Ready(lambda: of_dpnp.__dlpack__(max_version=VERSION), usm),
        "ready_usm_bare": Ready(lambda: of_dpnp.__dlpack__(max_version=VERSION), usm),
        "ready_own": Ready(lambda: tensor.__dlpack__(max_version=VERSION), (14, 0)),
    }


def dpnp_over(x: sx.Tensor) -> dpnp.ndarray:
    """Return dpnp's array over the memory of a tensor, by its cheapest constructor."""
    # `as_usm_memory` reads a description twice, and keeps its object.
    once = SimpleNamespace(__sycl_usm_array_interface__=x.__sycl_usm_array_interface__, kept=x)
    memory = dpctl.memory.as_usm_memory(once)
    array = dpnp.tensor.usm_ndarray(x.shape, dtype=x.dtype, buffer=memory)
    return dpnp.ndarray._create_from_usm_ndarray(array)


def exchanges() -> Names:
    """The arrays of `small`, a function that makes an array of dpnp, and 1,000 parameters."""
    many = [sx.zeros((4, 4), "float32", usm_type="shared") for _ in range(1000)]
    return {**small(), "dpnp_over": dpnp_over, "of_queue": many[0], "parameters": many}


def used_queue() -> Names:
    """The same after dpnp has used our queue, ``t.sycl_queue``; a process cannot undo that."""
    names = small()
    queue = names["t"].sycl_queue
    dpnp.ones(4, sycl_queue=queue)
    return {**names, "queue": queue.addressof_ref(), "shared": queue}


def host_results() -> Names:
    """Arrays of dpnp, of 4 KB and 4 MB in USM, and tensors over the same memory."""
    few = dpnp.ones(1024, dtype="float32")
    many = dpnp.ones((1000, 1000), dtype="float32")
    few_sink, many_sink = (sx.zeros(d.shape, usm_type="host") for d in (few, many))
    return {
        **libraries(),
        "d_few": few,
        "few": sx.from_dlpack(few),
        "a_few": np.ones(1024, "float32"),
        "d_many": many,
        "many": sx.from_dlpack(many),
        "d_turned": many.T,
        "turned": sx.from_dlpack(many.T),
        "flat_few": (few_sink.ptr, sx.from_dlpack(few).ptr, few_sink.nbytes),
        "flat_many": (many_sink.ptr, sx.from_dlpack(many).ptr, many_sink.nbytes),
        "keep": (few_sink, many_sink),
    }


def strided() -> Names:
    """Strided views: x_<layout>_<dtype>, and as a_<layout>_<dtype> NumPy's view of the same memory.

    No length is a power of two, because such lengths cause cache conflicts that make NumPy look
    slow.
    """
    names = libraries()
    for dtype in ("u1", "f4", "f8"):
        plane = np.ones((1000, 1200), dtype)
        images = np.ones((6, 200, 250, 4), dtype)
        views = {
            "transposed": plane.T,
            "second": np.ones((1000, 2400), dtype)[:, ::2],
            "permuted": images.transpose(0, 3, 1, 2),
        }
        for layout, view in views.items():
            whole = view.base if view.base is not None else view
            in_usm = sx.empty(whole.shape, dtype, usm_type="shared").copy_from(whole).to_numpy()
            same = np.lib.stride_tricks.as_strided(in_usm, view.shape, view.strides)
            names[f"x_{layout}_{dtype}"] = sx.from_dlpack(same)
            names[f"a_{layout}_{dtype}"] = same
        sink = sx.zeros(1_200_000, dtype, usm_type="host")
        names[f"flat_{dtype}"] = (sink.ptr, in_usm.ctypes.data, sink.nbytes)
        names.setdefault("keep", []).append((sink, in_usm))
    return names


def large() -> Names:
    """256 MB of shared USM, and 4 B."""
    tensor = sx.zeros(LARGE, "uint8", usm_type="shared")
    array = tensor.to_numpy()
    address = array.ctypes.data  # after `tensor.ptr`, each copy would ask for work of other code
    return {
        **libraries(),
        "large": tensor,
        "tiny": sx.zeros(4, "uint8", usm_type="shared"),
        "a_tiny": np.zeros(4, "uint8"),
        "advised": FreshTarget(address, LARGE, huge_pages=True),
        "plain": FreshTarget(address, LARGE, huge_pages=False),
        "a_large": array,
    }
