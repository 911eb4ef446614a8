# SPDX-License-Identifier: Apache-2.0
"""**Experimental.** ``SyclIPCWrapper``, a name that LMCache#3675 leaves free for XPU.

The engine wraps the tensors of its key-value cache, and sends them once. The server of LMCache
opens them, and both use one memory. Return the class from ``ipc_wrapper_cls`` of the `DeviceSpec`
of XPU.
"""

from typing import Any, ClassVar

from lmcache.v1.platform.base.ipc_wrapper import DeviceIPCWrapper

import sycl_ext as sx


class SyclIPCWrapper(DeviceIPCWrapper):  # type: ignore[misc]
    """A tensor of XPU for another process.

    The process that wraps a tensor keeps the wrapper as long as others may open it. A wrapper that
    was received keeps the memory open until `close`.
    """

    device_type: ClassVar[str] = "xpu"
    library: ClassVar[str] = "torch"
    """The module with ``from_dlpack`` that makes the tensors of `to_tensor`."""

    def __init__(self, tensor: Any) -> None:
        usm = sx.as_tensor(tensor, copy=False)
        if usm.device.uuid is None:
            raise ValueError(f"{usm.device!r} has no UUID, by which other processes find it")
        self.handle = sx.ipc.handle(usm)
        self.dtype = tensor.dtype
        self.shape = usm.shape
        self.stride = usm.strides
        self.storage_offset = 0  # the handle leads to the first element
        self.device_uuid = usm.device.uuid
        self._opened: sx.Tensor | None = None

    @classmethod
    def wrap(cls, tensor: Any) -> "SyclIPCWrapper":
        """Return a wrapper of a tensor, whose memory is not copied.

        Raises
        ------
        BufferError
            If this memory cannot be shared, as "shared" and "host" USM of a GPU.
        """
        return cls(tensor)

    def to_tensor(self) -> Any:
        """Return a tensor in the memory of the process that made the wrapper."""
        opened = self._opened  # another thread may close it
        if opened is None:
            opened = self._opened = sx.ipc.open(self.handle)
        return sx.exchange(opened, self.library, copy=False, host_copy=False)

    def close(self) -> None:
        """Drop the memory; it stays open as long as there are tensors of `to_tensor`."""
        self._opened = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}
