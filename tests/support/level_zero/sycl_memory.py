# SPDX-License-Identifier: Apache-2.0
"""Memory that SYCL has from elsewhere: virtual memory, as torch's expandable segments and llama.cpp
make it, and host memory that is imported."""

from __future__ import annotations

import ctypes

import sycl_ext as sx

INSIDE = "_ZN4sycl3_V13ext6oneapi12experimental"
READ, READ_WRITE = 1, 2
PAGE = 64 << 10


def function(name: str, result: object = None):
    symbol = ctypes.CDLL("libsycl.so.9")[name]
    symbol.restype = result
    return symbol


def import_functions():
    """``prepare_for_device_copy``, which imports host memory, and what ends it."""
    return (
        function(f"{INSIDE}23prepare_for_device_copyEPKvmRKNS0_7contextE"),
        function(f"{INSIDE}24release_from_device_copyEPKvRKNS0_7contextE"),
    )


class VirtualMemory:
    """Address space in the context of a device; `map` gives parts of it memory."""

    def __init__(self, device: sx.Device, nbytes: int) -> None:
        self._context = device.sycl_context
        self._where = ctypes.c_void_p(self._context.addressof_ref())
        reserve = function(f"{INSIDE}19reserve_virtual_memEmmRKNS0_7contextE", ctypes.c_size_t)
        self.nbytes = nbytes
        self.ptr = reserve(ctypes.c_size_t(0), ctypes.c_size_t(nbytes), self._where)
        self._mapped: list[tuple[int, int]] = []
        self._physical: list[ctypes.Array] = []

    def map(self, offset: int, nbytes: int, device: sx.Device, mode: int = READ_WRITE) -> None:
        physical = ctypes.create_string_buffer(16)  # a physical_mem, which is a shared_ptr
        make = function(f"{INSIDE}12physical_memC1ERKNS0_6deviceERKNS0_7contextEm")
        sycl_device = ctypes.c_void_p(device.sycl_device.addressof_ref())
        make(physical, sycl_device, self._where, ctypes.c_size_t(nbytes))
        self._physical.append(physical)
        at = function(
            f"{INSIDE.replace('_ZN', '_ZNK')}12physical_mem3mapEmmNS3_19address_access_modeEm"
        )
        at(
            physical,
            ctypes.c_size_t(self.ptr + offset),
            ctypes.c_size_t(nbytes),
            ctypes.c_char(mode),
            ctypes.c_size_t(0),
        )
        self._mapped.append((offset, nbytes))

    def close(self) -> None:
        """Unmap and free it; the physical memory stays, as nobody calls its destructor."""
        unmap = function(f"{INSIDE}5unmapEPKvmRKNS0_7contextE")
        for offset, nbytes in self._mapped:
            unmap(ctypes.c_void_p(self.ptr + offset), ctypes.c_size_t(nbytes), self._where)
        free = function(f"{INSIDE}16free_virtual_memEmmRKNS0_7contextE")
        free(ctypes.c_size_t(self.ptr), ctypes.c_size_t(self.nbytes), self._where)
