# SPDX-License-Identifier: Apache-2.0
"""`ipc.empty`, `ipc.handle`, `ipc.open`: memory that several processes share.

There are two mechanisms, without copies: device USM through the inter-process handles of SYCL, if
the device has them; otherwise shared host memory, which a device with system USM reads in place. A
message does not contain bytes that the runtime follows; ``records.py`` describes where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex, TypedDict, cast

from sycl_ext import _core
from sycl_ext._devices.description import PortableDevice, read_portable
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import place
from sycl_ext._devices.portable import find, nearest, portable
from sycl_ext._ipc import records
from sycl_ext._ipc.descriptors import DescriptorError
from sycl_ext._ipc.peers import Permission
from sycl_ext._ipc.shared_memory import Block, BlockKey, make_block, open_block
from sycl_ext._negotiation.arguments import Shape, check_order
from sycl_ext._negotiation.identity import CopiesToItself
from sycl_ext._protocols.dtypes import ITEMSIZES, dtype_name
from sycl_ext._protocols.tensors import compact_strides, is_tensor, strong
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.indexing import as_shape

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from sycl_ext._tensor.tensor import Tensor


@dataclass(frozen=True)
class Handle(CopiesToItself):
    """A small object with which another process opens the memory of a tensor.

    Handles are made by `ipc.handle`. A handle keeps the memory alive in the process that made it,
    and can be opened as long as it is kept there. Its pickle has a few hundred bytes, which only
    describe where to find the memory.
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
    _device: PortableDevice = field(repr=False)
    _key: BlockKey = field(repr=False)  # of the shared host memory, or of the record
    exposed: int = field(repr=False)
    """Bytes of the driver's allocation. A process that has opened the memory can access all of it.

    An allocation of `ipc.empty` contains no other data. Others may, because the runtime puts small
    blocks together. 0: unknown.
    """
    _keep: object = field(default=None, repr=False, compare=False)

    def to_bytes(self) -> bytes:
        """Return the bytes of the SYCL handle, for ``dpctl.memory.IPCMemoryHandle.open`` and C++.

        They lead to the first byte of the array's memory, and contain neither shape nor dtype. This
        method waits for pending work on the array. Processes that open them are not counted: keep
        the handle here until they have closed the memory.

        Raises
        ------
        BufferError
            If there are none: for shared host memory, or for a handle of another process.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.ipc.handle(sx.ipc.empty(3, device="cpu")).to_bytes()
        Traceback (most recent call last):
            ...
        BufferError: shared host memory has no SYCL handle; send the Handle itself (pickle)
        """
        if self.mechanism != "sycl":
            raise BufferError(
                "shared host memory has no SYCL handle; send the Handle itself (pickle)"
            )
        if not isinstance(self._keep, records.Offer):
            raise BufferError(
                f"this handle was created by process {self._key.process}; call to_bytes there"
            )
        self._keep.wait()
        return self._keep.data

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__ if name != "_keep"]
        return _read_handle, tuple(tuple(v) if isinstance(v, tuple) else v for v in values)


# Not in the class: dataclass() looks for its annotations in the module that is named there.
Handle.__module__ = "sycl_ext.ipc"


#: The refusal of an array without elements.
NO_ELEMENTS = (
    "the array has no elements, and so no memory to share; send a copy: sycl_ext.ipc.pack(x, "
    "how='bytes')"
)


def offer_of(handle: Handle) -> records.Offer:
    """Return the object that keeps the memory in its process, and counts the users."""
    keep = handle._keep
    return keep if isinstance(keep, records.Offer) else records.Offer(b"", nbytes=0, kept=keep)


def _read_handle(*values: Any) -> Handle:
    """Make a handle from the parts of a pickle, after checking them."""
    try:
        if len(values) != len(_KINDS):
            raise ValueError(f"it has {len(values)} parts")
        return _check_handle(Handle(*values))
    except (TypeError, ValueError) as error:
        raise ValueError(f"this is not a pickle of a sycl_ext.ipc.Handle: {error}") from None


def _check_handle(handle: Handle) -> Handle:
    """Return the handle, with tuples in their classes; ValueError names the wrong field."""

    def require(name: str, fine: bool) -> None:
        if not fine:
            raise ValueError(f"{name} of the sycl_ext.ipc.Handle is {getattr(handle, name)!r}")

    for name, kind in _KINDS.items():
        require(name, isinstance(getattr(handle, name), kind))
    for name in ("shape", "_strides", "_key"):
        require(name, all(type(number) is int for number in getattr(handle, name)))
    require("mechanism", handle.mechanism in ("sycl", "shared memory"))
    require("dtype", handle.dtype in ITEMSIZES)
    nbytes = prod(max(length, 1) for length in handle.shape) * ITEMSIZES[handle.dtype]
    require("shape", all(length >= 0 for length in handle.shape) and nbytes < 1 << 63)
    require("_strides", len(handle._strides) == len(handle.shape))
    require("_nbytes", 0 <= handle._nbytes < 1 << 63)
    require("_offset", 0 <= handle._offset <= handle._nbytes)
    require("exposed", 0 <= handle.exposed < 1 << 63)
    require("_key", len(handle._key) == len(BlockKey._fields))
    try:
        device = read_portable(tuple(handle._device))
    except ValueError as error:
        raise ValueError(f"_device of the sycl_ext.ipc.Handle: {error}") from None
    return replace(handle, _key=BlockKey(*handle._key), _device=device)


