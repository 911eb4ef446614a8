# SPDX-License-Identifier: Apache-2.0
"""**Experimental.** Memory of XPU on LMCache's wire.

The engine wraps the tensors of its key-value cache, and sends them once. The server of LMCache
opens them, and both use one memory. The file is meant as
``lmcache/v1/platform/devices/xpu/ipc_wrapper.py``: the README next to it has the lines of LMCache
that name it.
"""

from typing import Any, ClassVar

import torch
from lmcache.v1.platform.base.ipc_wire import IPCData, NonNegative
from lmcache.v1.platform.base.ipc_wrapper import DeviceIPCWrapper

import sycl_ext as sx


class SyclIPCData(IPCData, tag="sycl"):  # type: ignore[call-arg,misc]
    """The inter-process handle of SYCL for the bytes of a tensor, from its first element on."""

    handle: bytes
    nbytes: NonNegative

    def __post_init__(self) -> None:
        if self.metadata.byte_span() > self.nbytes:
            raise ValueError("the view exceeds the memory of the handle")


class SyclIPCWrapper(DeviceIPCWrapper):  # type: ignore[misc]
    """A tensor of XPU for another process.

    The process that wraps a tensor keeps the wrapper until the others have closed theirs: they are
    not counted. A wrapper that was received keeps the memory open until `close`.
    """

    device_type: ClassVar[str] = "xpu"
    nbytes: int
    _offer: sx.ipc.Handle | None  # where the tensor was wrapped: it keeps the memory
    _opened: sx.Tensor | None

    def __init__(self, tensor: Any) -> None:
        usm = sx.as_tensor(tensor, copy=False)
        if usm.device.uuid is None:
            raise ValueError(f"{usm.device!r} has no UUID, by which other processes find it")
        self.dtype = tensor.dtype
        self.shape = usm.shape
        self.stride = usm.strides
        self.storage_offset = 0  # the handle leads to the first element
        self.device_uuid = usm.device.uuid
        self.nbytes = self.wire_metadata().byte_span()
        self._offer, self._opened = sx.ipc.handle(usm), None
        self.handle = self._offer.to_bytes()  # waits for pending work

    @classmethod
    def wrap(cls, tensor: Any) -> "SyclIPCWrapper":
        """Return a wrapper of a tensor, whose memory is not copied.

        Raises
        ------
        BufferError
            If this memory cannot be shared, as "shared" and "host" USM of a GPU.
        """
        return cls(tensor)

    def to_wire(self) -> SyclIPCData:
        """Return the data of this wrapper for LMCache's wire."""
        return SyclIPCData(
            version=1, metadata=self.wire_metadata(), handle=self.handle, nbytes=self.nbytes
        )

    @classmethod
    def from_wire(cls, data: SyclIPCData) -> "SyclIPCWrapper":
        """Return a wrapper that was received. Nothing is opened."""
        wrapper = cls.__new__(cls)
        wrapper.restore_metadata(data.metadata)
        wrapper.handle, wrapper.nbytes = data.handle, data.nbytes
        wrapper._offer = wrapper._opened = None
        return wrapper

    def to_tensor(self) -> Any:
        """Return a tensor in the memory of the process that made the wrapper."""
        opened = self._opened  # another thread may close it
        if opened is None:
            opened = self._opened = sx.ipc.open(
                self.handle,
                device=f"uuid:{self.device_uuid}",
                shape=self.nbytes // self.dtype.itemsize,
                dtype=str(self.dtype).removeprefix("torch."),
            )
        flat = sx.exchange(opened, torch, copy=False, host_copy=False)
        return flat.as_strided(self.shape, self.stride, self.storage_offset)

    def close(self) -> None:
        """Drop the memory; it stays open as long as there are tensors of `to_tensor`."""
        self._opened = None
