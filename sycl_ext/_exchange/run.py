# SPDX-License-Identifier: Apache-2.0
"""Makes the attempts of `exchange` in turn. Cached views do not get here: the core returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.placement import Placement
from sycl_ext._exchange.attempts import Attempt, Form, copy_entry, form_of
from sycl_ext._exchange.decisions import Decision, call_for
from sycl_ext._negotiation.consumer_row import Consumer
from sycl_ext._negotiation.dlpack import HOST, DLDevice
from sycl_ext._negotiation.errors import is_refusal, refusal_by
from sycl_ext._negotiation.rules import Plan, kind_of_copy, refusal_of
from sycl_ext._negotiation.targets import Target
from sycl_ext._protocols.moving import move
from sycl_ext._protocols.plans import copy_to
from sycl_ext._protocols.trace import LOGGED, note
from sycl_ext._tensor.creation import as_tensor
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.tensor import Tensor


def run_attempts(
    source: _core.TensorBase,
    decision: Decision,
    copy: bool | None,
    refusal: Exception | None,
) -> Any:
    """Make the attempts of a decision in turn.

    `refusal` is the exception of the library in the first attempt, if the core has made that.
    """
    target, row = decision.target, decision.row
    refused: list[Plan] = []
    refusals = [] if refusal is None else [refusal]
    begin = 0 if refusal is None else decision.first + 1
    del refusal
    try:
        for attempt in _from(begin, decision):
            if attempt.plan.error is not None:
                refused.append(attempt.plan)
                continue
            refused.clear()
            tensor = _make_tensor(source, row, attempt, copy)
            handed = tensor if row is None else _as_taken(tensor, row, attempt)
            if target.call is None:
                return handed
            if not target.imports:
                _log(target, attempt.plan, source)
                return _call(target, target.call, handed)
            try:
                array = _importing_call(target, handed)(handed)
            except Exception as error:
                if not is_refusal(error):
                    raise
                refusals.append(error)
                continue
            _log(target, attempt.plan, source)
            if copy is False:
                _core.require_same_memory(array, tensor)
            return array if target.then is None else target.then(array)
        raise _final_error(source, target, refused, refusals)
    finally:
        refusals.clear()  # as in `continue_import`


def _from(begin: int, decision: Decision) -> Iterator[Attempt]:
    yield from decision.attempts[begin:]
    yield from decision.more()


def _log(target: Target, plan: Plan, source: _core.TensorBase) -> None:
    if LOGGED:
        note(f"{target.title}, {plan.route.value}", source, plan.copies)


def _call(target: Target, function: Callable[[Any], Any], handed: Any) -> Any:
    """Call a function that does not only import: its result and its exception are its own."""
    try:
        return function(handed)
    except Exception as error:
        is_unknown = target.row is None and is_refusal(error)
        if is_unknown and not getattr(error, "__notes__", ()):
            add_note = getattr(error, "add_note", None)  # Python 3.11
            if add_note is not None:
                add_note(
                    f"exchange called it with a {type(handed).__name__}; "
                    "function(sycl_ext.exchange(x, numpy)) calls it with a NumPy array"
                )
        raise


def _importing_call(target: Target, handed: Any) -> Callable[[Any], Any]:
    is_tensor = isinstance(handed, _core.TensorBase)
    call = call_for(target, _core.array_facts(handed)) if is_tensor else target.call
    assert call is not None
    return call


def _final_error(
    source: _core.TensorBase, target: Target, refused: list[Plan], refusals: list[Exception]
) -> BaseException:
    """Return the error of an exchange whose attempts were all refused."""
    if refused:
        # The attempts are sorted, so the first refusal is about the best one, and says the most.
        plan = refusal_of(refused)
        error = (plan.error or BufferError)(plan.reason)
        error.__cause__ = refusals[0] if refusals else None
        return error
    row = target.row
    known = f" (known limits: {row.reason})" if row is not None and row.reason else ""
    return refusal_by(f"{target.title} refused {describe(source)}", refusals[0], known)


def _make_tensor(
    source: _core.TensorBase, row: Consumer | None, attempt: Attempt, copy: bool | None
) -> _core.TensorBase:
    """Make the tensor or the host view of an attempt."""
    where = attempt.device
    if where == HOST:
        seen = _core.copy_to_host(source) if attempt.copies else source
        return _core.as_host_view(seen, source=None if attempt.copies else source)
    if isinstance(where, Placement):
        asked = True if attempt.copies else False if copy is False else None
        return move(_core.as_usm(source), where, asked, attempt.usm_type)
    if row is None:
        raise AssertionError("only explain plans for an unaware consumer")
    # Otherwise the export makes the copy if it is requested: `dpnp.asarray` reads the description.
    must_be_a_copy = copy is True or source.usm_type == "system" or row.root_only
    if attempt.compact or (attempt.copies and (must_be_a_copy or attempt.native is not None)):
        return copy_to(source, copy_entry(source.entry_id, row))
    return as_tensor(source)


def _as_taken(tensor: _core.TensorBase, row: Consumer, attempt: Attempt) -> Any:
    """Return a tensor in the form that a library takes."""
    form = form_of(attempt, row, empty=tensor.size == 0)
    if row.drops_stream and attempt.device != HOST and form is not Form.NATIVE_VIEW:
        _core.synchronize(tensor)
    match form:
        case Form.ITSELF:
            return tensor
        case Form.NATIVE_VIEW:
            assert attempt.native is not None
            return NativeView(tensor, attempt.native)
        case Form.NUMPY_ARRAY:
            return np.asarray(tensor)
        case Form.LEGACY_CAPSULE:
            return tensor.__dlpack__()
        case Form.WITH_ADDRESS:
            return _EmptyProducer(tensor, copy_entry(tensor.entry_id, row))


class NativeView:
    """A producer of memory of CUDA or HIP, under their device types, for libraries without SYCL."""

    def __init__(self, tensor: _core.TensorBase, device: DLDevice) -> None:
        self.tensor, self.device = tensor, device

    def __dlpack_device__(self) -> DLDevice:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: DLDevice | None = None,
        copy: bool | None = None,
    ) -> object:
        where = self.device if dl_device is None else dl_device
        return self.tensor.__dlpack__(
            stream=stream, max_version=max_version, dl_device=where, copy=copy
        )


class _EmptyProducer:
    """A producer of an array without elements that still has an address.

    The address belongs to the entry in which the consumer looks it up.
    """

    def __init__(self, tensor: _core.TensorBase, entry: _core.Entry) -> None:
        moves = tensor.entry_id != entry.id
        usm_type = kind_of_copy(tensor.usm_type, entry.usm_types, moves=moves)
        anchor = cast("Tensor", _core.allocate(entry, usm_type, tensor.dtype_name, (1,), "C"))
        readonly = tensor.readonly and not moves
        self._view = _core.view(anchor, 0, tensor.shape, tensor.strides, readonly)

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return self._view.__sycl_usm_array_interface__

    def __dlpack_device__(self) -> DLDevice:
        return self._view.__dlpack_device__()

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        device = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        return _core.make_capsule(self._view, versioned=versioned, device=device, null_data=False)
