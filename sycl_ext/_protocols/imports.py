# SPDX-License-Identifier: Apache-2.0
"""All imports but plain views: the order of the protocols, and the steps after a refusal.

The views that the core makes without Python are in ``src/python/imports.cpp``.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntFlag, auto
from typing import Any, Final, TypeAlias

import numpy as np

from sycl_ext import _core
from sycl_ext._debug.trace import note
from sycl_ext._devices import queues
from sycl_ext._devices.device import shared_queue
from sycl_ext._devices.placement import Placement, available_devices, place, resolve
from sycl_ext._negotiation.dlpack import HOST, DeviceType, DLDevice, as_dl_device
from sycl_ext._negotiation.errors import (
    NO_REFUSALS,
    CopyRefusedError,
    ExchangeError,
    message_of,
    refusal_by,
)
from sycl_ext._negotiation.kinds import ALLOCATED, UsmType, check_usm_type, is_capsule
from sycl_ext._negotiation.producers import advice_for, definer, is_of, known, why_withheld
from sycl_ext._negotiation.rules import Route, cheapest, kind_of_copy
from sycl_ext._protocols import sources
from sycl_ext._protocols.dtypes import dtype_name
from sycl_ext._protocols.usm_interface import from_usm_interface

Refusals: TypeAlias = list[Exception]

# ---- the order of the protocols ------------------------------------------------------------------


@dataclass(slots=True)
class Import:
    """The state of an import: the question of the core, and the findings of the steps so far.

    This is one object, because three objects would cost a twentieth of a slow import.
    """

    x: Any
    # What the core has from the producer (``Asked`` of the core).
    view: _core.TensorBase | None  # memory that must be moved, or may be described wrongly
    refusals: Refusals  # the exception of the DLPack methods, or empty
    table_asked: bool  # the C exchange table was asked, without success
    # The request (``ImportRequest`` of the core).
    dlpack_only: bool  # as in `from_dlpack`; otherwise any protocol
    in_place: bool  # the memory stays where it is; host memory that is not USM gets no entry
    copy: bool | None
    device: Any  # in any form of ``device=``
    usm_type: UsmType | None  # the kind of USM that is needed; None: any
    # What is found here.
    placement: Placement | None = None
    facts: int = 0
    announced: DLDevice | None = None  # the result of ``__dlpack_device__``

    def place(self, tensor: _core.TensorBase, *, copied: bool = False) -> _core.TensorBase:
        """Plan in `move`, and copy the memory to the requested device."""
        tensor = _of_described_kind(tensor, self.x)
        if self.in_place:
            return _core.as_usm(tensor)
        copy = None if copied and self.copy else self.copy
        return move(tensor, self.placement, copy, self.usm_type)


#: The tensor on the requested device; None: the next step is taken.
Answer: TypeAlias = "_core.TensorBase | None"


def take_tensor_or_capsule(run: Import) -> Answer:
    """Take a tensor or a capsule."""
    x = run.x
    if run.facts & Facts.IS_TENSOR:
        as_it_is = run.in_place or x.entry_id is None
        return run.place(x if as_it_is else _core.as_usm(x))
    if is_capsule(x):
        tensor, copied = _core.consume_capsule(x)
        return run.place(tensor, copied=copied)
    return None


def read_description_first(run: Import) -> Answer:
    """Read `__sycl_usm_array_interface__`, which names the queue and the sub-device as well.

    Of dpnp's arrays it is read later, because dpnp waits in it.
    """
    if run.dlpack_only or run.facts & Facts.DLPACK_FIRST:
        return None
    tensor = _described(run.x, run.facts)
    return None if tensor is None else run.place(tensor)


def read_numpy_subclass(run: Import) -> Answer:
    """Read an array of a subclass of NumPy's that has NumPy's `__dlpack__`.

    The garbage collector does not see the reference of NumPy's capsules to the array, which may be
    part of a cycle.
    """
    if not run.facts & Facts.IS_NDARRAY or type(run.x) is np.ndarray:
        return None
    return run.place(_from_ndarray(run.x))


def use_table(run: Import) -> Answer:
    """Use the C exchange table.

    It cannot be asked for `copy=False`, as `__dlpack__` can, so a copy that it made is dropped.
    """
    imported = None if run.table_asked else _core.import_through_table(run.x)
    if imported is None:
        return None
    tensor, copied = imported
    if copied and run.copy is False:
        return None
    return run.place(tensor, copied=copied)


def take_buffer(run: Import) -> Answer:
    """Take a buffer, if the producer does not support DLPack."""
    if run.dlpack_only or hasattr(run.x, "__dlpack__"):
        return None
    return run.place(_from_buffer(run.x))


def ask_for_view(run: Import) -> Answer:
    """Ask for a view by DLPack, without keywords if the producer accepts none.

    dpnp reports all 0-dimensional arrays as read-only by DLPack. Its flags are right, and so is its
    description, which the next step reads.
    """
    if run.view is None:
        run.announced = _announced_device(run.x, run.refusals)
        if run.announced is None:
            return None
        run.view = _ask_view(run, run.announced)
    view = run.view
    if view is None or not (view.readonly and view.ndim == 0):
        return None if view is None else run.place(view)
    if run.facts & Facts.DLPACK_FIRST:
        writable = getattr(getattr(run.x, "flags", None), "writable", None)
        if writable is not None:
            return run.place(_core.view(view, 0, (), (), readonly=not writable))
    return None


def read_description(run: Import) -> Answer:
    """Read `__sycl_usm_array_interface__`, if the view was refused."""
    tensor = _described(run.x, run.facts)
    if tensor is None:
        tensor = run.view
    return None if tensor is None else run.place(tensor)


def read_numpy_array(run: Import) -> Answer:
    """Read a NumPy array with a dtype or a flag that NumPy itself does not export."""
    if run.announced is None or not run.facts & Facts.IS_NDARRAY:
        return None
    return run.place(_from_ndarray(run.x))


def ask_for_copy(run: Import) -> Answer:
    """Ask the producer for a copy, first on the requested device and then on the host.

    This is the last step, because a copy that this package makes is ordered after the producer's
    work, and a producer's own copy may not be.
    """
    if run.announced is None:
        raise _no_device(run.x, run.refusals[0])
    return _import_copy(run, run.announced)


Step: TypeAlias = Callable[[Import], Answer]

#: Taken only if the producer has given no answer by DLPack's Python protocol yet.
FIRST_STEPS: Final[tuple[Step, ...]] = (
    take_tensor_or_capsule,
    read_description_first,
    read_numpy_subclass,
    use_table,
    take_buffer,
)
#: DLPack's Python protocol, and what is left where it refuses a view.
DLPACK_STEPS: Final[tuple[Step, ...]] = (
    ask_for_view,
    read_description,
    read_numpy_array,
    ask_for_copy,
)
#: The order of the protocols. The last step returns a tensor or raises.
#: ``docs/develop/design.md`` has these lines as a list.
STEPS: Final = (*FIRST_STEPS, *DLPACK_STEPS)


def import_slowly(*question: Any) -> _core.TensorBase:
    """Make all imports but plain views, by the first step that has an answer.

    `question` has the first fields of `Import`. The list of refusals is emptied at the end: an
    exception refers to the frames that it went through, and they refer to the frames that called
    them. If one of these frames still held the exception, that would be a cycle, and the refused
    array would stay until the garbage collector runs.
    """
    run = Import(*question)
    check_usm_type(run.usm_type)
    if isinstance(run.device, list):
        return _import_to_any(run)
    refusals = run.refusals
    try:
        if run.device is not None:
            run.placement = place(run.device)
        if refusals and isinstance(refusals[0], NO_REFUSALS):
            raise refusals[0]
        run.x = sources.strong(run.x)
        run.facts = facts_of(run.x)
        for step in DLPACK_STEPS if run.view is not None or refusals else STEPS:
            tensor = step(run)
            if tensor is not None:
                return tensor
        raise AssertionError("the last step returns a tensor or raises")
    finally:
        refusals.clear()


class Facts(IntFlag):
    """The known facts of a producer's class. The core reads the first seven (``ProducerClass``)."""

    FROM_DLPACK = auto()  # the core may ask for a view by DLPack
    AS_TENSOR = auto()  # the same, where other protocols are allowed
    SHOWS_QUEUE = auto()
    HAS_LAZY_STATE = auto()
    IS_BASE = auto()  # the array keeps its memory alive, and so is the base of a view
    HAS_TABLE = auto()  # its C exchange table is not older than its ``__dlpack__``
    IS_TENSOR = auto()  # of this package, with DLPack methods of this package
    DLPACK_FIRST = auto()  # before ``__sycl_usm_array_interface__``
    IMMUTABLE = auto()
    MAY_WITHHOLD = auto()
    DESCRIBES = auto()  # the description is not older than ``__dlpack__``
    IS_NDARRAY = auto()  # of NumPy, with DLPack methods of NumPy


