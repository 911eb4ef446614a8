"""Kernels that run for as long as a test wants, on every device that runs kernels.

A kernel waits for its `Gate`, which a test opens when it has seen enough: nothing is timed.

    kernels = Kernels(queue)
    with kernels.gate() as gate:
        kernels.fill(queue, gate, tensor.ptr, tensor.nbytes, 7)
        ...  # the kernel is pending
    queue.wait()
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from . import build

#: Elements of the kernels: what they fill with, and what they copy.
ITEM = ctypes.sizeof(ctypes.c_long)
#: After so long a gate opens by itself: a call that waits for the kernel and holds the GIL keeps
#: the test from opening it.
WATCH_MS = 40_000
UNKNOWN = 3  # sycl::usm::alloc::unknown


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build.build()))
    pointer, number, signed = ctypes.c_void_p, ctypes.c_ulong, ctypes.c_long
    signatures = {
        "lab_error": (ctypes.c_char_p,),
        "lab_kernels": (pointer, pointer),
        "lab_gates": (pointer, pointer),
        "lab_gate_count": (ctypes.c_int,),
        "lab_fill": (ctypes.c_int, pointer, pointer, pointer, pointer, number, signed),
        "lab_copy": (ctypes.c_int, pointer, pointer, pointer, pointer, pointer, number),
        "lab_watch": (ctypes.c_int, pointer, ctypes.c_int),
        "lab_kind": (ctypes.c_int, pointer, pointer),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _checked(result: Any) -> Any:
    if not result:
        raise RuntimeError(_library().lab_error().decode())
    return result


class Gate:
    """A gate that a kernel waits for; it opens at the end of its ``with`` block."""

    def __init__(self, address: int, watch_ms: int) -> None:
        self.address = address
        self._flag = ctypes.c_int.from_address(address)
        _checked(_library().lab_watch(address, watch_ms))

    def open(self) -> None:
        if self._flag.value == 0:
            self._flag.value = 1

    @property
    def was_opened_by_the_watch(self) -> bool:
        return self._flag.value == 2

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()


class Kernels:
    """The kernels for one context: that of a ``dpctl.SyclQueue``."""

    def __init__(self, queue: Any) -> None:
        self._kernels = _checked(_library().lab_kernels(queue.addressof_ref()))
        gates = _checked(_library().lab_gates(queue.addressof_ref()))
        self._gates = iter(range(gates, gates + 4 * _library().lab_gate_count(), 4))

    def gate(self, *, watch_ms: int = WATCH_MS) -> Gate:
        return Gate(next(self._gates), watch_ms)

    def fill(self, queue: Any, gate: Gate, target: int, nbytes: int, value: int) -> None:
        """Submit a kernel that sets memory to repetitions of an int64."""
        address = queue.addressof_ref()
        count = nbytes // ITEM
        _checked(_library().lab_fill(self._kernels, address, gate.address, target, count, value))

    def copy(self, queue: Any, gate: Gate, target: int, source: int, nbytes: int) -> None:
        """Submit a kernel that copies memory."""
        address = queue.addressof_ref()
        count = nbytes // ITEM
        _checked(_library().lab_copy(self._kernels, address, gate.address, target, source, count))


def is_usm(queue: Any, address: int) -> bool:
    """There is memory at the address, as the runtime sees it in the context of the queue."""
    return _library().lab_kind(queue.addressof_ref(), address) != UNKNOWN
