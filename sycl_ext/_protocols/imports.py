# SPDX-License-Identifier: Apache-2.0
"""Imports everything except plain views: tries the protocols in order, one step each.

The views that the core makes without Python are in ``src/python/imports.cpp``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.placement import Placement, place, resolve
from sycl_ext._negotiation.dlpack import HOST, DLDevice
from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, refusal_by
from sycl_ext._negotiation.producers import class_name
from sycl_ext._negotiation.usm_types import ALLOCATED, UsmType, check_usm_type
from sycl_ext._negotiation.ways_out import way_out_of
from sycl_ext._protocols.asking import Refusals, RejectedError, announced_device, ask_copy, ask_view
from sycl_ext._protocols.host_arrays import from_buffer, from_ndarray, has_buffer, way_in
from sycl_ext._protocols.moving import move
from sycl_ext._protocols.producer_facts import ProducerFacts, facts_of
from sycl_ext._protocols.several_devices import import_to_any
from sycl_ext._protocols.tensors import is_tensor, strong
from sycl_ext._protocols.usm_interface import from_usm_interface


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
    if run.facts & ProducerFacts.IS_TENSOR:
        as_it_is = run.in_place or x.entry_id is None
        return run.place(x if as_it_is else _core.as_usm(x))
    if _core.is_capsule(x):
        tensor, copied = _core.consume_capsule(x)
        return run.place(tensor, copied=copied)
    return None


def read_description_first(run: Import) -> Answer:
    """Read `__sycl_usm_array_interface__`, which names the queue and the sub-device as well.

    Of dpnp's arrays it is read later, because dpnp waits in it.
    """
    if run.dlpack_only or run.facts & ProducerFacts.DLPACK_FIRST:
        return None
    tensor = _described(run.x, run.facts)
    return None if tensor is None else run.place(tensor)


def read_numpy_subclass(run: Import) -> Answer:
    """Read an array of a subclass of NumPy's that has NumPy's `__dlpack__`.

    As a capsule of NumPy's, an array that is part of a cycle would never be freed: the garbage
    collector does not see the reference that the capsule has to the array.
    """
    if not run.facts & ProducerFacts.IS_NDARRAY or type(run.x) is np.ndarray:
        return None
    return run.place(from_ndarray(run.x))


def use_table(run: Import) -> Answer:
    """Use the C exchange table.

    Unlike `__dlpack__`, it has no `copy=False`, so a copy that it made is dropped.
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
    return run.place(from_buffer(run.x))


def ask_for_view(run: Import) -> Answer:
    """Ask for a view by DLPack, without keywords if the producer accepts none.

    dpnp reports all 0-dimensional arrays as read-only by DLPack. Its flags are right, and so is its
    description, which the next step reads.
    """
    if run.view is None:
        run.announced = announced_device(run.x, run.refusals)
        if run.announced is None:
            return None
        run.view = ask_view(
            run.x,
            run.announced,
            run.refusals,
            facts=run.facts,
            never_copy=run.copy is False,
            may_be_base=not run.dlpack_only,
        )
    view = run.view
    if view is None or not (view.readonly and view.ndim == 0):
        return None if view is None else run.place(view)
    if run.facts & ProducerFacts.DLPACK_FIRST:
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
    if run.announced is None or not run.facts & ProducerFacts.IS_NDARRAY:
        return None
    return run.place(from_ndarray(run.x))


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


def continue_import(*question: Any) -> _core.TensorBase:
    """Make all imports but plain views, by the first step that has an answer.

    `question` has the first fields of `Import`. The list of refusals is emptied at the end: an
    exception refers to the frames that it went through, and they refer to the frames that called
    them. If one of these frames still held the exception, that would be a cycle, and the refused
    array would stay until the garbage collector runs.
    """
    run = Import(*question)
    check_usm_type(run.usm_type)
    if isinstance(run.device, list):
        return import_to_any(
            run.x,
            run.device,
            copy=run.copy,
            usm_type=run.usm_type,
            dlpack_only=run.dlpack_only,
        )
    refusals = run.refusals
    try:
        if run.device is not None:
            run.placement = place(run.device)
        run.x = strong(run.x)
        run.facts = facts_of(run.x)
        for step in DLPACK_STEPS if run.view is not None or refusals else STEPS:
            tensor = step(run)
            if tensor is not None:
                return tensor
        raise AssertionError("the last step returns a tensor or raises")
    finally:
        refusals.clear()


