# SPDX-License-Identifier: Apache-2.0
"""Tensors in Dask: their size, and their serialization as a small pickle and the bytes.

`register` of this package has these functions called when Dask meets its first tensor, or the
first array of dpnp.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

import sycl_ext as sx

#: Library -> the name of its array class; `sycl_ext.exchange` passes a tensor to each.
LIBRARIES = {"dpnp": "ndarray"}


def register_sizeof(library: str | None = None) -> None:
    """Tell Dask the memory that a tensor or an array of a library takes up, for its limits."""
    from dask.sizeof import sizeof

    if library is None:
        for cls in (sx.Tensor, sx.HostView):
            sizeof.register(cls, memory_bytes)
    else:
        sizeof.register(
            _class_of(library), lambda array: memory_bytes(sx.as_tensor(array, copy=False))
        )


def memory_bytes(array: sx.Tensor | sx.HostView) -> int:
    """Return the number of bytes of the elements; a repeated one counts once, as in Dask's NumPy.

    ``nbytes`` counts indices: it is 4 TB for 4 bytes that are broadcast to a trillion elements.
    """
    shape: Sequence[int] = array.shape
    strides: Sequence[int] = array.strides
    lengths = (n if step else min(n, 1) for n, step in zip(shape, strides, strict=True))
    return prod(lengths) * int(array.itemsize)


def register_serializers(library: str | None = None) -> None:
    """Tell distributed how to send a tensor or an array of a library.

    distributed pickles some objects (the arguments of a task together with functions of
    ``__main__``) with ``copyreg``, so the arrays are registered there as well.
    """
    from distributed.protocol import dask_deserialize, dask_serialize

    if library is None:
        dask_serialize.register(sx.Tensor, serialize)
        dask_deserialize.register(sx.Tensor, deserialize)
        return
    cls = _class_of(library)
    dask_serialize.register(cls, lambda array: serialize(sx.as_tensor(array, copy=False)))
    dask_deserialize.register(
        cls, lambda header, frames: sx.exchange(deserialize(header, frames), library)
    )
    sx.pickling.register(library)


def serialize(tensor: sx.Tensor) -> tuple[dict[str, Any], list[Any]]:
    """Return the pickle of a tensor, and apart from it the bytes, not copied where possible."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(tensor, protocol=5, buffer_callback=buffers.append)
    return {"sycl_ext": data}, [buffer.raw() for buffer in buffers]


def deserialize(header: dict[str, Any], frames: list[Any]) -> sx.Tensor:
    """Make a tensor from the result of `serialize`, on the same device as any pickle."""
    # A frame without bytes may get lost on the way.
    tensor: sx.Tensor = pickle.loads(header["sycl_ext"], buffers=frames or [b""])
    return tensor


def _class_of(library: str) -> type[Any]:
    cls: type[Any] = getattr(import_module(library), LIBRARIES[library])
    return cls
