# SPDX-License-Identifier: Apache-2.0
"""The attempts of `exchange` that the core does not make itself, and those after a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._debug.trace import LOGGED, note
from sycl_ext._exchange.attempts import Attempt, copy_entry
from sycl_ext._exchange.copies import check_no_copy
from sycl_ext._exchange.decisions import Decision, array_facts_of, takes_description
from sycl_ext._negotiation.dlpack import HOST, DLDevice
from sycl_ext._negotiation.errors import is_refusal, refusal_by
from sycl_ext._negotiation.kinds import capsule_name, is_capsule
from sycl_ext._negotiation.rules import Plan, kind_of_copy, refusal_of
from sycl_ext._negotiation.targets import Target
from sycl_ext._protocols import sources
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.tensor import Tensor, as_tensor


def carry_out(
    source: _core.TensorBase,
    decision: Decision,
    copy: bool | None,
    refusal: Exception | None,
) -> Any:
    """Make the attempts of a decision in turn, for the core.

    `refusal` is the exception of the consumer in the first attempt, if the core has made that.
    """
    who, target = decision.who, decision.target
    refused: list[Plan] = []
    refusals = [] if refusal is None else [refusal]
    begin = 0 if refusal is None else decision.first + 1
    del refusal
    try:
        if refusals and not is_refusal(refusals[0]):
            raise refusals[0]
        for attempt in _from(begin, decision):
            if attempt.plan.error is not None:
                refused.append(attempt.plan)
                continue
            if attempt.as_array and not all(map(_ran_no_code, refusals)):
                continue
            refused.clear()
            handed = _prepare(source, decision, attempt, copy)
            if target is None:
                return handed
            try:
                result = _hand_over(target, handed, who.is_library)
            except _RefusedError as refused_by_it:
                refusals.append(refused_by_it.error)
                continue
            if copy is False:
                check_no_copy(result, source, who.title)
            if LOGGED:
                note(f"{who.package}, {attempt.plan.route.value}", source, attempt.plan.copies)
            return result
        raise _final_error(source, decision, refused, refusals)
    finally:
        refusals.clear()  # as in `import_slowly`


def _from(begin: int, decision: Decision) -> Iterator[Attempt]:
    yield from decision.attempts[begin:]
    yield from decision.more()


class _RefusedError(Exception):
    """A consumer refused what it was handed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _hand_over(target: Target, handed: Any, is_library: bool) -> Any:
    """Call the consumer; raises `_RefusedError` if it refuses."""
    requests: list[object] = []
    watched = handed.tensor if isinstance(handed, NativeView) else handed
    _core.watch_requests(watched, requests)
    try:
        call = target.call
        if target.described is not None and isinstance(handed, Tensor):
            call = target.described if takes_description(target, array_facts_of(handed)) else call
        return target.finish(call(handed))
    except Exception as error:
        by_consumer = is_library or isinstance(error, BufferError) or _was_refused(requests)
        if not is_refusal(error) or not (by_consumer or _ran_no_code(error)):
            raise
        raise _RefusedError(error) from None
    finally:
        _core.unwatch_requests(watched)
        requests.clear()  # drops capsules that no consumer took


def _final_error(
    source: _core.TensorBase, decision: Decision, refused: list[Plan], refusals: list[Exception]
) -> BaseException:
    """Return the error of an exchange whose attempts were all refused."""
    who, target = decision.who, decision.target
    if refused:
        # The attempts are sorted, so the first refusal is about the best one, and says the most.
        plan = refusal_of(refused)
        error = (plan.error or BufferError)(plan.reason)
        error.__cause__ = refusals[0] if refusals else None
        return error
    if not who.is_library and all(map(_ran_no_code, refusals)):
        return refusals[0]
    known = f" (known limits: {who.reason})" if who.reason else ""
    consumer = target and (target.then or target.call)
    if isinstance(consumer, type) and who.is_listed:
        known = f"; {consumer.__name__} is a class: pass its library, {who.package}"
    return refusal_by(f"{who.title} refused {describe(source)}", refusals[0], known)


def _prepare(
    source: _core.TensorBase, decision: Decision, attempt: Attempt, copy: bool | None
) -> Any:
    """Make the object that an attempt passes to the consumer: a producer, a capsule or an array."""
    who, copies = decision.who, attempt.copies
    if attempt.device == HOST:
        seen = _core.copy_to_host(source) if copies else source
        handed: _core.TensorBase = _core.as_host_view(seen, source=None if copies else source)
    elif attempt.device is not None:
        asked = True if copies else False if copy is False else None
        kind = attempt.usm_type
        handed = as_tensor(source, device=attempt.device, copy=asked, usm_type=kind)
    elif attempt.native is not None:
        entry = copy_entry(source.entry_id, who)
        made = sources.copy_to(source, entry) if copies else as_tensor(source)
        return NativeView(made, attempt.native)
    elif (
        copies and (copy is True or source.usm_type == "system" or who.root_only)
    ) or attempt.compact:
        handed = sources.copy_to(source, copy_entry(source.entry_id, who))
    else:  # its export makes the copy if requested: `dpnp.asarray` reads the description
        handed = as_tensor(source)
    if decision.target is None:
        return handed
    if who.drops_stream and attempt.device != HOST:
        _core.synchronize(handed)
    if attempt.as_array or who.takes == "NumPy array":
        return np.asarray(handed)
    if who.takes == "legacy capsule":
        return handed.__dlpack__()
    if handed.size == 0 and not who.null_data and handed.entry_id is not None:
        return _EmptyProducer(handed, copy_entry(handed.entry_id, who))
    return handed


def _ran_no_code(error: Exception) -> bool:
    """Whether a function of C refused its argument's type, so that no Python code has run."""
    frames, trace = 0, error.__traceback__
    while trace is not None:
        frames, trace = frames + 1, trace.tb_next
    return isinstance(error, TypeError) and frames <= _FRAMES_OF_OURS


_FRAMES_OF_OURS = 1  # `_hand_over`


def _was_refused(requests: list[object]) -> bool:
    """Whether the memory was requested and not taken: who takes a struct renames its capsule."""
    return bool(requests) and not any(map(_was_taken, requests))


def _was_taken(request: object) -> bool:
    is_renamed = is_capsule(request) and not capsule_name(request).startswith("dltensor")
    return request is True or is_renamed


class NativeView:
    """A producer of memory of CUDA or HIP, under their device types, for libraries without SYCL."""

    def __init__(self, tensor: _core.TensorBase, device: DLDevice) -> None:
        self.tensor, self.device = tensor, device

    def __dlpack_device__(self) -> DLDevice:
        _core.note_request(self.tensor)
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
        anchor = _core.allocate(entry, usm_type, tensor.dtype_name, (1,), "C")
        readonly = tensor.readonly and not moves
        self._view: Tensor = _core.view(anchor, 0, tensor.shape, tensor.strides, readonly)

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return self._view.__sycl_usm_array_interface__

    def __dlpack_device__(self) -> DLDevice:
        return self._view.__dlpack_device__()

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> object:
        device = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        return _core.make_capsule(self._view, versioned=versioned, device=device, null_data=False)
