# SPDX-License-Identifier: Apache-2.0
"""Tells the core what it needs of the package.  Imported once, by ``__init__``."""

from __future__ import annotations

from sycl_ext import _core, _devices, _execute, _interfaces
from sycl_ext._dtypes import numpy_dtype
from sycl_ext._fast import dtype_indices
from sycl_ext._host import HostView
from sycl_ext._protocols import CopyRefusedError, SyclError
from sycl_ext._queues import producer_queue
from sycl_ext._tensor import Tensor
from sycl_ext._trace import ENABLED

_core.set_hooks(
    tensor_class=Tensor,
    host_view_class=HostView,
    export_negotiated=_execute.export,
    numpy_dtype=numpy_dtype,
    copy_refused_error=CopyRefusedError,
    sycl_error=SyclError,
    trace=ENABLED,
)
_core.set_fast_path_hooks(
    device_ids=_devices.ids,
    dtype_indices=dtype_indices(),
    stream_for=lambda row_id: _devices.by_id(row_id).sycl_queue,
    producer_queue=producer_queue,
    order_behind=_execute.order_behind,
    settle_host=lambda tensor: _execute.settle_host(tensor, None, None),
    from_ndarray=_interfaces.from_ndarray,
    import_refused=lambda x, announced, error: _execute.import_refused(
        x, announced, error, _interfaces.described_usm
    ),
)
