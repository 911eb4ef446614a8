# SPDX-License-Identifier: Apache-2.0
"""Tells the core what it needs of the package.  Imported once, by ``__init__``."""

from __future__ import annotations

from sycl_ext import _core
from sycl_ext._debug.trace import ENABLED
from sycl_ext._devices import device
from sycl_ext._devices.queues import producer_queue
from sycl_ext._negotiation.errors import CopyRefusedError, SyclError
from sycl_ext._negotiation.producers import PRODUCERS
from sycl_ext._protocols import execute, interfaces
from sycl_ext._protocols.dtypes import numpy_dtype
from sycl_ext._protocols.fast import dtype_indices
from sycl_ext._tensor.host_view import HostView
from sycl_ext._tensor.tensor import Tensor


def connect() -> None:
    """Hand the core what it calls."""
    _core.set_hooks(
        tensor_class=Tensor,
        host_view_class=HostView,
        export_negotiated=execute.export,
        numpy_dtype=numpy_dtype,
        copy_refused_error=CopyRefusedError,
        sycl_error=SyclError,
        trace=ENABLED,
    )
    _core.set_fast_path_hooks(
        device_ids=device.ids,
        dtype_indices=dtype_indices(),
        stream_for=lambda entry_id: device.by_id(entry_id).sycl_queue,
        producer_queue=producer_queue,
        order_behind=execute.order_behind,
        settle_host=lambda tensor: execute.settle_host(tensor, None, None),
        from_ndarray=interfaces.from_ndarray,
        immutable_packages=tuple(row.package for row in PRODUCERS if row.immutable),
        import_refused=lambda x, announced, error: execute.import_refused(
            x, announced, error, interfaces.described_usm
        ),
    )