#: Shortcuts past DLPack, which a class or an instance with DLPack methods of its own does not have.
_SHORTCUTS = Facts.IS_BASE | Facts.HAS_TABLE | Facts.IS_TENSOR | Facts.DESCRIBES | Facts.IS_NDARRAY

#: The protocols of memory, and the methods by which a class defines each.
_DLPACK = ("__dlpack__", "__dlpack_device__")
_TABLE = ("__dlpack_c_exchange_api__",)
_DESCRIPTION = ("__sycl_usm_array_interface__", "__getattr__", "__getattribute__")


def facts_of_class(cls: type) -> int:
    """Return the known facts of a producer's class, as bits; the core caches the answer.

    A protocol is a shortcut past DLPack only where the class that defines it is not a base of the
    class that defines DLPack. So a subclass that overrides ``__dlpack__``, perhaps to refuse, is
    asked by DLPack, although it inherits the memory and the other protocols of its base.
    """
    dlpack = definer(cls, *_DLPACK)
    method = definer(cls, "__dlpack__")
    has_table = _is_not_overridden(cls, _TABLE, dlpack) and not _intercepts_torch(cls)
    describes = _is_not_overridden(cls, _DESCRIPTION, dlpack)
    is_ndarray = issubclass(cls, np.ndarray) and dlpack is np.ndarray
    immutable = known(cls, "immutable")
    may_withhold = known(cls, "withheld")
    # Not where a subclass describes its memory by a method of its own.
    owners = [definer(cls, name) for name in (*_DLPACK, _DESCRIPTION[0])]
    dlpack_first = all(owner and is_of(owner, "waits_in_description") for owner in owners)
    lazy = [name for name in ("requires_grad", "is_conj", "is_neg") if definer(cls, name)]
    from_dlpack = (
        (method is not None or has_table)
        and not immutable
        and (has_table or not may_withhold)
        and (cls is np.ndarray or not is_ndarray)
    )
    facts = {
        Facts.FROM_DLPACK: from_dlpack,
        Facts.AS_TENSOR: from_dlpack and (dlpack_first or not describes),
        Facts.SHOWS_QUEUE: definer(cls, "sycl_queue") is not None or queues.is_torch_class(cls),
        Facts.HAS_LAZY_STATE: bool(lazy),
        Facts.IS_BASE: is_ndarray or dlpack_first,
        Facts.HAS_TABLE: has_table,
        Facts.IS_TENSOR: dlpack is _core.TensorBase,
        Facts.DLPACK_FIRST: dlpack_first,
        Facts.IMMUTABLE: immutable,
        Facts.MAY_WITHHOLD: may_withhold,
        Facts.DESCRIBES: describes,
        Facts.IS_NDARRAY: is_ndarray,
    }
    return sum(fact for fact, is_so in facts.items() if is_so)


