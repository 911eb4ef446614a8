# SPDX-License-Identifier: Apache-2.0
"""Tensors in Dask: their size, and their serialization as a small header and the bytes.

``sycl_ext_dask`` registers these when Dask meets its first tensor, or the first array of a library
in `LIBRARIES`.
"""

from typing import Any

from sycl_ext._exchange import libraries
from sycl_ext._exchange.exchange import exchange
from sycl_ext._negotiation.sizes import memory_bytes
from sycl_ext._tensor import pickling
from sycl_ext._tensor.array import Array
from sycl_ext._tensor.tensor import Tensor, as_tensor


def register_sizeof(library: str | None = None) -> None:
    """Tell Dask the memory that a tensor or an array of a library takes up, for its limits."""
    from dask.sizeof import sizeof

    if library is None:
        sizeof.register(Array, memory_bytes)  # tensors and host views
    else:
        sizeof.register(
            libraries.class_of(library), lambda array: memory_bytes(as_tensor(array, copy=False))
        )


def register_serializers(library: str | None = None) -> None:
    """Tell distributed how to send a tensor or an array of a library.

    distributed pickles some objects (the arguments of a task together with functions of
    ``__main__``) with ``copyreg``, so the arrays are registered there as well.
    """
    from distributed.protocol import dask_deserialize, dask_serialize

    if library is None:
        dask_serialize.register(Tensor, serialize)
        dask_deserialize.register(Tensor, deserialize)
        return
    cls = libraries.class_of(library)
    dask_serialize.register(cls, lambda array: serialize(as_tensor(array, copy=False)))
    dask_deserialize.register(
        cls, lambda header, frames: exchange(deserialize(header, frames), library)
    )
    libraries.register(library)


def serialize(tensor: Tensor) -> tuple[dict[str, Any], list[Any]]:
    """Return the parts of a pickle as a header, and the bytes without a copy where possible."""
    _load, (*parts, buffer) = pickling.reduce(tensor, 5)
    return {"sycl_ext": parts}, [buffer.raw()]


def deserialize(header: dict[str, Any], frames: list[Any]) -> Tensor:
    """Make a tensor from the result of `serialize`, on the same device as a pickle."""
    buffer = frames[0] if frames else b""  # a frame without bytes may get lost on the way
    return pickling.load(*(*map(_as_tuple, header["sycl_ext"]), buffer))  # type: ignore[return-value]


def _as_tuple(value: Any) -> Any:
    """Turn the lists of msgpack back into tuples."""
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value
