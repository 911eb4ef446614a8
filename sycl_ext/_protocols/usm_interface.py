# SPDX-License-Identifier: Apache-2.0
"""Import and export with ``__sycl_usm_array_interface__``.

https://intelpython.github.io/dpctl/latest/api_reference/dpctl/sycl_usm_array_interface.html
"""

import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._devices.companion import SyclDevice
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import place
from sycl_ext._devices.queues import address_in_dpctl, is_queue, queue_from
from sycl_ext._negotiation.producers import definer, has_trait
from sycl_ext._protocols.dtypes import TYPESTRS, name_from_typestr
from sycl_ext._protocols.tensors import compact_strides


def usm_interface_of(tensor: Any) -> dict[str, Any]:
    """Describe a `Tensor` in version 1 of the protocol.

    The consumer's work on the queue comes after all work on the tensor: an in-order queue is
    ordered after it, and for an out-of-order queue this function waits.
    """
    own = _core.own_queue(tensor)
    if own is not None:
        _core.order_after(own, tensor)
    else:
        _core.synchronize(tensor)
    queue = tensor.sycl_queue  # after the wait: the queue is shared from now on
    return _description(tensor, tensor.ptr, queue)


def lent(tensor: Any) -> SimpleNamespace:
    """Describe a `Tensor` without a queue of its own to a consumer that keeps the returned object.

    A consumer of a tensor's own description may use the memory for ever, because nothing says when
    it stops. The end of this object says so, as the deleter of a DLPack export does.
    """
    _core.synchronize(tensor)
    address, loan = _core.lend(tensor)
    description = _description(tensor, address, tensor.device.sycl_queue)
    return SimpleNamespace(__sycl_usm_array_interface__=description, loan=loan)


def _description(tensor: Any, address: int, queue: Any) -> dict[str, Any]:
    return {
        "data": (address, tensor.readonly),
        "shape": tensor.shape,
        "strides": None if tensor.c_contiguous else tensor.strides,
        "typestr": TYPESTRS[tensor.dtype_name],
        "offset": 0,
        "version": 1,
        "syclobj": queue,
    }


def from_usm_interface(obj: Any, interface: Any) -> _core.TensorBase:
    """Return the memory that a description names, checked against the runtime."""
    who = f"__sycl_usm_array_interface__ of the {type(obj).__name__}"
    try:
        return _read_interface(obj, dict(interface))
    except BufferError as error:
        raise type(error)(f"{who}: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise BufferError(f"{who} is invalid: {type(error).__name__}: {error}") from error


def _read_interface(obj: Any, fields: dict[str, Any]) -> _core.TensorBase:
    if fields.get("version", 1) != 1:
        raise BufferError(f"version is {fields['version']!r}; it must be 1")
    name = name_from_typestr(fields["typestr"])
    pointer, flag = fields["data"]
    shape = [operator.index(length) for length in fields["shape"]]
    strides = fields.get("strides")
    if strides is None:
        strides = compact_strides(shape, range(len(shape)))
    strides = [operator.index(stride) for stride in strides]
    itemsize = np.dtype(name).itemsize
    pointer = operator.index(pointer) + operator.index(fields.get("offset", 0)) * itemsize
    if not 0 <= pointer < 1 << 64:
        raise BufferError(f"data and offset add up to {pointer}, which is not an address")
    device, queue = _read_syclobj(fields["syclobj"], pointer)
    described_by = definer(type(obj), "__sycl_usm_array_interface__") or type(obj)
    readonly = bool(flag) != has_trait(described_by, "inverted_readonly")
    return _core.borrow(pointer, name, shape, strides, readonly, obj, device._entry, queue)


def _read_syclobj(syclobj: Any, pointer: int) -> tuple[Device, _core.Queue | None]:
    """Read the forms of ``syclobj``: queue, context, their capsules, filter string, device."""
    is_device = isinstance(syclobj, SyclDevice) or address_in_dpctl(syclobj, "SyclDevice")
    if isinstance(syclobj, str) or is_device:
        return place(syclobj).device, None
    if not is_queue(syclobj) and callable(getattr(syclobj, "_get_capsule", None)):
        syclobj = syclobj._get_capsule()
    if _core.is_capsule(syclobj) and _core.capsule_name(syclobj) == "SyclContextRef":
        context = _core.context_in_capsule(syclobj)
        return by_id(_core.entry_in_context(pointer, context).id), None
    queue = queue_from(syclobj)
    return by_id(_core.entry_of_queue(queue).id), queue
