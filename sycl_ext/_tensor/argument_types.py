# SPDX-License-Identifier: Apache-2.0
"""The types of a dtype and of a number in signatures, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike


class TorchDType(Protocol):
    """A ``torch.dtype``, by attributes that a NumPy dtype does not have."""

    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...


#: What `empty` and the like take for a dtype.
DType: TypeAlias = DTypeLike | TorchDType
#: What `full` and `Tensor.fill` take for an element.
Number: TypeAlias = complex | np.number[Any] | np.bool_