#: The fields of a handle, except the kept memory.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("mechanism", "dtype"), str),
    **dict.fromkeys(("shape", "_strides", "_device", "_key"), tuple),
    **dict.fromkeys(("_nbytes", "_offset", "exposed"), int),
    "readonly": bool,
}


def empty(
    shape: Shape,
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
        In device USM if the device has inter-process handles (a GPU on Level Zero or CUDA), in an
        allocation of its own of at least 4 MiB, because a handle exposes the whole allocation.
        Otherwise in shared host memory (`usm_type` "system"), if the device can read host memory
        (the CPU).

    Raises
    ------
    BufferError
        If the device has neither.
    MemoryError
        If there is not enough memory.
    OSError
        If no file descriptor is left, with ``errno``; each block of shared host memory takes two.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> t = sx.ipc.empty(1000, "float64", device="cpu")
    >>> u = sx.ipc.open(sx.ipc.handle(t))  # in this process or in another one
    >>> t.to_numpy()[:] = 7
    >>> float(u.to_numpy()[999])
    7.0
    """
    lengths, name = as_shape(shape), dtype_name(dtype)
    check_order(order)
    where = place(device)
    entry = where.device._entry
    if _core.has_ipc(entry):
        tensor = _core.allocate(
            entry, "device", name, lengths, order, queue=where.queue, dedicated=True
        )
        return cast("Tensor", tensor)
    _require_system_usm(where.device)
    block = make_block(max(prod(lengths), 1) * ITEMSIZES[name])
    axes = range(len(lengths)) if order == "C" else range(len(lengths))[::-1]
    strides = compact_strides(lengths, axes)
    return _view_of_block(
        block, where.device, offset=0, dtype=name, shape=lengths, strides=strides, readonly=False
    )


def _require_system_usm(device: Device) -> None:
    if "system" not in device._entry.usm_types:
        raise BufferError(
            f"{device!r} has neither inter-process handles nor system USM, so its memory cannot "
            "be shared; share memory of the CPU device (device='cpu') and copy between them"
        )


class _ArrayInBlock(TypedDict):
    """Where an array is in the block of a handle, and what it is."""

    offset: int  # of the first element, in bytes
    dtype: str
    shape: Sequence[int]
    strides: Sequence[int]  # in elements
    readonly: bool


def _view_of_block(
    block: Block,
    device: Device,
    *,
    offset: int,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    readonly: bool,
) -> Tensor:
    """Return a tensor in a block; ValueError if it exceeds the block."""
    count, rest = divmod(block.nbytes, ITEMSIZES[dtype])
    first, off = divmod(offset, ITEMSIZES[dtype])
    if rest or off:
        raise ValueError(
            f"a block of {block.nbytes} bytes has no room for {dtype} at byte {offset}"
        )
    host = _core.borrow(block.pointer, dtype, (count,), (1,), readonly=readonly, owner=block)
    whole = cast("Tensor", _core.adopt(host, device._entry))
    return _core.view(whole, first, shape, strides)


def handle(x: Any, /, *, peer: SupportsIndex | None = None) -> Handle:
    """Return a handle with which another process opens the memory of an array.

    Nothing is copied: each process sees writes of the other. This call waits for pending work on
    the array. The processes must synchronise later writes themselves, for example by another
    handle: that of a tensor from `ipc.open` leads to the same memory, after the work of this
    process.

    Parameters
    ----------
    x : array
        Device USM of a GPU on Level Zero or CUDA, allocated by any library: a `Tensor`, a dpnp
        array, a torch XPU tensor, ``dpctl.memory``, or a part of one. Or memory of `ipc.empty`, on
        any device.
    peer : int, optional
        The process that will open the memory (its id).  It may take file descriptors of this
        process, and debug it, as long as the handle is kept (``prctl(PR_SET_PTRACER)``).  Device
        USM needs that where ``kernel.yama.ptrace_scope`` is 1 and this process is not a descendant
        of the peer's; elsewhere it changes nothing.  One process at a time.

    Returns
    -------
    Handle
        It keeps the array, and must be kept until the other process has opened it. The memory stays
        allocated until each process that opened it has closed it or has ended.

    Raises
    ------
    BufferError
        If the memory cannot be shared; it is never copied silently. This includes device USM of
        another process that has ended or has dropped its handle. It is an OSError as well, with
        ``errno``, if no file descriptor is left.
    TypeError
        If `x` is not an array.
    ValueError
        If there is no process `peer`.

    Notes
    -----
    A handle exposes the driver's allocation that contains the memory. The runtime puts
    blocks of less than 4 MiB into one allocation, so a process that opens the handle can also read
    and write other blocks (`ipc.Handle.exposed` bytes) with its own pointers. The tensor that
    `ipc.open` returns ends where `x` ends. Memory of `ipc.empty` is an allocation of its own.

    Examples
    --------
    >>> import pickle, sycl_ext as sx
    >>> handle = sx.ipc.handle(sx.ipc.empty((2, 3), device="cpu").as_readonly())
    >>> handle
    Handle(mechanism='shared memory', shape=(2, 3), dtype='float32', readonly=True)
    >>> sx.ipc.open(pickle.loads(pickle.dumps(handle))).readonly
    True
    """
    records.reclaim()
    x = strong(x)
    t = x if is_tensor(x) else _core.find_memory(x, copy=False)
    if t.size == 0:
        raise BufferError(NO_ELEMENTS)
    if t.entry_id is None:
        raise _not_shareable(t, place(None).device)
    device = by_id(t.entry_id)
    memory = _place_in(t, device, None if peer is None else Permission(peer))
    return Handle(
        mechanism=memory.mechanism,
        shape=t.shape,
        dtype=t.dtype_name,
        readonly=t.readonly,
        _strides=t.strides,
        _nbytes=memory.nbytes,
        _offset=memory.offset,
        _device=portable(device),
        _key=memory.key,
        exposed=memory.exposed,
        _keep=memory.keep,
    )


class _Place(NamedTuple):
    """Where the memory of an array is, for other processes."""

    mechanism: Literal["sycl", "shared memory"]
    key: BlockKey
    nbytes: int  # of the block
    offset: int  # of the first element, in bytes
    keep: object  # what keeps the memory in this process
    exposed: int = 0  # `Handle.exposed`


def _place_in(t: _core.TensorBase, device: Device, permission: Permission | None) -> _Place:
    """Return where the memory of an array is; BufferError: other processes cannot open it."""
    if isinstance(t.base, Block):
        _core.synchronize(t)
        nbytes, offset = _core.extent_in_block(t)
        return _Place("shared memory", t.base.key, nbytes, offset, keep=t)
    if not _core.has_ipc(device._entry):
        raise _not_shareable(t, device)
    if lease := _core.lease_of(t):  # opened here, and shared by the process that made it
        _require_offered(t, lease.key)
        _core.synchronize(t)
        nbytes, offset = _core.extent_in_block(t)
        return _Place("sycl", lease.key, nbytes, offset, (t, permission), lease.exposed)
    export = _core.IpcExport(t)
    _core.synchronize(t)
    nbytes, offset = _core.extent_of_elements(t)
    offer = records.Offer(export.data, nbytes, (export, permission), t)
    return _Place("sycl", offer.key, nbytes, offset, offer, export.exposed)


def _require_offered(t: _core.TensorBase, key: BlockKey) -> None:
    """Raise BufferError if the process that made the memory lets no further process open it."""
    try:
        records.require_offered(key)
    except DescriptorError:
        raise
    except BufferError as error:
        raise BufferError(
            f"{describe(t)} belongs to process {key.process}, and no further process can open it "
            f"({error}); copy it: sx.ipc.empty(t.shape, t.dtype, device={t.entry_id}).copy_from(t)"
        ) from error


def _not_shareable(t: _core.TensorBase, device: Device) -> BufferError:
    shares = _core.has_ipc(device._entry) or "system" in device.usm_types
    where = device.id if shares else "'cpu'"
    return BufferError(
        f"{describe(t)} is not in memory that processes can share; copy it first: "
        f"sx.ipc.empty(t.shape, t.dtype, device={where}).copy_from(t)"
    )


def open(  # noqa: A001 (sycl_ext.ipc.open)
    handle: Handle | bytes,
    /,
    *,
    device: Any = None,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return the memory behind a handle of this or another process as a tensor.

    Parameters
    ----------
    handle : Handle or bytes
        Bytes are a SYCL handle, from ``dpctl.memory.IPCMemoryHandle.to_bytes`` or
        `ipc.Handle.to_bytes`. **They are followed without a check**, so accept them only from
        processes that may run code in this one; an `ipc.Handle` has no such bytes. Bytes need
        `device` and `shape`. Their users are not counted: the process that made them must keep the
        memory.
    device : optional
        Device USM is opened on the device on which it was allocated, independent of its id in this
        process; another device is refused. Shared host memory is opened on this device, which must
        be able to read host memory; by default on the device most similar to the original one.
    shape, dtype : optional
        Shape and dtype of the memory behind bytes (C order; default dtype: uint8). An `ipc.Handle`
        has its own.

    Returns
    -------
    Tensor
        Read-only if the array was. In the process that made the handle, device USM is a view of
        that array. Its memory stays valid when the process that made it drops its handle and its
        array. Shared host memory stays valid when that process ends; Level Zero does
        not guarantee this for device USM. The driver keeps its mapping even longer than the tensor,
        to reuse it when the allocation is opened again.

    Raises
    ------
    BufferError
        If the memory is gone, if the device is missing, or if the kernel does not allow this
        process to open it; the message gives the reason and a solution. It is an OSError as well,
        with ``errno``, if no file descriptor is left.
    TypeError
        If `shape` or `dtype` is given with an `ipc.Handle`, or is missing with bytes.
    SyclError
        If the runtime does not accept the handle.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> handle = sx.ipc.handle(sx.ipc.empty(4, device="cpu"))
    >>> sx.ipc.open(handle).copy_from(memoryview(b"0123" * 4).cast("f")).shape
    (4,)
    """
    records.reclaim()
    if isinstance(handle, bytes):
        return _open_bytes(handle, device, shape, dtype)
    if not isinstance(handle, Handle):
        raise TypeError(f"handle is of type {type(handle).__name__}; it must be a Handle or bytes")
    if shape is not None or dtype is not None:
        raise TypeError("a Handle contains its shape and dtype; pass them only with bytes")
    handle = _check_handle(handle)
    wanted = None if device is None else place(device).device
    array = _ArrayInBlock(
        offset=handle._offset,
        dtype=handle.dtype,
        shape=handle.shape,
        strides=handle._strides,
        readonly=handle.readonly,
    )
    try:
        if handle.mechanism == "shared memory":
            where = wanted or nearest(handle._device)
            _require_system_usm(where)
            block = open_block(handle._key, handle._nbytes, readonly=handle.readonly)
            return _view_of_block(block, where, **array)
        entry = _device_of(handle, wanted)._entry
        data, record = records.borrow(handle._key, handle._nbytes)
        if own := records.own_arrays(data):
            tensor = _core.open_own(own[0], nbytes=handle._nbytes, **array)
        else:
            lease = _Lease(handle._key, handle.exposed, record)
            tensor = _core.open_ipc(entry, data, nbytes=handle._nbytes, lease=lease, **array)
        return cast("Tensor", tensor)
    except ValueError as error:
        raise BufferError(f"the fields of the handle are inconsistent: {error}") from error


class _Lease(NamedTuple):
    """What an opened block is opened by: the other process keeps it as long as this is kept."""

    key: BlockKey
    exposed: int
    record: Block


def _open_bytes(data: bytes, device: Any, shape: Any, dtype: DTypeLike | None) -> Tensor:
    if device is None or shape is None:
        raise TypeError(
            "bytes contain neither device nor shape; pass open(data, device=..., shape=...), or "
            "open(pickle.loads(data)) if they are the pickle of a Handle"
        )
    lengths, name = as_shape(shape), "uint8" if dtype is None else dtype_name(dtype)
    if prod(lengths) == 0:
        raise ValueError(f"shape is {lengths}: a handle cannot refer to an empty array")
    nbytes = prod(lengths) * ITEMSIZES[name]
    strides = compact_strides(lengths, range(len(lengths)))
    array = _ArrayInBlock(offset=0, dtype=name, shape=lengths, strides=strides, readonly=False)
    where = place(device).device
    if own := records.own_arrays(data):
        made_on = cast(int, own[0].entry_id)  # `handle` refuses an array that is on no device
        _require_device(by_id(made_on)._whole(), where)
        array["readonly"] = all(tensor.readonly for tensor in own)
        opened = _core.open_own(own[0], nbytes=nbytes, **array)
    else:
        opened = _core.open_ipc(where._entry, data, nbytes=nbytes, **array)
    return cast("Tensor", opened)


def _device_of(handle: Handle, wanted: Device | None) -> Device:
    """Return the device of the memory; BufferError: it is missing, or not the wanted one."""
    device = find(handle._device)
    if device is None or device.backend != handle._device.backend:
        raise BufferError(
            f"the memory is on {handle._device}, which is not available in this process; "
            "check ONEAPI_DEVICE_SELECTOR and ZE_AFFINITY_MASK"
        )
    if wanted is not None:
        _require_device(device, wanted)
    return device


def _require_device(owner: Device, wanted: Device) -> None:
    if wanted._whole() is not owner:
        raise BufferError(f"the memory is on {owner!r}, so it cannot be opened on {wanted!r}")