def facts_of(x: object) -> int:
    """Return the facts of a producer: those of its class, without what its own attributes hide."""
    facts = _core.facts_of_class(type(x))
    try:
        own = object.__getattribute__(x, "__dict__")  # runs no ``__getattribute__`` of the class
    except Exception:
        return facts
    if not isinstance(own, dict):
        return facts
    if not own.keys().isdisjoint(_DLPACK):
        facts &= ~_SHORTCUTS
    return facts | Facts.DESCRIBES if _DESCRIPTION[0] in own else facts


def _is_not_overridden(cls: type, names: tuple[str, ...], by: type | None) -> bool:
    """Return whether a class defines a protocol at least as far from `object` as `by` is."""
    owner = definer(cls, *names)
    if owner is None or by is None:
        return owner is not None
    return cls.__mro__.index(owner) <= cls.__mro__.index(by)


def _intercepts_torch(cls: Any) -> bool:
    """Return whether calls of torch's methods go to a ``__torch_function__`` of a subclass.

    It may refuse ``__dlpack__``, and the C exchange table does not ask it.
    """
    if not queues.is_torch_class(cls):
        return False
    torch = sys.modules["torch"]
    disabled = torch._C._disabled_torch_function_impl
    is_own = definer(cls, "__torch_function__") is not torch.Tensor
    return is_own and cls.__torch_function__ is not disabled


