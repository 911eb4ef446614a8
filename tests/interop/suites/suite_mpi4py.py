# SPDX-License-Identifier: Apache-2.0
"""mpi4py's tests of DLPack: the buffers that it sends and receives are exported by us.

The tests are only in its source distribution.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance import structs


def export(buffer: Any, version: int = 0) -> Any:
    """Be ``dlpackimpl.make_dl_managed_tensor``: a struct of mpi4py's, as we fill one."""
    import dlpackimpl

    kind = [dlpackimpl.DLManagedTensor, dlpackimpl.DLManagedTensorVersioned][version >= 1]
    capsule = sx.host_view(buffer).__dlpack__(max_version=(1, 0) if version >= 1 else None)
    own = structs.managed_in(capsule)
    managed = kind.from_buffer_copy(own)
    # The tests call it for capsules that share one struct.
    managed.deleter = dlpackimpl.dl_managed_tensor_versioned_deleter
    managed.manager_ctx = dlpackimpl.make_dl_manager_ctx(buffer)
    # A test says that there are two dimensions, and mpi4py then reads behind what we fill.
    tensor = managed.dl_tensor
    rows = [(ctypes.c_int64 * 2)(numbers[0], 1) for numbers in (tensor.shape, tensor.strides)]
    tensor.shape, tensor.strides = (ctypes.cast(row, type(tensor.shape)) for row in rows)
    managed.own = own, rows
    return managed


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path) -> Generator[None, Any, Any]:
    tests = yield
    if module_path.name == "test_msgspec.py":
        stand_in(tests.obj)
    return tests


def stand_in(tests: Any) -> None:
    """Put our exports into the buffers that the tests use."""

    class DLPackGPUBuf(tests.BaseBuf):
        """Numbers in USM."""

        def __init__(self, typecode: str, initializer: Any) -> None:
            values = np.array(list(initializer), typecode)
            self.tensor = sx.empty(values.shape, values.dtype, usm_type="shared").copy_from(values)
            self._buf = memoryview(self.tensor)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.tensor.__dlpack__(**keywords)

    class DLPackGPUBufV0(DLPackGPUBuf):
        def __dlpack__(self, stream: Any = None) -> Any:
            return self.tensor.__dlpack__(stream=stream)

    tests.dlpack.make_dl_managed_tensor = export
    tests.DLPackGPUBuf, tests.DLPackGPUBufV0 = DLPackGPUBuf, DLPackGPUBufV0
