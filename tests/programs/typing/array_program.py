# SPDX-License-Identifier: Apache-2.0
"""A program with dtypes of PyTorch, scalars of NumPy and arrays that compute, for type checkers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import assert_type

import sycl_ext as sx


def elements() -> sx.Tensor:
    assert sx.zeros((2, 3), dtype=torch.int64).dtype == np.int64
    assert sx.ones(3, torch.bool).dtype == np.bool_
    assert sx.full(3, np.float32(1.5)).dtype == np.float32
    assert sx.full(3, np.int64(1), dtype=torch.float64).dtype == np.float64
    made = sx.empty(3, torch.float32, usm_type="shared")
    made.fill(np.float32(2))
    return made


def compute(x: sx.Tensor) -> float:
    array = sx.exchange(x, np)
    assert_type(array, NDArray[Any])
    assert_type(sx.exchange(x, "numpy"), NDArray[Any])
    assert_type(sx.exchange(x, torch), torch.Tensor)
    array += 1
    return float(array.sum())


if __name__ == "__main__":
    print(compute(elements()))
