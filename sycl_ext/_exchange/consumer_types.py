# SPDX-License-Identifier: Apache-2.0
"""The types of a consumer in the signature of `exchange`, for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, TypeVar

from sycl_ext._devices.device import Device

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Library(Protocol[Result_co]):
    """A module of arrays; `exchange` returns the result of its ``from_dlpack``."""

    @property
    def from_dlpack(self) -> Callable[..., Result_co]: ...


ADevice: TypeAlias = Device | int | tuple[int, int] | Literal["cpu", "gpu", "xpu"]
