# SPDX-License-Identifier: Apache-2.0
"""Open3D's tests of tensors: each tensor that a test makes is one over our memory.

The kinds of USM take turns; a tensor on the host is one over a host view.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Generator
from typing import Any

import pytest

import sycl_ext as sx
from standing_in import StandIn

sx.devices()  # before Open3D lists them
open3d = importlib.import_module("open3d")
core = open3d.core
KINDS = itertools.cycle(("device", "shared", "host"))
MADE = ("arange", "empty", "eye", "full", "ones", "zeros")


def ours(x: Any) -> Any:
    kind = next(KINDS)
    source = sx.host_view(x) if x.is_cpu else sx.from_dlpack(x)
    tensor = sx.empty(source.shape, source.dtype, usm_type=kind).copy_from(x)
    return core.Tensor.from_dlpack(sx.host_view(tensor) if x.is_cpu else tensor)


class Made(type):
    """Makes Open3D's own tensors, over our memory."""

    def __call__(cls, *values: Any, **named: Any) -> Any:
        return ours(core.Tensor(*values, **named))

    def __getattr__(cls, name: str) -> Any:
        attribute = getattr(core.Tensor, name)
        return (lambda *v, **n: ours(attribute(*v, **n))) if name in MADE else attribute

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, core.Tensor)


class Tensor(metaclass=Made):
    """Stands in for ``open3d.core.Tensor``."""


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule() -> Generator[None, Any, Any]:
    tests = yield
    stand_in = StandIn(core, Tensor=Tensor)
    tests.obj.o3c, tests.obj.o3d = stand_in, StandIn(open3d, core=stand_in)
    return tests
