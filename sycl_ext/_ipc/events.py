# SPDX-License-Identifier: Apache-2.0
"""Events by which the work of two processes is ordered without the host.

An event stands for the work that was pending on some memory when it was made. As with memory, the
bytes that the runtime follows are not in the message: they are in a block of shared host memory of
the process that made them, and the message names that block (``records.py`` has the reasons).
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

from sycl_ext import _core
from sycl_ext._devices.placement import place
from sycl_ext._ipc.peers import require_descriptor
from sycl_ext._ipc.shared_memory import BlockKey, make_block, open_block
from sycl_ext._negotiation.errors import SyclError

if TYPE_CHECKING:
    from sycl_ext._tensor.tensor import Tensor

#: Magic, length of the bytes; followed by the bytes.
_RECORD = struct.Struct("<16sQ")
_MARK = b"sycl_ext event 1"
_SIZE = 4096
#: 1: events are used. They are an experiment as long as only a simulated driver has shown them.
_SWITCH = "SYCL_EXT_IPC_EVENTS"


class Event:
    """The end of pending work, which other processes can wait for as long as this object exists."""

    def __init__(self, made: _core.IpcEvent) -> None:
        self._made = made
        self._record = make_block(_SIZE)
        self._record.write(_RECORD.pack(_MARK, len(made.data)) + made.data)

    @property
    def key(self) -> BlockKey:
        """The place of the bytes."""
        return self._record.key


def of_work(*tensors: _core.TensorBase) -> _core.IpcEvent | None:
    """Return the event of the work that is pending on tensors of a device with events.

    None: no work is pending. A driver that makes no event is waited for.
    """
    try:
        return _core.event_of_work(tensors)
    except SyclError:  # a driver that is older than the runtime; or the work has failed
        for tensor in tensors:
            _core.synchronize(tensor)
        return None


def before_opening(tensor: _core.TensorBase, entry: _core.Entry) -> Event | None:
    """Return the event after which others may use a tensor; None: they may now, by a wait."""
    if not _why_none(entry):
        made = of_work(tensor)
        return None if made is None else Event(made)
    _core.synchronize(tensor)
    return None


def ordered(tensor: _core.TensorBase, key: BlockKey) -> Tensor:
    """Return the tensor with a queue of its own, whose work comes after an event."""
    content = open_block(key, _SIZE, readonly=True).read()
    mark, length = _RECORD.unpack_from(content)
    if mark != _MARK or length > _SIZE - _RECORD.size:
        raise BufferError(f"process {key.process} has no event there")
    require_descriptor(key.process, key.descriptor)
    tensor = _core.on_own_queue(tensor)
    data = content[_RECORD.size : _RECORD.size + length]
    _core.wait_for_event([tensor], data, key.process)
    return tensor


def _why_none(entry: _core.Entry) -> str:
    """Return why events are not used on a device; "" if they are."""
    reason = _core.why_no_ipc_events(entry)
    if not reason and os.environ.get(_SWITCH) != "1":
        return f"they are experimental: {_SWITCH}=1 turns them on"
    return reason


def is_own(key: BlockKey) -> bool:
    """Whether this process has made the event."""
    return key.process == os.getpid()


def why_no_events(device: Any = None) -> str:
    """Return why processes cannot order their work on a device by events; "" if they can.

    Where they can, `ipc.handle` does not wait for pending work: the handle carries an event, and
    the queue of the tensor that `ipc.open` returns waits for it. Elsewhere `ipc.handle` waits.

    Parameters
    ----------
    device
        As for `device`; None: the default device.

    Returns
    -------
    str
        The reason: the device has none (those of Level Zero's adapter v2 have, Battlemage and
        later), the SYCL runtime is older than 2026.2, or they are not turned on: they are
        experimental, and need ``SYCL_EXT_IPC_EVENTS=1``.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.ipc.why_no_events("cpu")
    'the device has no inter-process handles'
    """
    return _why_none(place(device).device._entry)
