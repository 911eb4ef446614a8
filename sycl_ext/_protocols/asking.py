# SPDX-License-Identifier: Apache-2.0
"""Asks a producer through DLPack's Python protocol for its device, a view or a copy.

A refusal is an exception that the producer raised; it is appended to `refusals`.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from sycl_ext import _core
from sycl_ext._devices import queues
from sycl_ext._devices.placement import NamedDevice, resolve
from sycl_ext._negotiation.dlpack import DeviceType, DLDevice, as_dl_device
from sycl_ext._negotiation.errors import CopyRefusedError, is_refusal
from sycl_ext._negotiation.producers import class_name, why_withheld
from sycl_ext._negotiation.ways_out import way_out_of
from sycl_ext._protocols.producer_facts import ProducerFacts, facts_of
from sycl_ext._protocols.trace import note

Refusals: TypeAlias = list[Exception]

_REFUSED: Final = object()


class RejectedError(BufferError):
    """What this package finds wrong with the memory that a producer offers.

    Such an error is among the refusals, because a copy by the producer may still do.
    """


def _ask(refusals: Refusals, question: Callable[[], Any]) -> Any:
    """Return the answer of a producer; `_REFUSED`: it raised, which is now a refusal."""
    try:
        return question()
    except Exception as error:
        if not is_refusal(error):
            raise
        refusals.append(error)
        return _REFUSED


def announced_device(x: Any, refusals: Refusals) -> DLDevice | None:
    """Return the result of ``__dlpack_device__``; None: it raised, which is now a refusal."""
    answer = _ask(refusals, lambda: x.__dlpack_device__())
    if answer is _REFUSED:
        return None
    device = as_dl_device(answer, f"__dlpack_device__() of the {class_name(x)}")
    if not all(-(1 << 31) <= number < 1 << 31 for number in device):
        raise BufferError(
            f"the {class_name(x)} names device {device}, but DLPack device numbers have 32 bits"
        )
    return device


def ask_view(
    x: Any,
    device: DLDevice,
    refusals: Refusals,
    *,
    facts: int,
    never_copy: bool,
    may_be_base: bool,
) -> _core.TensorBase | None:
    """Return a view of the memory in its place; None: it was refused, or the device is unknown."""
    named = resolve(device)
    if facts & ProducerFacts.MAY_WITHHOLD and _is_withheld(x, refusals):
        return None
    has_name = named.native is not None or named.is_host or named.may_be_host
    if device[0] != DeviceType.ONE_API and not has_name:
        return None
    stream, producer_queue = _stream_of(x, device, named)
    other_runtime = producer_queue is queues.OTHER_RUNTIME
    keywords = {"max_version": _core.DLPACK_VERSION, **stream}
    capsule, queue = _ask_for_view_capsule(x, keywords, refusals, never_copy=never_copy), None
    if capsule is not _REFUSED:
        if producer_queue is not None and not other_runtime:
            queue = queues.queue_from(producer_queue)
    else:
        capsule = _ask_for_less(refusals, lambda: _complete_capsule(x))
    if capsule is _REFUSED:
        return None
    try:
        readonly = bool(facts & ProducerFacts.IMMUTABLE)
        base = x if may_be_base and facts & ProducerFacts.IS_BASE and not readonly else None
        return _core.import_capsule(x, capsule, device, never_copy, readonly, queue, base)
    except BufferError as error:
        # Its memory is unknown to our driver, cannot be read, or is not there; the producer may
        # still make a copy on the host.
        may_copy = other_runtime or named.may_be_host or way_out_of(x)
        if not may_copy or isinstance(error, CopyRefusedError):
            raise
        refusals.append(_rejected(error))
        return None


def _rejected(error: BufferError) -> RejectedError:
    rejected = RejectedError(*error.args)
    rejected.__cause__ = error
    return rejected


def _stream_of(x: Any, device: DLDevice, named: NamedDevice) -> tuple[dict[str, Any], Any]:
    """Return ``stream=`` of a request, and the producer's own queue or `queues.OTHER_RUNTIME`.

    A library without SYCL orders its work before later work on its own stream. A producer of
    another SYCL runtime does not take our queue, so ``None`` asks it for complete data.
    """
    if named.native is not None:
        return {"stream": _core.native_stream(named.native[0])}, None
    if named.entry is None:
        return {}, None
    queue = queues.producer_queue(x)
    if queue is queues.OTHER_RUNTIME:
        return {"stream": None}, queue
    return {"stream": queue or _core.entry(device[1]).queue}, queue


def _ask_for_view_capsule(
    x: Any, keywords: dict[str, Any], refusals: Refusals, *, never_copy: bool
) -> object:
    """Ask for a view, unless the core has done so; torch once more, with its device guard.

    A producer that lacks ``copy`` is asked without it, and with the other keywords.
    """
    is_final = any(not isinstance(error, BufferError) for error in refusals)
    capsule = _REFUSED
    if not refusals or (not is_final and queues.is_torch_class(type(x))):
        refusals.clear()
        copies = {"copy": False} if never_copy else {}
        capsule = _ask(refusals, lambda: _ask_for_capsule(x, **keywords, **copies))
    if capsule is _REFUSED and never_copy:
        capsule = _ask_for_less(refusals, lambda: _ask_for_capsule(x, **keywords))
    return capsule


def _is_withheld(x: Any, refusals: Refusals) -> bool:
    return _ask(refusals, lambda: _require_not_withheld(x)) is _REFUSED


def _require_not_withheld(x: Any) -> None:
    if (reason := why_withheld(x)) is not None:
        raise RejectedError(reason)


def _ask_for_capsule(x: Any, **keywords: Any) -> object:
    with queues.device_guard(x):
        return x.__dlpack__(**keywords)


def _ask_for_less(refusals: Refusals, question: Callable[[], object]) -> object:
    """Ask a producer with fewer keywords, if its last refusal was a TypeError for a keyword."""
    if not isinstance(refusals[-1], TypeError):
        return _REFUSED
    try:
        capsule = question()
    except Warning:  # made an error by a filter: it is about this call, which lacks keywords
        return _REFUSED
    except Exception as second:
        if not is_refusal(second):
            raise
        if not isinstance(second, TypeError):
            refusals[-1] = second
        return _REFUSED
    refusals.pop()
    return capsule


def _complete_capsule(x: Any) -> object:
    """Call a producer that predates the keywords, and wait for its queue: it has no ``stream``."""
    capsule = x.__dlpack__()
    queue = getattr(x, "sycl_queue", None)
    if queue is not None:
        queues.queue_from(queue).wait()
    return capsule


def ask_copy(
    x: Any, device: DLDevice, copy: bool | None, refusals: Refusals
) -> _core.TensorBase | None:
    """Return the producer's copy on a device; None: it refused, or `copy` is False."""
    if copy is False:
        return None

    def question() -> _core.TensorBase:
        if facts_of(x) & ProducerFacts.MAY_WITHHOLD:
            _require_not_withheld(x)
        version = _core.DLPACK_VERSION
        capsule = _ask_for_capsule(x, max_version=version, dl_device=device, copy=copy)
        try:
            return _core.import_capsule(x, capsule, device)
        except BufferError as error:  # above all of a producer that ignores dl_device
            raise _rejected(error) from error

    tensor = _ask(refusals, question)
    if tensor is _REFUSED:
        return None
    note(f"the producer's copy to {device}", tensor, 1)
    return tensor  # type: ignore[no-any-return]
