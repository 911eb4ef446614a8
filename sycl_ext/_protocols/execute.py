# SPDX-License-Identifier: Apache-2.0
"""Carries a `Plan` out: exports, imports, moves.  It alone talks to strangers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard
from weakref import ProxyTypes

from sycl_ext import _core
from sycl_ext._debug.trace import note, traced
from sycl_ext._devices.device import Device, Placement, as_dl_device, by_id, place
from sycl_ext._devices.queues import (
    NO_SYNC,
    OTHER_RUNTIME,
    is_torch_tensor,
    producer_queue,
    queue_from,
)
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, message_of
from sycl_ext._negotiation.producers import known
from sycl_ext._negotiation.rules import Plan, Request, Route, Source, plan

__all__ = ["export", "facts_of", "import_producer", "move", "plan_for", "settle_host"]

_VERSION = _core.DLPACK_VERSION


# ---- facts for the negotiation -------------------------------------------------------------------


def facts_of(tensor: _core.TensorBase) -> Source:
    """Describe a tensor to the negotiation; makes no copy."""
    entry = None if tensor.entry_id is None else _core.entry(tensor.entry_id)
    return Source(
        device=tensor.__dlpack_device__(),
        entry=tensor.entry_id,
        root=None if entry is None else (int(DeviceType.ONE_API), entry.root_id),
        usm_type=tensor.usm_type,
        default_context=entry is not None and entry.default_context,
        host_reachable=tensor.host_accessible,
        readonly=tensor.readonly,
        reversed=tensor.reversed,
    )


def plan_for(
    source: Source,
    device: DLDevice | None,
    copy: bool | None,
    *,
    versioned: bool = True,
    ours: bool = False,
    root_only: bool = False,
) -> Plan:
    """Look the device up in the table, and plan.

    We ourselves (`ours`) know the entries, and take host memory that the device can read; a
    third party expects USM of the default context under a root id.
    """
    known, direct, system_usm = device is None, True, False
    wanted = device or source.device
    if wanted[0] == DeviceType.ONE_API:
        known = 0 <= wanted[1] < _core.entry_count()
        if known:
            target = _core.entry(wanted[1])
            system_usm = ours and target.usm_system
            if source.entry is not None and source.entry != target.id:
                direct = source.usm_type != "device" or _core.copies_directly(
                    _core.entry(source.entry), target
                )
    request = Request(
        device, check_copy(copy), versioned, known, direct, ours, system_usm, root_only
    )
    return plan(source, request)


def check_copy(copy: Any) -> bool | None:
    """Check the ``copy=`` argument of a public function."""
    if copy is None or isinstance(copy, bool):
        return copy
    raise TypeError(f"copy is {copy!r}; it must be True, False or None")


# ---- export --------------------------------------------------------------------------------------


@traced
def export(
    tensor: _core.TensorBase, stream: Any, max_version: Any, dl_device: Any, copy: Any
) -> object:
    """Answer a ``__dlpack__`` call that the core does not answer alone."""
    versioned = _check_max_version(max_version)
    asked = None if dl_device is None else as_dl_device(dl_device)
    found = plan_for(facts_of(tensor), asked, copy, versioned=versioned).check()
    label = asked or tensor.__dlpack_device__()
    if label == HOST and stream is not None:
        raise BufferError(f"stream is {stream!r}; an export to the host, (1, 0), takes stream=None")
    result = carry_out(found, tensor, label)
    note(found.route.value, tensor.nbytes, found.copies)
    if found.copies == 0:
        _synchronize_export(tensor, stream)
    elif stream is not None:
        _check_stream(stream)  # a finished copy is safe on every queue
    return _core.make_capsule(result, versioned, label, found.copies > 0)


def carry_out(found: Plan, tensor: _core.TensorBase, target: DLDevice) -> _core.TensorBase:
    """Return the memory that a plan promises (a tensor of the base class or a `Tensor`)."""
    if found.route in (Route.VIEW, Route.HOST_VIEW):
        return tensor
    if found.route is Route.HOST_COPY:
        return _core.copy_to_host(tensor)
    return copy_to(tensor, _core.entry(target[1]))


def copy_to(tensor: _core.TensorBase, entry: _core.Entry) -> _core.TensorBase:
    """Return a compact copy on an entry, of the same kind of USM where the entry has it."""
    return _core.copy_to_entry(tensor, entry, _fitting_kind(tensor.usm_type, by_id(entry.id)))


def _fitting_kind(usm_type: str, device: Device) -> str:
    """Kind of a copy: that of the original, or the first that the device has."""
    offered = [kind for kind in device.usm_types if kind != "system"]
    if usm_type in offered or not offered:
        return usm_type if usm_type != "system" else "device"
    return offered[0]


def _check_max_version(max_version: Any) -> bool:
    """Whether the versioned struct is asked for."""
    if max_version is None:
        return False
    try:
        major, _minor = max_version
        return int(major) >= 1
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"max_version is {max_version!r}; it must be None or a pair such as (1, 0)"
        ) from error


def _check_stream(stream: Any) -> _core.Queue | None:
    if isinstance(stream, int) and not isinstance(stream, bool) and stream == NO_SYNC:
        return None
    return queue_from(stream)


def _synchronize_export(tensor: _core.TensorBase, stream: Any) -> None:
    """Make the data safe for the consumer: at once (None), on its queue, or not at all (-1)."""
    if stream is None:
        _core.synchronize(tensor)
        return
    consumer = _check_stream(stream)
    if consumer is not None:
        _core.order_after(consumer, tensor)


# ---- import --------------------------------------------------------------------------------------


def move(
    tensor: _core.TensorBase, placement: Placement | None, copy: bool | None
) -> _core.TensorBase:
    """Bring a tensor to a device: as it is, as a copy, or not at all."""
    if tensor.entry_id is None:
        return settle_host(tensor, placement, copy)
    target = tensor_device(tensor) if placement is None else placement.device
    found = plan_for(facts_of(tensor), target.__dlpack_device__(), copy, ours=True).check()
    return _carry_out_move(found, tensor, target, placement)


def is_tensor(x: object) -> TypeGuard[_core.TensorBase]:
    """Whether the core takes `x` for a tensor; `isinstance` believes a proxy's ``__class__``."""
    return issubclass(type(x), _core.TensorBase)


