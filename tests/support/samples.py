# SPDX-License-Identifier: Apache-2.0
"""The material of the tests: every dtype, every layout, and arrays that tell their elements apart.

A layout is a base (shape and order) and a view of it, the same in NumPy and in this package, so
that one is the expected value of the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import producers
import sycl_ext as sx
from dlpack_conformance.structs import DTYPES

USM_TYPES = ("device", "shared", "host")
DTYPE_NAMES = tuple(DTYPES)
#: Those that NumPy itself knows, and so its own `from_dlpack` takes.
NUMPY_DTYPES = tuple(name for name in DTYPE_NAMES if hasattr(np, name))


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(name if name in NUMPY_DTYPES else getattr(ml_dtypes, name))


def values(shape: tuple[int, ...] | int, dtype: str = "float32", seed: int = 1) -> np.ndarray:
    """An array of bytes that differ from element to element."""
    shape = (shape,) if isinstance(shape, int) else shape
    resolved = numpy_dtype(dtype)
    raw = np.random.default_rng(seed).integers(0, 256, prod(shape) * resolved.itemsize, np.uint8)
    if dtype == "bool":
        raw &= 1
    return raw.view(resolved).reshape(shape)


def bits(array: Any) -> bytes:
    """The elements of an array in C order, bit by bit: NaNs of different bits differ."""
    return np.asarray(array).tobytes()


def numbers(
    usm_type: str = "shared", shape: tuple[int, ...] | int = (2, 3), device: Any = None
) -> sx.Tensor:
    """A tensor of `values`."""
    return sx.empty(shape, usm_type=usm_type, device=device).copy_from(values(shape))


def numbered(shape: tuple[int, ...] | int, dtype: str = "int32", **where: Any) -> tuple:
    """A tensor of 0, 1, 2, ..., and the NumPy array that it must be equal to."""
    tensor = sx.empty(shape, dtype, **where)
    array = np.arange(prod(tensor.shape), dtype=dtype).reshape(shape)
    return tensor.copy_from(array), array


@dataclass(frozen=True)
class Layout:
    shape: tuple[int, ...]  # of the base
    order: str = "C"
    view: Callable[[np.ndarray], np.ndarray] = lambda base: base

    def arrays(self, dtype: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """A NumPy base array and the view of it."""
        base = np.array(values(self.shape, dtype, seed), order=self.order)
        return base, self.view(base)

    def tensor(self, dtype: str, usm_type: str = "device", device: Any = None, seed: int = 1):
        """A tensor of this layout, and the NumPy array that it must be equal to."""
        base, view = self.arrays(dtype, seed)
        tensor = sx.empty(self.shape, dtype, usm_type=usm_type, device=device, order=self.order)
        tensor.copy_from(base)
        if view is base:
            return tensor, view
        if view.size == 0:  # without a pointer, an import could not tell the kind of memory
            return tensor[tuple(slice(0, length) for length in view.shape)], view
        return producers.as_strided(tensor, *strided_form(base, view)), view


def strided_form(base: np.ndarray, view: np.ndarray) -> tuple[tuple, tuple, int]:
    """Shape, strides and offset of a view of `base`, in elements."""
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = tuple(stride // base.itemsize for stride in view.strides)
    return view.shape, strides, offset // base.itemsize if view.size else 0


LAYOUTS = {
    "C": Layout((3, 4)),
    "F": Layout((3, 4), "F"),
    "sliced": Layout((7, 9), view=lambda base: base[1::2, ::3]),
    "reversed": Layout((3, 4), view=lambda base: base[::-1, ::-1]),
    "0-d": Layout(()),
    "one element": Layout((3, 4), view=lambda base: base[1, 2, ...]),
    "size 0": Layout((0, 3)),
    "empty slice": Layout((3, 4), view=lambda base: base[2:2]),
    "broadcast": Layout((1, 4), view=lambda base: np.broadcast_to(base, (3, 4))),
    "4-D permuted": Layout((2, 3, 4, 5), view=lambda base: base.transpose(2, 0, 3, 1)[::-1, :, 1:]),
}
#: Arrays of one shape in every layout, so that each can be copied into each.
SHAPE = (3, 4, 5)
SAME_SHAPE = {
    "C": Layout(SHAPE),
    "F": Layout(SHAPE, "F"),
    "sliced": Layout((6, 5, 15), view=lambda base: base[1::2, 1:, ::3]),
    "reversed": Layout(SHAPE, view=lambda base: base[::-1, :, ::-1]),
    "permuted": Layout((5, 3, 4), view=lambda base: base.transpose(1, 2, 0)),
    "rows": Layout((3, 4, 9), view=lambda base: base[:, :, 2:7]),
    "gaps in the middle": Layout((3, 8, 5), view=lambda base: base[:, ::2]),
}


def halves() -> tuple[sx.Device, ...]:
    """Two sub-devices of the default device: tiles of a GPU, or halves of a CPU."""
    root = sx.device()
    half = root.sycl_device.max_compute_units // 2
    return root.create_sub_devices("numa" if root.device_type == "gpu" else half)[:2]


def strides_of(array: np.ndarray) -> tuple[int, ...]:
    """The strides of an array in elements."""
    return tuple(stride // array.itemsize for stride in array.strides)


def assert_equal(tensor: Any, array: np.ndarray) -> None:
    """The tensor has the dtype, shape and elements of the array."""
    assert tensor.dtype == array.dtype
    assert tensor.shape == array.shape
    assert bits(tensor.to_numpy()) == bits(array)


def assert_same_view(tensor: Any, array: np.ndarray) -> None:
    """Equal, and with the same strides (where strides mean something)."""
    assert_equal(tensor, array)
    if array.size > 1:
        long = [axis for axis, length in enumerate(array.shape) if length > 1]
        assert [tensor.strides[axis] for axis in long] == [strides_of(array)[axis] for axis in long]


FOLDERS = {path.parent for path in Path(sx.__file__).parent.rglob("*.py")}


def frames_of_ours(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The Python functions of the package that a call runs, each as often as it runs.

    On Python 3.14 a function in Cython counts as a call of the frame that has called it.
    """
    frames: list[Any] = []

    def note(frame: Any, event: str, _argument: object) -> None:
        is_ours = Path(frame.f_code.co_filename).parent in FOLDERS
        if event == "call" and is_ours and frame not in frames:
            frames.append(frame)

    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return [frame.f_code.co_name for frame in frames]