# ---- DLPack producers ----------------------------------------------------------------------------


_REFUSED: Final = object()


def _ask(refusals: Refusals, question: Callable[[], Any]) -> Any:
    """Return the answer of a producer; `_REFUSED`: it raised, which is now a refusal."""
    try:
        return question()
    except NO_REFUSALS:
        raise
    except Exception as error:
        refusals.append(error)
        return _REFUSED


def _announced_device(x: Any, refusals: Refusals) -> DLDevice | None:
    """Return the result of ``__dlpack_device__``; None: it raised, which is now a refusal."""
    answer = _ask(refusals, lambda: x.__dlpack_device__())
    if answer is _REFUSED:
        return None
    device = as_dl_device(answer)
    if not all(-(1 << 31) <= number < 1 << 31 for number in device):
        raise BufferError(
            f"the {type(x).__name__} names device {device}, and the numbers of DLPack have 32 bits"
        )
    return device


def _ask_view(run: Import, device: DLDevice) -> Answer:
    """Return a view of the memory in its place; None: it was refused, or the device is unknown.

    A library without SYCL orders its work before later work on its own stream, and a producer of
    another SYCL runtime does not take our queue, so its data must be complete.
    """
    x, refusals, named = run.x, run.refusals, resolve(device)
    if run.facts & Facts.MAY_WITHHOLD and _ask(refusals, lambda: _require_not_withheld(x)):
        return None
    keywords: dict[str, Any] = {"max_version": _core.DLPACK_VERSION}
    if run.copy is False:
        keywords["copy"] = False
    producer_queue, other_runtime = None, False
    if named.native is not None:
        keywords["stream"] = _core.native_stream(named.native[0])
    elif device[0] != DeviceType.ONE_API and not (named.is_host or named.may_be_host):
        return None
    elif named.entry is not None:
        producer_queue = queues.producer_queue(x)
        if other_runtime := producer_queue is queues.OTHER_RUNTIME:
            producer_queue = None
        keywords["stream"] = None if other_runtime else producer_queue or shared_queue(device[1])
    capsule, queue = _ask_for_view_capsule(x, keywords, refusals), None
    if capsule is not _REFUSED:
        queue = None if producer_queue is None else queues.queue_from(producer_queue)
    elif isinstance(refusals[-1], TypeError):
        capsule = _ask_without_keywords(x, refusals)
    if capsule is _REFUSED:
        return None
    try:
        return _import_view(run, capsule, device, queue)
    except BufferError as error:
        # Its memory is unknown to our driver, cannot be read, or is not there; the producer may
        # still make a copy on the host.
        may_copy = other_runtime or named.may_be_host or advice_for(x)
        if not may_copy or isinstance(error, CopyRefusedError):
            raise
        refusals.append(error)
        return None


