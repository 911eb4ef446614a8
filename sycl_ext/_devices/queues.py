# SPDX-License-Identifier: Apache-2.0
"""Parses every form of a SYCL queue."""

import operator
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from sycl_ext import _core
from sycl_ext._negotiation.arguments import is_int
from sycl_ext._negotiation.loaded import loaded
from sycl_ext._setup.runtimes import warn_of_others

#: The value of ``stream=`` that asks for no synchronisation.
NO_SYNC: Final = -1

#: Stands for the queue of a producer that may use another SYCL runtime.
OTHER_RUNTIME: Final = object()


def address_in_dpctl(obj: object, name: str) -> int | None:
    """Return the address of the SYCL object in an instance of a class of dpctl, or None.

    The address is followed, so the class and its method are taken from dpctl, whatever class `obj`
    claims to have. Nothing is imported: without dpctl there are no instances.
    """
    cls = loaded("dpctl", name)
    if cls is None or not issubclass(type(obj), cls):
        return None
    address: int = cls.addressof_ref(obj)
    return address


def is_queue(obj: object) -> bool:
    """Whether `obj` is a ``dpctl.SyclQueue``, or what this package shows where there is none."""
    return isinstance(obj, _core.Queue) or address_in_dpctl(obj, "SyclQueue") is not None


def is_torch_class(cls: type) -> bool:
    """Whether `cls` is ``torch.Tensor`` or a subclass; torch is not imported for that."""
    tensor = loaded("torch", "Tensor")
    return isinstance(tensor, type) and issubclass(cls, tensor)


def device_guard(x: Any) -> AbstractContextManager[object]:
    """Make the device of a torch tensor the current one, because torch exports only from that one.

    This applies to CUDA, and to XPU since pytorch#195721; torch.cpu has no ``device``.
    """
    if not is_torch_class(type(x)):
        return nullcontext()
    module = getattr(sys.modules["torch"], x.device.type, None)
    guard: AbstractContextManager[object] = getattr(module, "device", nullcontext)(x.device)
    return guard


def producer_queue(x: Any) -> object:
    """Return the queue that a producer of USM works on, in a form that it takes as ``stream``.

    This is the ``sycl_queue`` of the producer. Tensors of torch have no such attribute and do
    not wait, so for them it is the address of the current stream's queue. None: the producer has no
    queue.

    `OTHER_RUNTIME`: another SYCL runtime is loaded, and the producer has no queue of our runtime.
    It might treat a queue of our runtime as one of its own, so it has to export complete data.
    """
    queue: object = (
        sys.modules["torch"].xpu.current_stream(x.device).sycl_queue
        if is_torch_class(type(x))
        else getattr(x, "sycl_queue", None)
    )
    if is_queue(queue):
        return queue
    if not _core.has_other_libsycl():
        return queue if is_torch_class(type(x)) else None
    try:
        queue_from(queue)
    except (TypeError, ValueError):
        warn_of_others()
        return OTHER_RUNTIME
    return queue


def _of_dpctl(obj: object) -> _core.Queue | None:
    if isinstance(obj, _core.Queue):
        return obj
    address = address_in_dpctl(obj, "SyclQueue")
    return None if address is None else _core.queue_at_untrusted(address)


def _of_capsule(obj: Any) -> _core.Queue | None:
    if not _core.is_capsule(obj):
        return None
    if _core.capsule_name(obj) != "SyclQueueRef":  # of a context, or read by dpctl before
        raise TypeError(f"{obj!r} is not a 'SyclQueueRef' capsule; use {_forms()}")
    return _core.queue_of_capsule(obj)


def _at_address(obj: Any) -> _core.Queue | None:
    if not is_int(obj):
        return None
    value = operator.index(obj)
    if not 0 < value < 1 << 64:
        raise ValueError(f"{value} is not the address of a sycl::queue; use {_forms()}")
    return _core.queue_at_untrusted(value)


def _of_capsule_method(obj: Any) -> _core.Queue | None:
    get_capsule = getattr(obj, "_get_capsule", None)
    if not callable(get_capsule):
        return None
    capsule = get_capsule()
    if not _core.is_capsule(capsule):
        raise TypeError(
            f"_get_capsule() of the {type(obj).__name__} returned a {type(capsule).__name__}, not "
            f"a 'SyclQueueRef' capsule; use {_forms()}"
        )
    return _of_capsule(capsule)


def _of_stream(obj: Any) -> _core.Queue | None:
    queue = getattr(obj, "sycl_queue", None)  # torch.xpu.Stream: an int; dpnp: a dpctl.SyclQueue
    return queue_from(queue) if is_queue(queue) or is_int(queue) else None


#: Each form of a queue, in words, and its reader, which returns None for an object of another form.
#: `tests/ordering/test_stream_forms.py` names what else lists them.
FORMS: Final[dict[str, Callable[[Any], _core.Queue | None]]] = {
    "a dpctl.SyclQueue": _of_dpctl,
    "a 'SyclQueueRef' capsule": _of_capsule,
    "the address of a sycl::queue as an int": _at_address,
    "an object with _get_capsule()": _of_capsule_method,
    "an object with sycl_queue": _of_stream,  # a torch.xpu.Stream
}


def _forms() -> str:
    """The forms, for errors."""
    *most, last = FORMS
    return f"{', '.join(most)}, or {last}; stream= also takes None and -1"


def queue_from(obj: Any) -> _core.Queue:
    """Return the queue that `obj` describes; ValueError if it is an address without a queue."""
    for read in FORMS.values():
        queue = read(obj)
        if queue is not None:
            return queue
    raise TypeError(f"an object of type {type(obj).__name__} is not a SYCL queue; use {_forms()}")
