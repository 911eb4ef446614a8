# SPDX-License-Identifier: Apache-2.0
"""What an import does beyond a view, and what follows when a producer refuses one.

The order in which the protocols are tried is in ``src/python/imports.cpp``, and the two calls of
DLPack in ``src/python/conversation.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._debug.trace import note
from sycl_ext._devices.device import Device
from sycl_ext._devices.placement import Placement, is_absent, place
from sycl_ext._devices.queues import is_torch_class, queue_from
from sycl_ext._negotiation.dlpack import HOST, DLDevice, as_dl_device
from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, Refusals, message_of
from sycl_ext._negotiation.producers import known
from sycl_ext._negotiation.rules import Plan, Route, cheapest
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._protocols.sources import as_usm, facts_of, kind_for, plan_for, tensor_device

__all__ = [
    "from_buffer",
    "from_ndarray",
    "import_rest",
    "import_to_any",
    "move",
    "place_in_list",
    "plan_for_any",
    "read_device",
    "those_here",
    "traits_of",
    "wait_for_producer",
]


# ---- to a device ---------------------------------------------------------------------------------


def move(
    tensor: _core.TensorBase, placement: Placement | None, copy: bool | None
) -> _core.TensorBase:
    """Bring a tensor to a device: as it is, as a copy, or not at all."""
    if tensor.entry_id is None:
        return _settle_host(tensor, placement, copy)
    target = tensor_device(tensor) if placement is None else placement.device
    found = plan_for(facts_of(tensor), target.__dlpack_device__(), copy, ours=True).check()
    return _carry_out_move(found, tensor, target, placement)


def _settle_host(
    tensor: _core.TensorBase, placement: Placement | None, copy: bool | None
) -> _core.TensorBase:
    """Bring host memory to a device."""
    usm = as_usm(tensor, thorough=copy is False)
    if usm.entry_id is not None:
        return move(usm, placement, copy)
    placement = placement or place(None)
    target = placement.device
    found = plan_for(facts_of(tensor), target.__dlpack_device__(), copy, ours=True).check()
    if found.route is Route.VIEW:
        return _core.adopt(tensor, target._entry, "system", tensor.base, placement.queue)
    return _carry_out_move(found, tensor, target, placement)


def _carry_out_move(
    found: Plan, tensor: _core.TensorBase, target: Device, placement: Placement | None
) -> _core.TensorBase:
    note(found.route.value, tensor.nbytes, found.copies)
    if found.route is Route.VIEW:
        if placement is None or placement.queue is None:
            return tensor
        _core.order_after(placement.queue, tensor)
        return _core.on_queue(tensor, placement.queue)
    kind = kind_for(tensor.usm_type, target)
    queue = placement.queue if placement is not None else None
    return _core.copy_to_entry(tensor, target._entry, kind, queue=queue)


# ---- to the best of several devices --------------------------------------------------------------


def import_to_any(x: Any, devices: list[Any], copy: bool | None, dlpack: bool) -> _core.TensorBase:
    """Import to the device of a list that takes the fewest copies, for the core.

    Parameters
    ----------
    devices : list
        Acceptable devices, each in any form of ``device=``; the first is preferred.  Filter strings
        of devices that are not here are passed over.
    dlpack : bool
        Whether only DLPack is asked, as by `from_dlpack`.
    """
    devices = those_here(devices)
    placements = [place(device) for device in devices]
    source = None
    try:
        source = _core.find_memory(x, False, dlpack)
    except BufferError:
        if copy is False or type(x).__name__ == "PyCapsule":
            raise
    if source is None:  # not where it is: a producer may copy to one of them by itself
        return _import_to_first(x, devices, copy, dlpack)
    where = [one.device.__dlpack_device__() for one in placements]
    chosen = plan_for_any(source, where, copy).check()
    return move(source, placements[place_in_list(chosen)], copy)


def plan_for_any(source: _core.TensorBase, devices: Sequence[DLDevice], copy: bool | None) -> Plan:
    """Plan for the device of several that takes the fewest copies."""
    offer = facts_of(source)
    return cheapest(
        [replace(plan_for(offer, device, copy, ours=True), device=device) for device in devices]
    )


def place_in_list(chosen: Plan) -> int:
    """Return which of several devices a plan is for."""
    return [candidate.device for candidate in chosen.candidates].index(chosen.device)


def _import_to_first(
    x: Any, devices: list[Any], copy: bool | None, dlpack: bool
) -> _core.TensorBase:
    with Refusals() as refusals:
        for device in devices:
            try:
                function = _core.from_dlpack if dlpack else _core.as_tensor
                return function(x, device=device, copy=copy)
            except BufferError as error:
                refusals.append(error)
        reasons = "; and ".join(dict.fromkeys(map(message_of, refusals)))
        first = type(refusals[0])  # perhaps of another library, with other arguments
        error_type = first if first in (ExchangeError, CopyRefusedError) else BufferError
        raise error_type(f"none of the {len(devices)} devices will do: {reasons}") from refusals[0]


def those_here(devices: list[Any]) -> list[Any]:
    """Return the acceptable devices that are here: ``["gpu", "cpu"]`` is the CPU without a GPU.

    Raises
    ------
    ValueError
        When the list is empty, or none is here.
    """
    if not devices:
        raise ValueError("device is an empty list; name a device, or pass None for any")
    return [device for device in devices if not is_absent(device)] or [place(devices[0])]


# ---- DLPack producers ----------------------------------------------------------------------------


def traits_of(cls: type) -> int:
    """Return what is known about the producers of a class: the bits of ``conversation.hpp``."""
    return (
        1 * known(cls, "immutable")
        + 2 * known(cls, "has_negative_bit")
        + 4 * (any("sycl_queue" in vars(base) for base in cls.__mro__) or is_torch_class(cls))
        + 8 * known(cls, "waits_in_description")
    )


def read_device(x: Any, answer: Any) -> DLDevice:
    """Read what ``__dlpack_device__`` returned, when it is not a plain pair of ints."""
    device = as_dl_device(answer)
    if not all(-(1 << 31) <= number < 1 << 31 for number in device):
        raise BufferError(
            f"the {type(x).__name__} says that it is on device {device}; DLPack's numbers have 32 "
            "bits"
        )
    return device


def wait_for_producer(x: Any) -> None:
    """Wait for the queue that a producer shows, if it shows one."""
    queue = getattr(x, "sycl_queue", None)
    if queue is not None:
        queue_from(queue).wait()


def import_rest(
    x: Any,
    announced: DLDevice | None,
    view: _core.TensorBase | None,
    refusal: Exception | None,
    placement: Placement | None,
    copy: bool | None,
    in_place: bool,
) -> _core.TensorBase:
    """Go on where a producer gave no view, or one that may say something wrong.

    A producer is asked to copy only when it cannot give a view that we can reach, and does not
    describe its memory in the other protocol either: a copy that we make is ordered after the
    producer's work, and a producer's copy may not be.

    Parameters
    ----------
    announced : DLDevice or None
        What ``__dlpack_device__`` returned; None: it raised the `refusal`.
    view : TensorBase or None
        What was imported, where it may be wrong.
    refusal : Exception or None
        What ``__dlpack__`` raised; None: it was not called.
    in_place : bool
        Whether the memory stays where it is.
    """
    described = None if in_place else _described_usm(x)
    if described is not None:
        return move(described, placement, copy)
    if announced is None:
        raise _no_device(x, refusal)
    if view is not None:
        return move(view, placement, copy)
    if isinstance(x, np.ndarray):  # of a dtype or with a flag that NumPy does not export
        tensor = from_ndarray(x)
        return as_usm(tensor) if in_place else move(tensor, placement, copy)
    with Refusals([] if refusal is None else [refusal]) as refusals:
        del refusal  # the producer may raise the same one again, through this frame
        return _import_copy(x, announced, placement, copy, in_place, refusals)


def _described_usm(x: Any) -> _core.TensorBase | None:
    """Return the memory that `x` describes in ``__sycl_usm_array_interface__``, if it does."""
    interface = getattr(x, "__sycl_usm_array_interface__", None)
    if interface is None:
        return None
    from sycl_ext._protocols.usm_interface import from_usm_interface

    return from_usm_interface(x, interface)


def _import_copy(
    x: Any,
    announced: DLDevice,
    placement: Placement | None,
    copy: bool | None,
    in_place: bool,
    refusals: list[Exception],
) -> _core.TensorBase:
    """Ask the producer to copy to where the data is wanted, else to the host."""
    tensor_or_none = None
    if placement is not None and announced != HOST and not in_place:
        wanted = placement.device.__dlpack_device__()
        tensor_or_none = _ask_copy(x, wanted, copy, refusals)
        if tensor_or_none is not None:
            return move(tensor_or_none, placement, copy)
    if announced != HOST:
        tensor_or_none = _ask_copy(x, HOST, copy, refusals)
    if tensor_or_none is None:
        raise _all_refused(x, announced, refusals)
    if in_place:
        return as_usm(tensor_or_none)
    if copy is True:
        return move(tensor_or_none, placement, True)
    try:
        # The producer's copy was the one that is allowed.
        return move(tensor_or_none, placement, False)
    except CopyRefusedError as error:
        raise BufferError(
            f"from {announced}, where the {type(x).__name__} is, to the wanted device takes two "
            "copies, through the host; that is not done unasked: pass copy=True"
        ) from error


def _no_device(x: Any, refusal: Exception | None) -> Exception:
    if not callable(getattr(x, "__dlpack_device__", None)):
        return TypeError(
            f"a {type(x).__name__} has no __dlpack_device__; from_dlpack takes DLPack producers "
            "and capsules, and as_tensor takes buffers and __sycl_usm_array_interface__ as well"
        )
    error = ExchangeError(
        f"the {type(x).__name__} cannot say where its data is: {message_of(refusal)}"
    )
    error.__cause__ = refusal
    return error


def _ask_copy(
    x: Any, device: DLDevice, copy: bool | None, refusals: list[Exception]
) -> _core.TensorBase | None:
    if copy is False:
        return None
    try:
        tensor = _core.ask_copy(x, device, copy)
    except RecursionError:
        raise
    except Exception as error:  # a producer that ignores dl_device counts as one that refuses it
        refusals.append(error)
        return None
    note(f"the producer's copy to {device}", tensor.nbytes, 1)
    return tensor


def _all_refused(x: Any, announced: DLDevice, refusals: list[Exception]) -> Exception:
    if not refusals:
        return CopyRefusedError(
            f"copy=False, and the {type(x).__name__} is on device {announced}, which only a copy "
            "through the host reaches; pass copy=None or copy=True"
        )
    first = refusals[0]
    error = ExchangeError(
        f"the {type(x).__name__} on device {announced} refused: {type(first).__name__}: "
        + message_of(first)
    )
    error.__cause__ = first
    return error


# ---- arrays and buffers of the host --------------------------------------------------------------


def from_ndarray(array: np.ndarray[Any, Any]) -> _core.TensorBase:
    """Return the memory of a NumPy array, also of dtypes that NumPy itself does not export."""
    owner, array = array, np.asarray(array)  # a subclass may say anything about itself
    try:
        name = dtype_name(array.dtype)
    except ValueError as error:  # of an argument; here a producer cannot export
        raise BufferError(str(error)) from None
    itemsize = array.itemsize
    if any(  # the stride of a length of 1 is never used
        stride % itemsize
        for stride, length in zip(array.strides, array.shape, strict=True)
        if length > 1
    ):
        raise BufferError(
            f"the strides {array.strides} of the array are not multiples of its itemsize, "
            f"{itemsize} bytes; copy it with numpy.ascontiguousarray"
        )
    strides = [stride // itemsize for stride in array.strides]
    pointer = array.__array_interface__["data"][0] if array.size else 0
    return _core.from_host(pointer, name, array.shape, strides, not array.flags.writeable, owner)


def from_buffer(x: Any) -> _core.TensorBase:
    """Return the memory of an object with the buffer protocol.

    Raises
    ------
    TypeError
        When it has none.
    """
    try:
        view = memoryview(x)
    except TypeError:
        raise TypeError(
            f"an object of type {type(x).__name__} offers no memory: it has neither "
            f"__sycl_usm_array_interface__, __dlpack__ nor the buffer protocol; {_way_in(x)}"
        ) from None
    return from_ndarray(np.asarray(view))


def _way_in(x: Any) -> str:
    """Return what makes memory of an object that offers none."""
    if isinstance(x, (int, float, complex, list, tuple)) or hasattr(type(x), "__array__"):
        return "make an array of it with numpy.asarray"
    return "pass an array, such as one of NumPy, dpnp or torch, or an object that has one of these"