def _ask_for_view_capsule(x: Any, keywords: dict[str, Any], refusals: Refusals) -> object:
    """Ask for a view, unless the core has done so; torch once more, with its device guard."""
    is_final = any(not isinstance(error, BufferError) for error in refusals)
    if refusals and (is_final or not queues.is_torch_class(type(x))):
        return _REFUSED
    refusals.clear()
    return _ask(refusals, lambda: _ask_for_capsule(x, **keywords))


def _import_view(
    run: Import, capsule: object, device: DLDevice, queue: _core.Queue | None
) -> _core.TensorBase:
    never_copy, readonly = run.copy is False, bool(run.facts & Facts.IMMUTABLE)
    is_base = run.facts & Facts.IS_BASE and not run.dlpack_only and not readonly
    base = run.x if is_base else None
    return _core.import_capsule(run.x, capsule, device, never_copy, readonly, queue, base)


def _require_not_withheld(x: Any) -> None:
    if (reason := why_withheld(x)) is not None:
        raise BufferError(reason)


def _ask_for_capsule(x: Any, **keywords: Any) -> object:
    with queues.device_guard(x):
        return x.__dlpack__(**keywords)


def _of_described_kind(tensor: _core.TensorBase, x: Any) -> _core.TensorBase:
    """Return an array without elements as the kind of USM that its producer names.

    Its pointer may be NULL, which is of no kind.
    """
    if tensor.size or tensor.entry_id is None or sources.is_tensor(x):
        return tensor
    kind = getattr(x, "usm_type", None)
    available = _core.entry(tensor.entry_id).usm_types
    if kind == tensor.usm_type or kind not in ALLOCATED or kind not in available:
        return tensor
    return _core.of_kind(tensor, kind)


def _ask_without_keywords(x: Any, refusals: Refusals) -> object:
    """Call a producer that predates the keywords, and wait for its queue: it has no ``stream``.

    The last refusal is its exception for the keywords.
    """
    try:
        capsule = x.__dlpack__()
        queue = getattr(x, "sycl_queue", None)
        if queue is not None:
            queues.queue_from(queue).wait()
    except NO_REFUSALS:
        raise
    except (TypeError, Warning):  # a warning that is raised as an error is about this second call
        return _REFUSED
    except Exception as second:
        refusals[-1] = second
        return _REFUSED
    refusals.pop()
    return capsule


def _described(x: Any, facts: int) -> _core.TensorBase | None:
    """Return the memory that `x` describes in ``__sycl_usm_array_interface__``, if it does."""
    if not facts & Facts.DESCRIBES:
        return None
    interface = getattr(x, "__sycl_usm_array_interface__", None)
    if interface is None:
        return None
    return from_usm_interface(x, interface)


def _import_copy(run: Import, announced: DLDevice) -> _core.TensorBase:
    """Ask the producer to copy to the requested device, otherwise to the host."""
    x, placement, copy, refusals = run.x, run.placement, run.copy, run.refusals
    usm_type = run.usm_type  # a producer cannot be asked for a kind, so only for a copy on the host
    tensor, is_on_host = None, resolve(announced).is_host
    asks_for_device = usm_type is None and not is_on_host and not run.in_place
    if asks_for_device and placement is not None:
        tensor = _ask_copy(x, placement.device.__dlpack_device__(), copy, refusals)
        if tensor is not None:
            return move(tensor, placement, copy)
    if not is_on_host:
        tensor = _ask_copy(x, HOST, copy, refusals)
    if tensor is None and refusals:
        whose = f"the {type(x).__name__} on device {announced} refused"
        raise refusal_by(whose, refusals[0], advice_for(x))
    if tensor is None:
        raise CopyRefusedError(
            f"copy=False, and the {type(x).__name__} is on device {announced}, which only a copy "
            "through the host reaches; pass copy=None or copy=True"
        )
    if run.in_place:
        return _core.as_usm(tensor)
    if copy is True:
        return move(tensor, placement, True, usm_type)
    try:
        # The producer has already made the one copy that is allowed.
        return move(tensor, placement, False, usm_type)
    except CopyRefusedError as error:
        raise BufferError(
            f"from {announced}, where the {type(x).__name__} is, to the wanted device takes two "
            "copies, through the host; to allow it, pass copy=True"
        ) from error


