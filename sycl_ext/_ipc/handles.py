# SPDX-License-Identifier: Apache-2.0
"""`ipc_empty`, `ipc_handle`, `ipc_open`: one piece of memory in several processes.

Two mechanisms, and never a copy: device USM by the inter-process handles of SYCL, where the device
has them; else shared host memory, which a device with system USM reads in place.

The runtime follows the bytes of a SYCL handle without a check: a process, a descriptor there, an
offset.  So they are not sent.  They lie in a block of shared host memory of the process that made
them, the *record*, and what is sent says where that is.  Who opens the handle reads them there: no
message can change them, and they are gone when the handle is, as the descriptor in them may by then
be that of another file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from sycl_ext import _core
from sycl_ext._devices.description import DeviceWords, read_words
from sycl_ext._devices.device import Device, by_id, place
from sycl_ext._ipc.peers import Permission, require_descriptor
from sycl_ext._ipc.shared_memory import Block, BlockKey, make_block, open_block
from sycl_ext._protocols import sources
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._tensor.indexing import as_shape
from sycl_ext._tensor.pickling import nearest, part_of, strides_of, words_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from sycl_ext._tensor.tensor import Tensor

__all__ = ["IpcHandle", "ipc_empty", "ipc_handle", "ipc_open"]

_ITEMSIZE = {name: size for name, _kind, size in _core.DTYPES}

#: A record: what it is, the size of the device block, the length of the bytes; then the bytes.
_RECORD = struct.Struct("<16sQQ")
_RECORD_MARK = b"sycl_ext IPC 1\0\0"
_RECORD_SIZE = 4096


@dataclass(frozen=True)
class IpcHandle:
    """What another process opens a tensor's memory with: small, and made to be sent.

    Handles are made by `ipc_handle`.  In the process that made it a handle keeps the memory, and it
    can be opened as long as it is kept there.  Pickled, it is a few hundred bytes, which say where
    to find the memory, and hold nothing else.
    """

    mechanism: Literal["sycl", "shared memory"]
    """The inter-process handles of SYCL, or shared host memory."""
    shape: tuple[int, ...]
    dtype: str
    """Name of the dtype, such as ``"float32"``."""
    readonly: bool
    _strides: tuple[int, ...] = field(repr=False)
    _nbytes: int = field(repr=False)  # of the block
    _offset: int = field(repr=False)  # of the first element, in bytes
    _device: DeviceWords = field(repr=False)
    _uuid: bytes = field(repr=False)  # of the root device; empty: the device does not say
    _key: BlockKey = field(repr=False)  # of the shared host memory, or of the record
    _keep: object = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__ if name != "_keep"]
        return _read_handle, tuple(tuple(v) if isinstance(v, tuple) else v for v in values)


def _read_handle(*values: Any) -> IpcHandle:
    """Make a handle of the parts of a pickle, once they have been checked."""
    try:
        if len(values) != len(_KINDS):
            raise ValueError(f"it has {len(values)} parts")
        return _check_handle(IpcHandle(*values))
    except (TypeError, ValueError) as error:
        raise ValueError(f"this is no pickle of a sycl_ext.IpcHandle: {error}") from None


def _check_handle(handle: IpcHandle) -> IpcHandle:
    """Return the handle, its tuples in their classes; ValueError names the field that is wrong."""

    def require(name: str, fine: bool) -> None:
        if not fine:
            raise ValueError(f"{name} of the IpcHandle is {getattr(handle, name)!r}")

    for name, kind in _KINDS.items():
        require(name, isinstance(getattr(handle, name), kind))
    for name in ("shape", "_strides", "_key"):
        require(name, all(type(number) is int for number in getattr(handle, name)))
    require("mechanism", handle.mechanism in ("sycl", "shared memory"))
    require("dtype", handle.dtype in _ITEMSIZE)
    nbytes = prod(max(length, 1) for length in handle.shape) * _ITEMSIZE[handle.dtype]
    require("shape", all(length >= 0 for length in handle.shape) and nbytes < 1 << 63)
    require("_strides", len(handle._strides) == len(handle.shape))
    require("_nbytes", 0 <= handle._nbytes < 1 << 63)
    require("_offset", 0 <= handle._offset <= handle._nbytes)
    require("_key", len(handle._key) == len(BlockKey._fields))
    try:
        words = read_words(tuple(handle._device))
    except ValueError as error:
        raise ValueError(f"_device of the IpcHandle: {error}") from None
    return replace(handle, _key=BlockKey(*handle._key), _device=words)


#: The fields of a handle, but what it keeps.
_KINDS: dict[str, type] = {
    "mechanism": str,
    "shape": tuple,
    "dtype": str,
    "readonly": bool,
    "_strides": tuple,
    "_nbytes": int,
    "_offset": int,
    "_device": tuple,
    "_uuid": bytes,
    "_key": tuple,
}


def ipc_empty(
    shape: int | tuple[int, ...],
    dtype: DTypeLike = "float32",
    *,
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Return a new tensor in memory that other processes of this machine can open.

    Parameters
    ----------
    shape, dtype, device, order
        As for `empty`.

    Returns
    -------
    Tensor
        In device USM where the device has inter-process handles (a GPU on Level Zero), in an
        allocation of its own of at least 4 MiB, because a handle shows an allocation as a whole;
        else in shared host memory (`usm_type` "system"), when the device reads host memory (the
        CPU).

    Raises
    ------
    BufferError
        When the device has neither.
    MemoryError
        When there is no room.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> t = sx.ipc_empty(1000, "float64", device="cpu")
    >>> u = sx.ipc_open(sx.ipc_handle(t))  # in this process or in another one
    >>> t.to_numpy()[:] = 7
    >>> float(u.to_numpy()[999])
    7.0
    """
    lengths, name = as_shape(shape), dtype_name(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}; it must be 'C' or 'F'")
    where = place(device)
    entry = where.device._entry
    if _core.has_ipc(entry):
        return _core.allocate_dedicated(entry, name, lengths, order, where.queue)
    _require_system_usm(where.device)
    block = make_block(max(prod(lengths), 1) * _ITEMSIZE[name])
    axes = range(len(lengths)) if order == "C" else range(len(lengths))[::-1]
    return _view_of_block(block, where.device, name, 0, lengths, strides_of(lengths, axes), False)


