# SPDX-License-Identifier: Apache-2.0
"""Records of shared memory: reference counts across processes.

The runtime follows the bytes of a SYCL handle without a check: a process, a descriptor there, an
offset. So they are not sent. They are stored in a *record*, a block of shared host memory of the
process that made them, and the message names that block. A process that opens the handle reads them
there, so no message can change them.

A record is also a reference count. A process that opens the memory takes a shared lock on the
record (``flock``), which the kernel releases when that process closes the memory, or ends in any
way. When the handle is dropped, its process marks the record as withdrawn, so that it cannot be
opened any more. It takes an exclusive lock before it frees the memory, so the memory stays while
any process has it open.
"""

import os
import struct
import weakref
from dataclasses import dataclass, field

from sycl_ext._core import TensorBase, synchronize
from sycl_ext._devices.memory_use import released_with
from sycl_ext._ipc.descriptors import DescriptorError
from sycl_ext._ipc.peers import require_descriptor
from sycl_ext._ipc.shared_memory import Block, BlockKey, make_block, open_block

#: Magic, state, process image, bytes of memory, length of the handle; followed by the handle.
_RECORD = struct.Struct("<15s?16sQQ")
_MARK = b"sycl_ext IPC 3\0"
_WITHDRAWN = b"sycl_ext IPC -\0"
_SIZE = 4096
_ARRIVED = len(_MARK)  # the offset of the state

#: A random number of this process image. A process that replaces itself (``execv``) keeps its id
#: and its start time, and its memory is other memory.
own_image = os.urandom(16)


def _renew_image() -> None:
    global own_image
    own_image = os.urandom(16)


os.register_at_fork(after_in_child=_renew_image)


@dataclass(eq=False)
class _Memory:
    """Memory that this process offers, or that other processes may still have open."""

    offer: "weakref.ref[Offer]"
    record: Block
    data: bytes
    array: TensorBase | None
    kept: object  #: the object to drop in the end
    maker: int = field(default_factory=os.getpid)
    sent: bool = False  #: a process will still open it

    def is_in_use(self) -> bool:
        """Whether it must stay; after the first False it cannot be opened."""
        if os.getpid() != self.maker:  # this process was forked, and the record is its parent's
            return False
        if self.sent:
            if not self.record.read()[_ARRIVED]:
                return True
        elif self.offer() is not None:
            return True
        else:
            self.record.write(_WITHDRAWN)
        if not self.record.lock(exclusive=True):
            return True
        self.record.write(_WITHDRAWN)
        return False


#: Only `reclaim` removes memory, as its last step, because Ctrl-C, the garbage collector or another
#: thread can interrupt it at any place.
_offered: set[_Memory] = set()


class Offer:
    """Keeps memory that other processes may open; the memory outlives it while any process uses it.

    `data` has the bytes of a SYCL handle, and leads to the first byte of `array`; if it is empty,
    the record only counts. `kept` is dropped in the end.
    """

    def __init__(
        self, data: bytes, nbytes: int, kept: object, array: TensorBase | None = None
    ) -> None:
        record = make_block(_SIZE)
        has_arrived = False
        record.write(_RECORD.pack(_MARK, has_arrived, own_image, nbytes, len(data)) + data)
        self.data, self.key = data, record.key
        self._memory = _Memory(weakref.ref(self), record, data, array, kept)
        _offered.add(self._memory)
        weakref.finalize(self, reclaim).atexit = False  # at exit the kernel releases the locks

    def wait(self) -> None:
        """Wait for pending work on the array."""
        if self._memory.array is not None:
            synchronize(self._memory.array)

    def keep_until_arrived(self) -> None:
        """Keep the memory until a process has opened it, and closed it again."""
        self._memory.sent = True


def reclaim() -> None:
    """Free the memory of dropped offers that no process has open."""
    for memory in list(_offered):
        if not memory.is_in_use():
            _offered.discard(memory)


released_with.append(reclaim)


def waiting() -> int:
    """Return the number of blocks that are kept only for other processes."""
    reclaim()
    return sum(memory.sent or memory.offer() is None for memory in list(_offered))


def withdraw_arrived() -> int:
    """Let no further process open what this one has sent; return how much is still on its way."""
    on_the_way = 0
    for memory in list(_offered):
        if not memory.sent or memory.maker != os.getpid():
            continue
        if memory.record.read()[_ARRIVED]:
            memory.record.write(_WITHDRAWN)
        else:
            on_the_way += 1
    return on_the_way


def own_arrays(data: bytes) -> list[TensorBase]:
    """Return the arrays of this process to whose first byte the bytes of a SYCL handle lead."""
    process = os.getpid()
    return [
        memory.array
        for memory in list(_offered)
        if memory.array is not None and memory.data == data and memory.maker == process
    ]


def borrow(key: BlockKey, nbytes: int) -> tuple[bytes, Block]:
    """Return the bytes of a SYCL handle, and its record, to keep as long as the memory.

    As long as the record is open in any process, the memory counts as open.
    """
    record, content = _open_record(key)
    mark, _arrived, image, recorded, length = _RECORD.unpack_from(content)
    if mark != _MARK or length > _SIZE - _RECORD.size:
        raise BufferError(f"process {key.process} does not share the memory that the handle names")
    if recorded != nbytes:
        raise BufferError(f"the block has {recorded} bytes, but the handle says {nbytes}")
    require_descriptor(key.process, key.descriptor)
    _require_the_same_image(key.process, image)
    return content[_RECORD.size : _RECORD.size + length], record


def require_offered(key: BlockKey) -> None:
    """Raise BufferError if no further process can open memory that another process has shared."""
    _open_record(key)


def _open_record(key: BlockKey) -> tuple[Block, bytes]:
    """Return a record with a shared lock, and its content; BufferError: it is gone."""
    record = open_block(key, _SIZE, readonly=True, keep="the handle")
    content = record.read() if record.lock(exclusive=False) else _WITHDRAWN
    if content.startswith(_WITHDRAWN):
        raise BufferError(
            f"process {key.process} no longer shares this memory, because it has dropped the "
            "handle; keep the handle there until the memory is opened"
        )
    return record, content


def mark_as_arrived(key: BlockKey) -> None:
    """Notify the sender that its memory is open here; that process may have ended."""
    try:
        record = open_block(key, _SIZE, readonly=False)
    except DescriptorError:  # that process would keep the memory for no visible reason
        raise
    except BufferError:
        return
    if record.read().startswith(_MARK):
        record.write(b"\1", at=_ARRIVED)


#: Each process whose memory was opened here -> its image. It has no more entries than the kernel
#: has ids of processes (``kernel.pid_max``).
opened_images: dict[int, bytes] = {}


def _require_the_same_image(process: int, image: bytes) -> None:
    """Refuse a handle that the runtime could confuse with one of an earlier process image.

    The runtime keeps mappings by process, address and number of the handle, also when they are
    closed, and a later image with the same process id may have all three of an earlier one.
    """
    if opened_images.setdefault(process, image) != image:
        raise BufferError(
            f"process {process} reuses the id of one whose memory was opened here earlier, or has "
            "replaced itself (exec), and the SYCL runtime cannot distinguish their handles; "
            "share the memory from a new process, or open it in one"
        )
