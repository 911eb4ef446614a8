# SPDX-License-Identifier: Apache-2.0
"""The parser of every form of a SYCL queue."""

import operator
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from sycl_ext import _core
from sycl_ext._negotiation.kinds import is_capsule, is_int, loaded
from sycl_ext._setup.runtimes import warn_of_others

#: The value of ``stream=`` that asks for no synchronisation.
NO_SYNC: Final = -1

#: Stands for the queue of a producer that may use another SYCL runtime.
OTHER_RUNTIME: Final = NotImplemented

#: The forms that `queue_from` takes, for its errors.
_FORMS = (
    "a dpctl.SyclQueue, a 'SyclQueueRef' capsule, an object with _get_capsule(), the address of a "
    "sycl::queue as an int, or a torch.xpu.Stream; stream= also takes None and -1"
)


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


def is_dpctl_queue(obj: object) -> bool:
    """Whether `obj` is a ``dpctl.SyclQueue``."""
    return address_in_dpctl(obj, "SyclQueue") is not None


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

    This is the ``dpctl.SyclQueue`` of the producer. Tensors of torch have no such attribute and do
    not wait, so for them it is the address of the current stream's queue. None: the producer has no
    queue.

    `OTHER_RUNTIME`: another SYCL runtime is loaded, and the producer has no queue of our runtime.
    It might treat a queue of our runtime as one of its own, so it is asked for complete data.
    """
    queue: object = (
        sys.modules["torch"].xpu.current_stream(x.device).sycl_queue
        if is_torch_class(type(x))
        else getattr(x, "sycl_queue", None)
    )
    if is_dpctl_queue(queue):
        return queue
    if not _core.has_other_libsycl():
        return queue if is_torch_class(type(x)) else None
    try:
        queue_from(queue)
    except (TypeError, ValueError):
        warn_of_others()
        return OTHER_RUNTIME
    return queue


def queue_from(obj: Any) -> _core.Queue:
    """Return the queue that `obj` describes; ValueError if it is an address without a queue."""
    address = address_in_dpctl(obj, "SyclQueue")
    if address is not None:
        return _core.queue_at_untrusted(address)
    if is_capsule(obj):
        return _core.queue_of_capsule(obj)
    if is_int(obj):
        value = operator.index(obj)
        if not 0 < value < 1 << 64:
            raise ValueError(f"{value} is not the address of a sycl::queue; use {_FORMS}")
        return _core.queue_at_untrusted(value)
    get_capsule = getattr(obj, "_get_capsule", None)
    if callable(get_capsule):
        return _core.queue_of_capsule(get_capsule())
    inner = getattr(obj, "sycl_queue", None)  # torch.xpu.Stream: an int; dpnp: a dpctl.SyclQueue
    if is_dpctl_queue(inner) or is_int(inner):
        return queue_from(inner)
    raise TypeError(f"an object of type {type(obj).__name__} is not a SYCL queue; use {_FORMS}")