def strong(x: Any) -> Any:
    """Return what a ``weakref.proxy`` stands for, which a view keeps alive; else `x` itself."""
    return x.__repr__.__self__ if type(x) in ProxyTypes else x


def root_of(x: object) -> object:
    """Return what a view of `x` names as its base: views of views do not pile up."""
    base = x.base if is_tensor(x) else None
    return x if base is None else base


def as_usm(tensor: _core.TensorBase, *, thorough: bool = False) -> _core.TensorBase:
    """Take host memory that turns out to be USM as the USM it is, and anything else as it is.

    `thorough`: ask every context, because what is not found will be refused.
    """
    if tensor.__dlpack_device__() != HOST:
        return tensor
    if tensor.entry_id is not None:  # a host view of USM
        return _core.as_usm(tensor, tensor.base)
    if tensor.is_host_copy:  # which may not be made yet
        return tensor
    owner = _core.find_owner(tensor, thorough)
    if owner is None:
        return tensor
    entry_id, usm_type = owner
    return _core.adopt(tensor, _core.entry(entry_id), usm_type, tensor.base)


def settle_host(
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
        return _core.adopt(tensor, target._entry, "system", tensor.base)
    return _carry_out_move(found, tensor, target, placement)


def _carry_out_move(
    found: Plan, tensor: _core.TensorBase, target: Device, placement: Placement | None
) -> _core.TensorBase:
    note(found.route.value, tensor.nbytes, found.copies)
    if found.route is Route.VIEW:
        return tensor
    kind = _fitting_kind(tensor.usm_type, target)
    queue = placement.queue if placement is not None else None
    return _core.copy_to_entry(tensor, target._entry, kind, queue=queue)


def tensor_device(tensor: _core.TensorBase) -> Device:
    """Return the device of a tensor that has an entry."""
    if tensor.entry_id is None:
        raise ValueError("the memory is plain host memory, which belongs to no SYCL device")
    return by_id(tensor.entry_id)


def import_capsule(capsule: Any, expected: DLDevice | None = None) -> tuple[Any, bool]:
    """Consume a capsule: (tensor of its memory, whether the producer says that it copied)."""
    return _core.consume_capsule(capsule, expected)


#: Another road to a view of a producer's memory; it returns None when there is none.
Road: TypeAlias = Callable[[Any], "_core.TensorBase | None"]


def import_producer(
    x: Any, placement: Placement | None, copy: bool | None, beside: Road
) -> _core.TensorBase:
    """Import from any producer: a view of its memory first, and what is left to do by ourselves.

    A producer is asked to copy only when it cannot give a view that we can reach, nor is there
    another road `beside` DLPack: a copy that we make is ordered after the producer's work, and a
    producer's copy may not be.
    """
    try:
        announced = _announced_device(x)
    except ExchangeError:  # dpnp on a sub-device of a GPU
        found = beside(x)
        if found is None:
            raise
        return move(found, placement, copy)
    refusals: list[Exception] = []
    tensor = _view(x, announced, copy, refusals)
    return _import_rest(x, announced, tensor, placement, copy, refusals, beside)


def import_refused(x: Any, announced: DLDevice, error: Exception, beside: Road) -> _core.TensorBase:
    """Go on where the fast path of `from_dlpack` met a refusal, without asking the same again."""
    refusals = [error]
    tensor = None
    if isinstance(error, TypeError):
        # torch is not too old: it takes a queue as an address alone.
        too_old = None if is_torch_tensor(x) else error
        tensor = _view(x, as_dl_device(announced), None, refusals, too_old=too_old)
    return _import_rest(x, as_dl_device(announced), tensor, None, None, refusals, beside)


def _import_rest(
    x: Any,
    announced: DLDevice,
    tensor: _core.TensorBase | None,
    placement: Placement | None,
    copy: bool | None,
    refusals: list[Exception],
    beside: Road,
) -> _core.TensorBase:
    # dpnp refuses memory of a private context, and says of every array of 0 dimensions that it is
    # read-only; what it says in the other way is right.
    if tensor is None or (tensor.readonly and tensor.ndim == 0):
        described = beside(x)
        tensor = tensor if described is None else described
    if tensor is None and placement is not None and announced != HOST:
        tensor = _ask_copy(x, placement.device.__dlpack_device__(), copy, refusals)
    if tensor is not None:
        return move(tensor, placement, copy)
    if announced != HOST:
        tensor = _ask_copy(x, HOST, copy, refusals)
    if tensor is None:
        raise _all_refused(x, announced, refusals)
    if copy is True:
        return move(tensor, placement, True)
    try:
        return move(tensor, placement, False)  # the producer's copy was the one that is allowed
    except CopyRefusedError as error:
        raise BufferError(
            f"from {announced}, where the {type(x).__name__} is, to the wanted device takes two "
            "copies, through the host; that is not done unasked: pass copy=True"
        ) from error


def import_where_it_is(x: Any, copy: bool | None = None) -> _core.TensorBase:
    """Import from any producer without moving anything; host memory comes without an entry.

    Memory that we cannot reach is copied to the host by its producer, unless `copy` is False.
    """
    announced = _announced_device(x)
    copy = False if copy is False else None
    refusals: list[Exception] = []
    tensor = _view(x, announced, copy, refusals)
    if tensor is None and announced != HOST:
        tensor = _ask_copy(x, HOST, copy, refusals)
    if tensor is None:
        raise _all_refused(x, announced, refusals)
    return tensor


def _announced_device(x: Any) -> DLDevice:
    method = getattr(x, "__dlpack_device__", None)
    if not callable(method):
        raise TypeError(
            f"a {type(x).__name__} has no __dlpack_device__; from_dlpack takes DLPack producers "
            "and capsules, and as_tensor takes buffers and __sycl_usm_array_interface__ as well"
        )
    try:
        answer = method()
    except Exception as error:
        raise ExchangeError(
            f"the {type(x).__name__} cannot say where its data is: {message_of(error)}"
        ) from error
    device = as_dl_device(answer)
    if not all(-(1 << 31) <= number < 1 << 31 for number in device):
        raise BufferError(
            f"the {type(x).__name__} says that it is on device {device}; DLPack's numbers have 32 "
            "bits"
        )
    return device


def _keywords(**more: Any) -> dict[str, Any]:
    return {"max_version": _VERSION, **more}


def _refuse_negative_bit(x: Any) -> None:
    """Refuse memory that is not negated yet: its capsule would have the wrong sign."""
    if known(type(x), "has_negative_bit") and x.is_neg():
        raise BufferError(
            "it has the negative bit set, so its memory has the other sign; tensor.resolve_neg() "
            "makes a tensor that can be exchanged"
        )


def _call_dlpack(x: Any, keywords: dict[str, Any], too_old: TypeError | None = None) -> object:
    """Call ``__dlpack__``; once more without keywords when the producer is too old for them.

    `too_old` is the TypeError of a call that was made before.
    """
    _refuse_negative_bit(x)
    if too_old is None:
        try:
            return x.__dlpack__(**keywords)
        except TypeError as error:
            too_old = error
    if keywords.get("dl_device") is not None:
        raise too_old  # an old producer would answer with memory of another device
    try:
        capsule = x.__dlpack__()
    except TypeError:
        raise too_old from None
    _wait_for_producer(x)  # it was not told of a stream
    return capsule


def _view(
    x: Any,
    announced: DLDevice,
    copy: bool | None,
    refusals: list[Exception],
    too_old: TypeError | None = None,
) -> _core.TensorBase | None:
    """Ask for a view where the producer announced its memory; None when it gives none.

    USM is asked for with a stream, so that later work on our queue sees the producer's.  A producer
    that shows a queue gets that one: it has nothing to do, and we put ours behind it, which costs
    nothing when it is idle.
    """
    if announced[0] not in (DeviceType.CPU, DeviceType.ONE_API):
        return None
    keywords = _keywords(copy=False) if copy is False else _keywords()
    queue = None
    if announced[0] == DeviceType.ONE_API and 0 <= announced[1] < _core.entry_count():
        queue = producer_queue(x)
        keywords["stream"] = queue or by_id(announced[1]).sycl_queue
    if queue is OTHER_RUNTIME:  # no queue of ours is for it; its data has to be ready
        keywords["stream"] = None
    try:
        capsule = _call_dlpack(x, keywords, too_old)
    except Exception as error:
        refusals.append(error)
        return None
    try:
        tensor, copied = import_capsule(capsule, announced)
    except BufferError as error:
        if queue is not OTHER_RUNTIME:
            raise
        refusals.append(error)  # its memory is unknown to our driver; a copy to the host is not
        return None
    if queue is not None and queue is not OTHER_RUNTIME:
        order_behind(tensor, queue)
    if copied and copy is False:
        raise CopyRefusedError(f"copy=False, and the {type(x).__name__} made a copy")
    if known(type(x), "immutable"):
        return _core.view(tensor, 0, tensor.shape, tensor.strides, None, readonly=True)
    return tensor  # type: ignore[no-any-return]


def order_behind(tensor: _core.TensorBase, producer: Any) -> None:
    """Let later work on the tensor's queue see what a producer's queue has been given so far."""
    queue = _core.queue_of(tensor)
    if queue is not None:
        queue.order_after(queue_from(producer))


def _wait_for_producer(x: Any) -> None:
    """Wait for the queue that a producer shows, if it shows one."""
    queue = getattr(x, "sycl_queue", None)
    if queue is not None:
        queue_from(queue).wait()


def _ask_copy(
    x: Any, device: DLDevice, copy: bool | None, refusals: list[Exception]
) -> _core.TensorBase | None:
    if copy is False:
        return None
    try:
        capsule = _call_dlpack(x, _keywords(dl_device=device, copy=copy))
        tensor: _core.TensorBase = import_capsule(capsule, device)[0]
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
