# SPDX-License-Identifier: Apache-2.0
"""The second part of worker.py: arrays of each dtype and layout.

"bare" is the case from which the table in ``sycl_ext/_negotiation/consumers.py`` protects: the
array as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import sycl_ext as sx
from consumers import Consumer
from dlpack_conformance import structs
from sycl_ext import _core
from sycl_ext._negotiation.targets import read_consumer

DTYPES = tuple(structs.DTYPES)
SHAPE = (4, 6)
LAYOUTS: dict[str, Callable[[sx.Tensor], sx.Tensor]] = {
    "C": lambda t: t,
    "F": lambda t: t.T,
    "rows": lambda t: t[1:3],
    "sliced": lambda t: t[1::2, ::3],
    "broadcast": lambda t: _core.view(t, 0, (3, 6), (0, 1)),
    "reversed": lambda t: t[::-1],
    "reversed columns": lambda t: t[:, ::-1],
    "0-d": lambda t: t[1, 2],
    "one element": lambda t: t[1:2, 2:3],
    "empty": lambda t: t[2:2],
    "shifted": lambda t: t.reshape(-1)[1:],
}
FORMS = ("bare", "exchange")
CASES = [(form, "dtype", name) for form in FORMS for name in DTYPES]
CASES += [(form, "layout", name) for form in FORMS for name in LAYOUTS]
#: The consumers that the table is about.
NAMES = (
    "numpy",
    "numpy 1.26",
    "array_api_strict",
    "array_api_compat.torch",
    "torch",
    "jax",
    "tensorflow",
    "onnxruntime",
    "pyarrow",
    "mlx",
    "onedal",
    "tvm_ffi",
    "dpnp",
)
#: Those that take NumPy arrays or buffers: they need no row in the table.
OF_NUMPY = (
    "openvino",
    "pyarrow.Array",
    "polars",
    "polars, Arrow's capsule",
    "numba",
    "scikit-learn",
    "xgboost",
)


def cases_of(name: str) -> list[tuple]:
    if name in OF_NUMPY:
        return [("exchange", "layout", layout) for layout in LAYOUTS]
    return CASES if name in NAMES else []


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def array_of(kind: str, name: str) -> sx.Tensor:
    dtype = numpy_dtype(name if kind == "dtype" else "float32")
    base = sx.empty(SHAPE, dtype.name, usm_type="shared", device="opencl:cpu")
    base.copy_from(np.arange(24).reshape(SHAPE).astype(dtype))
    return base if kind == "dtype" else LAYOUTS[name](base)


class Bare:
    """The array as host memory, with any strides, which a host view would copy."""

    def __init__(self, x: sx.Tensor) -> None:
        self.view = _core.as_host_view(x, source=x)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, max_version: Any = None, **_: Any) -> object:
        versioned = max_version is not None
        return _core.make_capsule(self.view, versioned=versioned, device=(1, 0))


def hand_over(form: str, x: sx.Tensor, consumer: Any) -> Any:
    if form == "exchange":
        return sx.exchange(x, consumer)
    target = read_consumer(consumer)
    bare = x if target.row.memory == "usm" else Bare(x)
    if target.row.takes == "producer":
        return target.call(bare)
    return target.call(bare.__dlpack__())  # all of them take the legacy struct


def take_case(row: Consumer, case: tuple, consumer: Any) -> dict[str, Any]:
    form, kind, name = case
    x = array_of(kind, name)
    try:
        result = hand_over(form, x, consumer)
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    word = "view" if row.address(result) == x.ptr else "copy"
    return {"outcome": word, **_compared(row, result, x.to_numpy())}


def _compared(row: Consumer, result: Any, expected: np.ndarray) -> dict[str, Any]:
    """Whether a result is right, and of the same dtype; None: the consumer does not show it."""
    try:
        outcome = np.asarray(row.values(result))
    except (TypeError, ValueError, RuntimeError):
        return {"right": None, "narrower": None}
    narrower = outcome.itemsize < expected.itemsize
    return {"right": narrower or outcome.tobytes() == expected.tobytes(), "narrower": narrower}
