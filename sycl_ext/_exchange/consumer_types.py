# SPDX-License-Identifier: Apache-2.0
"""The types of a consumer in the signature of `exchange`, for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sycl_ext._devices.device import Device

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Library(Protocol[Result_co]):
    """A module of arrays; `exchange` returns the result of its ``from_dlpack``."""

    @property
    def from_dlpack(self) -> Callable[..., Result_co]: ...


class TensorModule(Protocol[Result_co]):
    """A module known by its class of tensors.

    Torch does not declare its ``from_dlpack`` as public.
    """

    @property
    def Tensor(self) -> type[Result_co]: ...  # noqa: N802 (the name of the class)


class NumPyModule(Protocol):
    """The module ``numpy``, known by its class of arrays.

    The result of its ``from_dlpack`` is declared as an array of numbers or booleans, which supports
    no arithmetic.
    """

    @property
    def from_dlpack(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def ndarray(self) -> type[np.ndarray[Any, Any]]: ...


#: The host as DLPack names it, ``(kDLCPU, 0)``.
TheHost: TypeAlias = tuple[Literal[1], Literal[0]]
ADevice: TypeAlias = Device | int | tuple[int, int] | Literal["cpu", "gpu", "xpu"]