def _no_device(x: Any, refusal: Exception) -> Exception:
    if not callable(getattr(x, "__dlpack_device__", None)):
        way = (
            "from_dlpack takes DLPack producers and capsules, and as_tensor takes buffers and "
            "__sycl_usm_array_interface__ as well"
        )
        return TypeError(
            f"an object of type {type(x).__name__} has no __dlpack_device__; "
            f"{way if _has_buffer(x) else _way_in(x)}"
        )
    return refusal_by(f"the {type(x).__name__} has no DLPack device", refusal, advice_for(x))


def _ask_copy(
    x: Any, device: DLDevice, copy: bool | None, refusals: Refusals
) -> _core.TensorBase | None:
    if copy is False:
        return None

    def question() -> _core.TensorBase:
        if facts_of(x) & Facts.MAY_WITHHOLD:
            _require_not_withheld(x)
        version = _core.DLPACK_VERSION
        capsule = _ask_for_capsule(x, max_version=version, dl_device=device, copy=copy)
        return _core.import_capsule(x, capsule, device)

    tensor = _ask(refusals, question)  # a producer that ignores dl_device counts as refusing it
    if tensor is _REFUSED:
        return None
    note(f"the producer's copy to {device}", tensor, 1)
    return tensor  # type: ignore[no-any-return]


# ---- to a device ---------------------------------------------------------------------------------


def move(
    tensor: _core.TensorBase,
    placement: Placement | None,
    copy: bool | None,
    usm_type: UsmType | None = None,
) -> _core.TensorBase:
    """Bring a tensor to a device, into a kind of USM: without a copy, with one, or not at all."""
    if tensor.entry_id is None:
        tensor = _core.as_usm(tensor, thorough=copy is False)  # not found: refused
    is_host_memory = tensor.entry_id is None
    if is_host_memory and placement is None:
        placement = place(None)
    elif placement is None and copy is None and usm_type in (None, tensor.usm_type):
        note(Route.VIEW.value, tensor, 0)
        return tensor
    target = sources.tensor_device(tensor) if placement is None else placement.device
    queue = None if placement is None else placement.queue
    plan = sources.plan_for(
        sources.facts_of(tensor), target.__dlpack_device__(), copy, ours=True, usm_type=usm_type
    ).check()
    note(plan.route.value, tensor, plan.copies)
    if plan.route is not Route.VIEW:
        kind = usm_type or kind_of_copy(tensor.usm_type, target.usm_types)
        return _core.copy_to_entry(tensor, target._entry, kind, queue=queue)
    if is_host_memory:
        return _core.adopt(tensor, target._entry, queue=queue)
    if queue is None:
        return tensor
    _core.order_after(queue, tensor)
    return _core.on_queue(tensor, queue)


# ---- to the best of several devices --------------------------------------------------------------


def _import_to_any(run: Import) -> _core.TensorBase:
    """Import to the device of a list that takes the fewest copies; the first is preferred."""
    x, copy, dlpack = run.x, run.copy, run.dlpack_only
    devices = available_devices(run.device)
    placements = [place(device) for device in devices]
    try:
        source = _core.find_memory(x, copy=False, dlpack_only=dlpack)
    except BufferError:
        if copy is False or is_capsule(x):
            raise
        source = None
    if source is None:  # no view, but the producer may copy to one of the devices
        return _import_to_first(run, devices)
    facts, where = (
        sources.facts_of(source),
        [placement.device.__dlpack_device__() for placement in placements],
    )
    plans = [
        replace(
            sources.plan_for(facts, device, copy, ours=True, usm_type=run.usm_type), device=device
        )
        for device in where
    ]
    chosen = cheapest(plans).check()
    first = next(i for i, device in enumerate(where) if device == chosen.device)
    return move(source, placements[first], copy, run.usm_type)


