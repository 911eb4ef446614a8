# SPDX-License-Identifier: Apache-2.0
"""`register_host`: host memory that exists, made known to the drivers of the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id
from sycl_ext._protocols import sources

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["HostRegistration", "register_host"]


class HostRegistration:
    """Host memory that drivers know; `register_host` makes it, and `close` ends it.

    It is a context manager, and it keeps the memory: as long as it is open, nobody can resize a
    ``bytearray`` or close an ``mmap`` that it is of.

    Attributes
    ----------
    registered : dict of Device to bool
        For each root device, whether its driver knows the memory.  False where it registers
        nothing: that of a CPU, whose copies are the host's, and memory that is USM already.
    nbytes : int
        From the first byte of the memory to the last.
    """

    __slots__ = ("__weakref__", "_registration", "nbytes", "registered")

    def __init__(self, x: Any) -> None:
        memory = _core.find_memory(sources.strong(x), False)
        if not memory.host_accessible:
            raise BufferError(
                f"the memory is {memory.usm_type!r} USM, which the host does not reach; register "
                "the host memory that it is copied from or to"
            )
        self._registration = _core.HostRegistration(memory)
        self.nbytes = self._registration.nbytes
        roots = [by_id(number) for number in range(_core.root_count())]
        self.registered: dict[Device, bool] = {
            root: self._registration.is_known_to(root._entry) for root in roots
        }

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._registration.closed

    def close(self) -> None:
        """Wait for copies that are going on, and have the drivers forget the memory.

        Where another registration has it, too, the drivers know it until that one is closed.
        """
        self._registration.close()
        self.registered = dict.fromkeys(self.registered, False)

    def __enter__(self) -> HostRegistration:
        return self

    def __exit__(
        self,
        cls: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = [str(device.id) for device, is_known in self.registered.items() if is_known]
        where = "closed" if self.closed else f"for devices {', '.join(of) or 'none'}"
        return f"<HostRegistration: {self.nbytes} bytes, {where}>"


def register_host(x: Any, /) -> HostRegistration:
    """Make host memory that exists known to the drivers ("pin" it), so that copies are direct.

    A GPU copies by DMA, for which the pages of host memory must stay where they are.  Memory that
    its driver does not know is copied twice: into a block of host USM, and from there.  Memory
    that is registered is copied by one command: by `Tensor.copy_from`, `as_tensor` and
    ``staged(t, memory=x)``.  To register memory takes time in proportion to its size; it is worth
    it for memory that is used often.

    The memory does not become USM: kernels of a GPU cannot read it, and no pointer query knows it.

    Parameters
    ----------
    x : array or buffer
        A NumPy array, ``mmap``, ``bytearray``, ``SharedMemory.buf``, CPU tensor of PyTorch, or any
        other producer of host memory; it may be read-only.

    Returns
    -------
    HostRegistration
        A context manager.  When the last of all registrations of the memory is closed, or is
        dropped, the drivers forget it.

    Raises
    ------
    BufferError
        When `x` is no host memory, or when it overlaps memory that is registered without lying
        within it.

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
