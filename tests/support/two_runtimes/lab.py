# SPDX-License-Identifier: Apache-2.0
"""Arrays of a library that works with another SYCL runtime; for a process of its own.

The path of that library comes from the environment.  The runtime of dpctl is started first: the
older one ends the process, or finds no device, when it comes first.
"""

from __future__ import annotations

import ctypes
import os
import warnings

import dpctl
import numpy as np

from dlpack_conformance.structs import ONE_API, new_capsule
from producers import Managed

LIBRARY = os.environ["TWO_RUNTIMES_PRODUCER"]


def load(library: str = LIBRARY) -> ctypes.CDLL:
    """Load the library, and with it the other runtime."""
    dpctl.SyclQueue()
    loaded = ctypes.CDLL(library)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    loaded.make_queue.restype, loaded.make_queue.argtypes = pointer, (ctypes.c_bool,)
    loaded.make_context.restype, loaded.make_context.argtypes = pointer, (pointer,)
    loaded.allocate.restype, loaded.allocate.argtypes = pointer, (pointer, size)
    loaded.release.argtypes = (pointer, pointer)
    loaded.delete_queue.argtypes = loaded.wait.argtypes = (pointer,)
    loaded.fill_later.argtypes = (pointer, pointer, ctypes.c_int, size, ctypes.c_int)
    return loaded


def imported():
    """Load this project; a second runtime that is loaded already makes that a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import sycl_ext as sx

        _ = sx.Tensor
    return sx, [warning for warning in caught if "two SYCL runtimes" in str(warning.message)]


class Holder:
    """An object with a capsule, as queues of dpctl are."""

    def __init__(self, address):
        self.address = address

    def _get_capsule(self):
        return new_capsule(self.address, b"SyclQueueRef")


#: How an array shows its queue.
SHOWS = {
    "nothing": lambda address: None,
    "an int": lambda address: address,
    "a capsule": lambda address: new_capsule(address, b"SyclQueueRef"),
    "an object with a capsule": Holder,
}


class Array:
    """Shared USM of the other runtime, filled with 7 after a while; it follows no queue of ours."""

    def __init__(self, library, shows="nothing", *, gpu=False, device=(ONE_API, 0), moves=True):
        self.library, self.shows, self.device, self.moves = library, shows, device, moves
        self.queue = library.make_queue(gpu)
        assert self.queue, "the other runtime found no device"
        self.nbytes = 4096
        self.data = library.allocate(self.queue, self.nbytes)
        self.asked = []
        ctypes.memset(self.data, 0, self.nbytes)
        library.fill_later(self.queue, self.data, 7, self.nbytes, 300)

    @property
    def sycl_queue(self):
        return SHOWS[self.shows](self.queue)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append((stream, dl_device))
        if stream is not None:
            raise AssertionError(f"{stream!r} would be followed as a queue of the other runtime")
        self.library.wait(self.queue)
        if dl_device == (1, 0) and self.moves:
            host = (ctypes.c_uint8 * self.nbytes).from_address(self.data)
            return np.array(host).__dlpack__(max_version=max_version)
        if dl_device not in (None, self.device):
            raise BufferError(f"not on {dl_device}")
        self.managed = Managed(
            self.data, (self.nbytes,), device=self.device, dtype="uint8", keep=self
        )
        return self.managed.capsule()