def _import_to_first(run: Import, devices: list[Any]) -> _core.TensorBase:
    x, copy = run.x, run.copy
    refusals: list[BufferError] = []
    try:
        for device in devices:
            try:
                if run.dlpack_only:
                    return _core.from_dlpack(x, device=device, copy=copy)
                return _core.as_tensor(x, device=device, copy=copy, usm_type=run.usm_type)
            except BufferError as error:
                refusals.append(error)
        reasons = "; and ".join(dict.fromkeys(map(message_of, refusals)))
        first = type(refusals[0])  # perhaps of another library, with other arguments
        error_type = first if first in (ExchangeError, CopyRefusedError) else BufferError
        raise error_type(f"none of the {len(devices)} devices will do: {reasons}") from refusals[0]
    finally:
        refusals.clear()  # as in `import_slowly`


# ---- arrays and buffers of the host --------------------------------------------------------------


def _from_ndarray(array: np.ndarray[Any, Any]) -> _core.TensorBase:
    """Return the memory of a NumPy array, also of dtypes that NumPy itself does not export."""
    owner, array = array, np.asarray(array)  # the attributes of a subclass are not trusted
    name = _exchanged_dtype(array.dtype)
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
    readonly = not array.flags.writeable
    return _core.borrow(pointer, name, array.shape, strides, readonly, owner)


def _exchanged_dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; BufferError if memory of that dtype is not exchanged."""
    try:
        return dtype_name(dtype, of_memory=True)
    except ValueError as error:  # of an argument; here a producer cannot export
        raise BufferError(str(error)) from None


def _from_buffer(x: Any) -> _core.TensorBase:
    try:
        view = memoryview(x)
    except TypeError:
        raise TypeError(
            f"an object of type {type(x).__name__} offers no memory: it has neither "
            f"__sycl_usm_array_interface__, __dlpack__ nor the buffer protocol; {_way_in(x)}"
        ) from None
    if isinstance(view.obj, np.generic):  # a scalar, such as a date, may offer its bytes
        _exchanged_dtype(view.obj.dtype)
    try:
        array = np.asarray(view)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        raise BufferError(
            f"the {type(x).__name__} offers a buffer of format {view.format!r}, which NumPy does "
            f"not read ({error}); pass numpy.frombuffer(x, dtype), where dtype is that of the "
            'elements, or "uint8" for its bytes'
        ) from error
    return _from_ndarray(array)


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x)
    except TypeError:
        return False
    except BufferError:  # it has one that cannot be exported now
        pass
    return True


def _way_in(x: Any) -> str:
    """Return advice for an object without memory."""
    if way_out := advice_for(x):
        return way_out.removeprefix("; ")
    if definer(type(getattr(x, "data", None)), *_DLPACK, _DESCRIPTION[0]):
        return "pass x.data, which is an array"  # of xarray, over any library
    arrays = ("__array__", "__array_interface__")  # pillow's images have only the second
    if isinstance(x, (int, float, complex)) or any(hasattr(type(x), name) for name in arrays):
        return "make an array of it with numpy.asarray(x, dtype)"
    if isinstance(x, (list, tuple)):
        with suppress(Exception):  # of unequal lengths, or of arrays on a device
            _exchanged_dtype(np.asarray(x).dtype)
            return "make an array of it with numpy.asarray(x, dtype)"
        return "make one array of its elements in their library, and pass that"
    return "pass an array, such as one of NumPy, dpnp or torch"