def _of_described_kind(tensor: _core.TensorBase, x: Any) -> _core.TensorBase:
    """Return an array without elements as the kind of USM that its producer names.

    Its pointer may be NULL, which is of no kind.
    """
    if tensor.size or tensor.entry_id is None or is_tensor(x):
        return tensor
    kind = getattr(x, "usm_type", None)
    available = _core.entry(tensor.entry_id).usm_types
    if kind == tensor.usm_type or kind not in ALLOCATED or kind not in available:
        return tensor
    return _core.of_kind(tensor, kind)


def _described(x: Any, facts: int) -> _core.TensorBase | None:
    """Return the memory that `x` describes in ``__sycl_usm_array_interface__``, if it does."""
    if not facts & ProducerFacts.DESCRIBES:
        return None
    interface = getattr(x, "__sycl_usm_array_interface__", None)
    if interface is None:
        return None
    return from_usm_interface(x, interface)


def _import_copy(run: Import, announced: DLDevice) -> _core.TensorBase:
    """Ask the producer to copy to the requested device, otherwise to the host."""
    x, placement, copy, refusals = run.x, run.placement, run.copy, run.refusals
    usm_type = run.usm_type  # DLPack cannot request a kind, so only for a copy on the host
    tensor, is_on_host = None, resolve(announced).is_host
    asks_for_device = usm_type is None and not is_on_host and not run.in_place
    if asks_for_device and placement is not None:
        tensor = ask_copy(x, placement.device.__dlpack_device__(), copy, refusals)
        if tensor is not None:
            return move(tensor, placement, copy)
    if not is_on_host:
        tensor = ask_copy(x, HOST, copy, refusals)
    if tensor is None and refusals:
        raise _final_refusal(x, announced, refusals)
    if tensor is None:
        raise CopyRefusedError(
            f"copy=False, but a copy through the host is required: the {class_name(x)} is on "
            f"device {announced}, which is not a SYCL device; pass copy=None"
        )
    if run.in_place:
        return _core.as_usm(tensor)
    if copy is True:
        return move(tensor, placement, copy=True, usm_type=usm_type)
    try:
        # The producer has already made the one copy that is allowed.
        return move(tensor, placement, copy=False, usm_type=usm_type)
    except CopyRefusedError as error:
        raise BufferError(
            f"importing the {class_name(x)} from device {announced} to the requested device "
            "requires two copies, through the host; to allow them, pass copy=True"
        ) from error


def _final_refusal(x: Any, announced: DLDevice, refusals: Refusals) -> ExchangeError:
    whose, advice = f"the {class_name(x)} on device {announced}", way_out_of(x)
    if not isinstance(refusals[0], RejectedError):
        return refusal_by(f"{whose} refused", refusals[0], advice)
    error = ExchangeError(f"cannot import {whose}: {refusals[0]}{advice}")
    error.__cause__ = refusals[0]
    return error


def _no_device(x: Any, refusal: Exception) -> Exception:
    if not callable(getattr(x, "__dlpack_device__", None)):
        way = (
            "from_dlpack accepts DLPack producers and capsules; as_tensor also accepts buffers and "
            "__sycl_usm_array_interface__"
        )
        return TypeError(
            f"an object of type {type(x).__name__} has no __dlpack_device__; "
            f"{way if has_buffer(x) else way_in(x)}"
        )
    return refusal_by(f"the {class_name(x)} has no DLPack device", refusal, way_out_of(x))
