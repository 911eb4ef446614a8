# SPDX-License-Identifier: Apache-2.0
"""Connects the core to the package, once: `startup.load_core` calls `connect`."""

import atexit

from sycl_ext import _core
from sycl_ext._devices import device, memory_use
from sycl_ext._negotiation import rules
from sycl_ext._negotiation.errors import CopyRefusedError, SyclError, is_refusal
from sycl_ext._protocols import exports, imports, moving, producer_facts
from sycl_ext._protocols.dtypes import dtype_indices, numpy_dtype
from sycl_ext._protocols.trace import LOGGED
from sycl_ext._setup import runtimes
from sycl_ext._tensor import async_copy, creation, host_view, tensor


def connect() -> None:
    """Pass the core the functions that it calls, and warn of known problems in this process."""
    # The fields of ``Hooks`` in ``src/python/hooks.hpp``.
    fields = {
        "tensor_class": tensor.Tensor,
        "host_view_class": host_view.HostView,
        "device_class": device.Device,
        "device_ids": device.ids,
        "dtype_indices": dtype_indices(),
        "usm_kinds": {kind: number for number, kind in enumerate(_core.ALLOCATED_KINDS)},
        "numpy_dtype": numpy_dtype,
        "make_room": memory_use.make_room,
        "facts_of_class": producer_facts.facts_of_class,
        "queue_of_dpctl": device.queue_of_dpctl,
        "continue_import": imports.continue_import,
        "continue_export": exports.export,
        "continue_host_view": host_view.make_host_view,
        "continue_to_numpy": async_copy.to_numpy,
        "continue_new_tensor": creation.new_tensor,
        "continue_to_device": moving.to_device,
        "is_refusal": is_refusal,
        "copy_refused_error": CopyRefusedError,
        "sycl_error": SyclError,
    }
    _core.set_hooks(
        fields,
        rules={
            name: tuple(route.name for route in rules.RULES[rules.Relation[name]])
            for name in _core.RELATIONS
        },
        trace=LOGGED,
    )
    atexit.register(_core.begin_end)
    runtimes.warn_of_others()
    runtimes.prepare_for_no_device()
