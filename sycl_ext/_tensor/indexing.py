# SPDX-License-Identifier: Apache-2.0
"""Basic indexing, as arithmetic on shape and strides.  Pure Python."""

import operator
from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sycl_ext._negotiation.arguments import is_unordered

#: A strided view: offset of its first element, shape and strides, all in elements.
View: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]


def index_view(shape: Sequence[int], strides: Sequence[int], key: Any) -> View:
    """Return the view that basic indexing selects: ints, slices, ``...`` and None."""
    keys = key if isinstance(key, tuple) else (key,)
    keys = _expand_ellipsis(keys, len(shape))
    offset, new_shape, new_strides, axis = 0, [], [], 0
    for item in keys:
        if item is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        length, stride = shape[axis], strides[axis]
        if isinstance(item, slice):
            start, stop, step = item.indices(length)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            new_shape.append(count)
            # The stride of an axis with fewer than two elements is never used, and a product may
            # not fit into 64 bits.
            new_strides.append(stride * step if count > 1 else stride)
        else:
            index = _as_index(item)
            if not -length <= index < length:
                raise IndexError(
                    f"index {index} is out of bounds for axis {axis} with size {length}"
                )
            offset += (index % length) * stride
        axis += 1
    return offset, tuple(new_shape), tuple(new_strides)


def transposed_axes(ndim: int, axes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the axes in the order of ``transpose(*axes)``, as in NumPy."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return tuple(reversed(range(ndim)))
    wanted = tuple(axes[0]) if len(axes) == 1 and np.iterable(axes[0]) else axes
    order = tuple(_as_axis(axis, ndim) for axis in wanted)
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"axes are {wanted}; each of the {ndim} axes must appear once")
    return order


def with_axes(
    shape: Sequence[int], strides: Sequence[int], axes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and strides with the axes in this order; an omitted axis is at its index 0."""
    return tuple(shape[axis] for axis in axes), tuple(strides[axis] for axis in axes)


def memory_axes(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return the axes from the longest stride to the shortest; those of length 1 stay in place."""
    by_stride = iter(
        sorted((a for a, n in enumerate(shape) if n != 1), key=lambda a: -abs(strides[a]))
    )
    return tuple(axis if n == 1 else next(by_stride) for axis, n in enumerate(shape))


def squeezed_axes(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """Return the axes that remain after ``squeeze(axis)``."""
    if axis is None:
        return tuple(axis for axis, length in enumerate(shape) if length != 1)
    wanted = axis if isinstance(axis, tuple) else (axis,)
    out = [_as_axis(axis, len(shape)) for axis in wanted]
    if len(set(out)) != len(out):
        raise ValueError(f"axis is {axis}, which repeats an axis")
    for axis in out:
        if shape[axis] != 1:
            raise ValueError(
                f"cannot squeeze axis {axis}, which has length {shape[axis]}; only "
                "axes of length 1 can be removed"
            )
    return tuple(axis for axis in range(len(shape)) if axis not in out)


def _as_axis(axis: Any, ndim: int) -> int:
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis is {axis!r}; it must be an int") from None
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(index, ndim)
    return index % ndim


def _as_index(item: Any) -> int:
    if not isinstance(item, (bool, np.bool_)):  # older NumPy has these as 0 and 1
        try:
            return operator.index(item)
        except TypeError:
            pass
    raise IndexError(
        f"an object of type {type(item).__name__} is not a basic index; index with ints, slices, "
        "... and None, or use NumPy or dpnp for anything else"
    )


def _expand_ellipsis(keys: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    places = [i for i, item in enumerate(keys) if item is Ellipsis]
    n_axes = sum(item is not None and item is not Ellipsis for item in keys)
    if len(places) > 1:
        raise IndexError("an index can have only one ellipsis (...)")
    if n_axes > ndim:
        raise IndexError(
            f"too many indices: the tensor has {ndim} dimensions, but {n_axes} were indexed"
        )
    position = places[0] if places else len(keys)
    return keys[:position] + (slice(None),) * (ndim - n_axes) + keys[position + 1 :]


#: What arrays of other libraries raise if they are not an int, or cannot be iterated over.
_NO_INT = (TypeError, ValueError, IndexError)


def _as_ints(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, (bool, str, bytes)) and not is_unordered(shape):
        with suppress(*_NO_INT):
            return (operator.index(shape),)
        with suppress(*_NO_INT):
            return tuple(operator.index(length) for length in shape)
    hint = "; pass tuple(x.tolist())" if hasattr(shape, "tolist") else ""
    raise TypeError(f"shape is {shape!r}; it must be an int or a sequence of ints{hint}")


def as_shape(shape: Any) -> tuple[int, ...]:
    """Read a shape: an int or a sequence of ints that are not negative."""
    values = _as_ints(shape)
    for axis, length in enumerate(values):
        if length < 0:
            raise ValueError(f"shape[{axis}] is {length}; a length cannot be negative")
        if length >= 1 << 63:
            raise ValueError(f"shape[{axis}] is {length}, which exceeds the address space")
    return values


def resolve_reshape(size: int, shape: Any) -> tuple[int, ...]:
    """Read the target of a reshape, in which one length may be -1."""
    values = list(_as_ints(shape))
    wild = [axis for axis, length in enumerate(values) if length == -1]
    if len(wild) > 1:
        raise ValueError(f"shape is {tuple(values)}; only one length can be -1")
    known = prod(as_shape([1 if axis in wild else n for axis, n in enumerate(values)]))
    if wild:
        if known == 0 or size % known:
            raise ValueError(
                f"cannot reshape a tensor of {size} elements into shape {tuple(values)}"
            )
        values[wild[0]] = size // known
    elif known != size:
        raise ValueError(f"cannot reshape a tensor of {size} elements into shape {tuple(values)}")
    return tuple(values)


def broadcast_strides(
    shape: Sequence[int], strides: Sequence[int], target: Sequence[int]
) -> tuple[int, ...]:
    """Return the strides that broadcast a view to `target` by NumPy's rules."""
    padding = len(target) - len(shape)
    fits = padding >= 0 and all(
        have in (1, want) for have, want in zip(shape, target[padding:], strict=True)
    )
    if not fits:
        raise ValueError(
            f"an array of shape {tuple(shape)} cannot be broadcast to a tensor of shape "
            f"{tuple(target)}; reshape or slice one of them"
        )
    spread = (
        0 if have == 1 and want != 1 else stride
        for have, stride, want in zip(shape, strides, target[padding:], strict=True)
    )
    return (0,) * padding + tuple(spread)