def _require_system_usm(device: Device) -> None:
    if not device._entry.usm_system:
        raise BufferError(
            f"{device!r} has neither inter-process handles nor system USM, so no memory of it can "
            "be shared; share memory of the CPU device (device='cpu') and copy between them"
        )


def _view_of_block(
    block: Block,
    device: Device,
    dtype: str,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    readonly: bool,
) -> Tensor:
    """Return a tensor in a block; ValueError when it reaches beyond."""
    count, rest = divmod(block.nbytes, _ITEMSIZE[dtype])
    first, off = divmod(offset, _ITEMSIZE[dtype])
    if rest or off:
        raise ValueError(f"a block of {block.nbytes} bytes holds no {dtype} at byte {offset}")
    host = _core.from_host(block.pointer, dtype, (count,), (1,), readonly, block)
    whole = _core.adopt(host, device._entry, "system", block)
    return _core.view(whole, first, shape, strides, block)


def ipc_handle(t: Tensor, /, *, peer: SupportsIndex | None = None) -> IpcHandle:
    """Return what another process opens the memory of a tensor with.

    Nothing is copied: writing on either side is seen on the other.  The two processes have to agree
    on who writes when; work that is pending on the tensor's queue is waited for here.

    Parameters
    ----------
    t : Tensor
        From `ipc_empty`, or a view of such a tensor.
    peer : int, optional
        The process that will open the memory (its id).  It may take file descriptors of this
        process, and debug it, as long as the handle is kept (``prctl(PR_SET_PTRACER)``).  Device
        USM needs that where ``kernel.yama.ptrace_scope`` is 1 and this process is not a descendant
        of the peer's; elsewhere it changes nothing.  One process at a time.

    Returns
    -------
    IpcHandle
        It keeps the memory, and has to be kept until the other process has opened it; device USM
        has to be kept as long as the other process uses it.

    Raises
    ------
    BufferError
        When the memory cannot be shared: nothing is copied silently.
    ValueError
        When there is no process `peer`.

    Examples
    --------
    >>> import pickle, sycl_ext as sx
    >>> handle = sx.ipc_handle(sx.ipc_empty((2, 3), device="cpu").as_readonly())
    >>> handle
    IpcHandle(mechanism='shared memory', shape=(2, 3), dtype='float32', readonly=True)
    >>> sx.ipc_open(pickle.loads(pickle.dumps(handle))).readonly
    True
    """
    t = sources.strong(t)
    if not sources.is_tensor(t) or t.entry_id is None:
        raise TypeError(f"a {type(t).__name__} is no Tensor on a device; see ipc_empty")
    if t.size == 0:
        raise BufferError("the tensor has no elements, and so no memory to share")
    keep: object = t
    device = by_id(t.entry_id)
    permission = None if peer is None else Permission(peer)
    nbytes, offset = _core.memory_of(t)
    mechanism: Literal["sycl", "shared memory"] = "shared memory"
    if isinstance(t.base, Block):
        key = t.base.key
    elif _core.has_ipc(device._entry):
        export = _core.IpcExport(t)
        record = _write_record(export.data, nbytes)
        mechanism, key, keep = "sycl", record.key, (export, record, permission)
    else:
        raise BufferError(
            f"{t!r} is not in memory that processes can share; copy it: "
            "sx.ipc_empty(t.shape, t.dtype, device=t.device).copy_from(t)"
        )
    _core.synchronize(t)
    return IpcHandle(
        mechanism,
        t.shape,
        t.dtype_name,
        t.readonly,
        t.strides,
        nbytes,
        offset,
        words_of(device),
        _core.device_uuid(_core.entry(device.root_id)),
        key,
        keep,
    )


