# SPDX-License-Identifier: Apache-2.0
"""The tests of DLPack of dpnp.tensor: its arrays, with our exports and imports."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from types import FunctionType
from typing import Any

import dpctl
import dpnp
import numpy as np
import pytest
from dpnp import tensor as dpt

import sycl_ext as sx
from dlpack_conformance import structs
from standing_in import StandIn, import_tests

HOST = (1, 0)


class Array:
    """An array of dpnp.tensor that this package exports; a class in C cannot be changed."""

    __hash__ = None

    def __init__(self, x: Any) -> None:
        self.x = x

    def __getattr__(self, name: str) -> Any:
        return ours(getattr(self.x, name))

    def __getitem__(self, key: Any) -> Any:
        return ours(self.x[key])

    def __eq__(self, other: object) -> Any:
        return ours(self.x == theirs(other))

    def __bool__(self) -> bool:
        return bool(self.x)

    def __dlpack_device__(self) -> tuple[int, int]:
        return sx.as_tensor(self.x).__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return sx.as_tensor(self.x).__dlpack__(**keywords)


class Taken(Array):
    """A tensor that this package took, with the names of dpnp.tensor.

    Not an array of dpnp: its own import refuses some layouts.
    """

    @property
    def _pointer(self) -> int:
        return self.x.ptr

    @property
    def sycl_device(self) -> dpctl.SyclDevice:
        return self.x.sycl_queue.sycl_device

    @property
    def device(self) -> dpt.Device:
        return dpt.Device.create_device(self.x.sycl_queue)

    @property
    def flags(self) -> Flags:
        return Flags(not self.x.readonly)

    def __getitem__(self, key: Any) -> Taken:
        return Taken(self.x[key])


class Flags:
    def __init__(self, writable: bool) -> None:
        self.writable = writable

    def __getitem__(self, name: str) -> bool:
        return {"W": self.writable}[name]


def ours(found: Any) -> Any:
    return Array(found) if type(found) is dpt.usm_ndarray else found


def theirs(given: Any) -> Any:
    if type(given) is Taken:
        return sx.exchange(given.x, dpt)
    return given.x if type(given) is Array else given


def with_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of dpnp.tensor, for such arrays."""

    def call(*values: Any, **named: Any) -> Any:
        return ours(function(*map(theirs, values), **{k: theirs(v) for k, v in named.items()}))

    return call


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """As dpnp's function: host memory stays there unless a device is named."""
    if device == HOST or (device is None and on_host(x)):
        return np.asarray(sx.host_view(x, copy=copy))
    if isinstance(device, dpt.Device):
        device = device.sycl_queue
    return Taken(sx.from_dlpack(x, device=device, copy=copy))


def on_host(x: Any) -> bool:
    announce = getattr(x, "__dlpack_device__", None)
    return announce is not None and announce()[0] == HOST[0]


def from_dlpack_capsule(capsule: Any) -> Any:
    used = structs.capsule_name(capsule).startswith("used_")
    if not used and structs.managed_in(capsule).dl_tensor.device.device_type == HOST[0]:
        return np.asarray(sx.host_view(capsule))
    return Taken(sx.from_dlpack(capsule))


dlpack = StandIn(
    dpt._dlpack,
    from_dlpack_capsule=from_dlpack_capsule,
    to_dlpack_capsule=lambda x: x.__dlpack__(),
    numpy_to_dlpack_versioned_capsule=lambda x, _: sx.host_view(x).__dlpack__(max_version=(1, 0)),
    get_build_dlpack_version=lambda: sx.dlpack.VERSION,
)
functions = {
    name: with_ours(found) for name, found in vars(dpt).items() if isinstance(found, FunctionType)
}
tensor = StandIn(
    dpt, **{**functions, "_dlpack": dlpack, "from_dlpack": from_dlpack, "usm_ndarray": Array}
)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path) -> Generator[None, Any, Any]:
    tests = yield
    if module_path.name == "test_usm_ndarray_dlpack.py":
        import_tests(tests, StandIn(dpnp, tensor=tensor), tensor, dlpack)
    return tests
