# SPDX-License-Identifier: Apache-2.0
"""NumPy's tests of DLPack: arrays whose export, and a `from_dlpack` whose import, are ours."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx
from standing_in import StandIn, converted, import_tests


class Array(np.ndarray):
    """An array of NumPy that this package exports."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return host_view(self).__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return host_view(self).__dlpack__(**keywords)


def host_view(array: np.ndarray) -> sx.HostView:
    return sx.host_view(memoryview(array))


def ours(array: Any) -> Any:
    return array.view(Array) if type(array) is np.ndarray else array


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    if device not in (None, "cpu"):
        return sx.from_dlpack(x, device=device, copy=copy)
    return np.asarray(sx.host_view(x, copy=copy)).view(Array)


numpy = StandIn(
    np,
    ndarray=Array,
    from_dlpack=from_dlpack,
    **converted(ours, np, "arange", "array", "asarray", "diagonal", "empty", "zeros"),
)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path) -> Generator[None, Any, Any]:
    tests = yield
    if module_path.name == "test_dlpack.py":
        import_tests(tests, numpy)
    return tests
