# SPDX-License-Identifier: Apache-2.0
"""`register_host`: register existing host memory with the drivers of the devices."""

from __future__ import annotations

from typing import Any

from sycl_ext import _core
from sycl_ext._devices.device import Device, roots
from sycl_ext._negotiation.identity import Identity
from sycl_ext._protocols.tensors import strong


class HostRegistration(Identity):
    """A registration of host memory with drivers, made by `register_host` and ended by `close`.

    It is a context manager, and keeps the memory: as long as it is open, its ``bytearray`` cannot
    be resized, and its ``mmap`` cannot be closed.

    Attributes
    ----------
    nbytes : int
        The number of bytes from the first to the last byte of the memory.
    """

    __module__ = "sycl_ext.memory"

    __slots__ = ("__weakref__", "_registration", "nbytes")

    _portable_form = "register the memory in the other process"

    def __init__(self, x: Any) -> None:
        memory = _core.find_memory(strong(x), copy=False)
        if not memory.host_accessible:
            raise BufferError(
                f"the memory is {memory.usm_type!r} USM, which the host cannot access; register "
                "the host array at the other end of the copy"
            )
        self._registration = _core.HostRegistration(memory)
        self.nbytes, _ = _core.extent_of_elements(memory)

    @property
    def registered(self) -> dict[Device, bool]:
        """For each root device, whether its driver has registered the memory.

        False for a CPU, where the host makes the copies, and for memory that is USM already.
        """
        return {root: self._registration.is_known_to(root._entry) for root in roots()}

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._registration.closed

    def close(self) -> None:
        """Wait for running copies, and unregister the memory.

        If the memory has other registrations, it stays registered until the last one is closed.
        """
        self._registration.close(wait=True)

    def __enter__(self) -> HostRegistration:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After Ctrl-C nothing waits: a copy that goes on keeps the memory registered.
        self._registration.close(wait=kind is None or issubclass(kind, Exception))

    def __repr__(self) -> str:
        of = [str(device.id) for device, is_known in self.registered.items() if is_known]
        where = "closed" if self.closed else f"for devices {', '.join(of) or 'none'}"
        return f"<HostRegistration: {self.nbytes} bytes, {where}>"


def register_host(x: Any, /) -> HostRegistration:
    """Register existing host memory with the drivers ("pin" it), so that copies are direct.

    A GPU copies by DMA, which needs host memory pages that do not move. Unregistered memory is
    copied twice: into a block of host USM, and from there. Registered memory is copied by one
    command in `Tensor.copy_from`, `as_tensor` and ``staged(t, memory=x)``. The registration takes
    time in proportion to the size, so register memory that is used often.

    The memory does not become USM: GPU kernels cannot read it, and pointer queries do not find it.

    Parameters
    ----------
    x : array or buffer
        A NumPy array, ``mmap``, ``bytearray``, ``SharedMemory.buf``, CPU tensor of PyTorch, or any
        other producer of host memory; it may be read-only.

    Returns
    -------
    HostRegistration
        A context manager. The memory is unregistered when the last registration is closed or
        dropped.

    Raises
    ------
    BufferError
        If `x` is not host memory, or if it overlaps registered memory without lying within it.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> array = np.arange(6, dtype="float32")
    >>> with sx.memory.register_host(array) as registration:
    ...     t = sx.zeros(6).copy_from(array)
    >>> registration.registered[sx.device("cpu")]  # its copies are the host's
    False
    """
    return HostRegistration(x)