def _write_record(data: bytes, nbytes: int) -> Block:
    """Put the bytes of a SYCL handle where other processes can read them, as long as it lives."""
    record = make_block(_RECORD_SIZE)
    record.write(_RECORD.pack(_RECORD_MARK, nbytes, len(data)) + data)
    return record


def _read_record(key: BlockKey, nbytes: int) -> bytes:
    """Return the bytes of a SYCL handle, for a block of so many bytes.

    Raises
    ------
    BufferError
        When the process that made it has let it go, when this process may not open it, or when it
        is not what the handle says.
    """
    content = open_block(key, _RECORD_SIZE, readonly=True).read()
    mark, found, length = _RECORD.unpack_from(content)
    if mark != _RECORD_MARK or length > _RECORD_SIZE - _RECORD.size:
        raise BufferError(f"process {key.process} shares other memory there than the handle says")
    if found != nbytes:
        raise BufferError(f"the block has {found} bytes, and the handle says {nbytes}")
    require_descriptor(key.process, key.descriptor)
    return content[_RECORD.size : _RECORD.size + length]


def ipc_open(handle: IpcHandle, /, *, device: Any = None) -> Tensor:
    """Return the memory behind a handle of another process as a tensor.

    Parameters
    ----------
    handle : IpcHandle
    device : optional
        Device USM is opened on the device that it was made on, whatever its id is here; another one
        is refused.  Shared host memory is opened on the device that is nearest to the one that it
        was made for, or on this one, which has to read host memory.

    Returns
    -------
    Tensor
        Read-only when the tensor was.  Shared host memory stays valid when the process that made it
        has ended.  Device USM has to be kept there until this tensor is gone; the driver keeps its
        mapping even longer, for the next time that the block is opened.

    Raises
    ------
    BufferError
        When the memory is gone, the device is not here, or the kernel does not let this process
        take it out of the other one; the message says why, and what to do.
    SyclError
        When the runtime does not take the handle.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> handle = sx.ipc_handle(sx.ipc_empty(4, device="cpu"))
    >>> sx.ipc_open(handle).copy_from(memoryview(b"0123" * 4).cast("f")).shape
    (4,)
    """
    if not isinstance(handle, IpcHandle):
        raise TypeError(f"handle is a {type(handle).__name__}; it must be an IpcHandle")
    handle = _check_handle(handle)
    wanted = None if device is None else place(device).device
    try:
        if handle.mechanism == "shared memory":
            where = wanted or nearest(handle._device) or place(None).device
            _require_system_usm(where)
            block = open_block(handle._key, handle._nbytes, handle.readonly)
            return _view_of_block(
                block,
                where,
                handle.dtype,
                handle._offset,
                handle.shape,
                handle._strides,
                handle.readonly,
            )
        device_here = _exact(handle, wanted)
        return _core.open_ipc(
            device_here._entry,
            _read_record(handle._key, handle._nbytes),
            handle._nbytes,
            handle._offset,
            handle.dtype,
            handle.shape,
            handle._strides,
            handle.readonly,
        )
    except ValueError as error:
        raise BufferError(f"the handle contradicts itself: {error}") from error


def _exact(handle: IpcHandle, wanted: Device | None) -> Device:
    """Return the very device that a handle is of."""
    words, found = handle._device, None
    for root in (by_id(entry_id) for entry_id in range(_core.root_count())):
        named = DeviceWords.of(root.filter_string)
        if handle._uuid and named.backend == words.backend:
            if _core.device_uuid(root._entry) == handle._uuid:
                found = root
        elif named == words._replace(path=()):
            found = root
    part = None if found is None else part_of(found, words.path)
    if part is None or words_of(part).path != words.path:
        raise BufferError(
            f"the memory is on {'/'.join(map(str, words))}, which this process does not have; "
            "ONEAPI_DEVICE_SELECTOR and ZE_AFFINITY_MASK decide which devices a process has"
        )
    if wanted is not None and wanted._whole() is not part:
        raise BufferError(f"the memory is on {part!r}, and cannot be opened on {wanted!r}")
    return part
