# SPDX-License-Identifier: Apache-2.0
"""Events by which the work of two processes is ordered without the host.

An event stands for the work that was pending on some memory when it was made. As with memory, the
bytes that the runtime follows are not in the message: they are in a record of the process that made
them (``records.py``), which keeps the event while another process opens it.

Work may wait for an event of a third process. Whoever comes after that work learns from the record
where that event is, and watches that process as well: if it is killed, the work never runs.
"""

from __future__ import annotations

import contextlib
import os
import struct
from typing import TYPE_CHECKING, Any, cast

from sycl_ext import _core
from sycl_ext._devices.placement import place
from sycl_ext._ipc import records
from sycl_ext._ipc.shared_memory import BlockKey
from sycl_ext._negotiation.errors import SyclError

if TYPE_CHECKING:
    from sycl_ext._tensor.tensor import Tensor

#: 1: events are used. They are an experiment as long as only a simulated driver has shown them.
_SWITCH = "SYCL_EXT_IPC_EVENTS"
#: The place of an event in a record: its `BlockKey`. A record names the places of at most so many
#: events of other processes that come before its own.
_PLACE = struct.Struct("<4Q")
_MOST_PLACES = 64


def before_opening(tensor: _core.TensorBase, entry: _core.Entry) -> records.Offer | None:
    """Return the event after which others may use a tensor.

    None: they may use it now. No work was pending, or this call has waited for it, where events are
    not used.
    """
    if _why_none(entry):
        _core.synchronize(tensor)
        return None
    made = _core.event_of_work([tensor])
    if made is None:
        return None
    places = made.places_before[:_MOST_PLACES]
    data = bytes([len(places)]) + b"".join(places) + made.data
    return records.Offer(data, records.EVENT, made)


def ordered(tensor: _core.TensorBase, key: BlockKey) -> Tensor:
    """Return the tensor with a queue of its own, whose work comes after an event."""
    tensor, before = _after(tensor, key, is_ordered=False)
    for earlier in before:
        # What is not kept any more is over, or the kernel does not let this process watch it.
        with contextlib.suppress(BufferError, SyclError):
            if not is_own(earlier):
                _after(tensor, earlier, is_ordered=True)
    return tensor


def _after(
    tensor: _core.TensorBase, key: BlockKey, *, is_ordered: bool
) -> tuple[Tensor, list[BlockKey]]:
    """Open an event, and return the tensor after it and the places of the events before it."""
    content, record = records.borrow(key, records.EVENT)
    named = content[0] * _PLACE.size
    before = [BlockKey(*numbers) for numbers in _PLACE.iter_unpack(content[1 : 1 + named])]
    after = tensor if is_ordered else _core.on_own_queue(tensor)
    data, place = content[1 + named :], _PLACE.pack(*key)
    _core.wait_for_event([after], data, key.process, place=place, is_ordered=is_ordered)
    del record  # the event is open
    return cast("Tensor", after), before


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
