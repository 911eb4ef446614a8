# SPDX-License-Identifier: Apache-2.0
"""How Dask measures tensors and sends them: a small header, and the bytes as they are.

``sycl_ext_dask`` registers these when Dask meets its first tensor.
"""

from __future__ import annotations

from typing import Any

from sycl_ext._tensor import pickling
from sycl_ext._tensor.tensor import Tensor

__all__ = ["register_serializers", "register_sizeof"]


def register_sizeof() -> None:
    """Tell Dask how many bytes a tensor has; its memory limits go by that."""
    from dask.sizeof import sizeof

    sizeof.register(Tensor, lambda tensor: tensor.nbytes)


def register_serializers() -> None:
    """Tell distributed how to send a tensor."""
    from distributed.protocol import dask_deserialize, dask_serialize

    dask_serialize.register(Tensor, serialize)
    dask_deserialize.register(Tensor, deserialize)


def serialize(tensor: Tensor) -> tuple[dict[str, Any], list[Any]]:
    """Return the parts of a pickle as a header, and the bytes without a copy where possible."""
    _load, (*parts, buffer) = pickling.reduce(tensor, 5)
    return {"sycl_ext": parts}, [buffer.raw()]


def deserialize(header: dict[str, Any], frames: list[Any]) -> Tensor:
    """Make a tensor of what `serialize` returned; it arrives where a pickle would."""
    buffer = frames[0] if frames else b""  # a frame without bytes may get lost on the way
    return pickling.load(*(*map(_as_tuple, header["sycl_ext"]), buffer))  # type: ignore[return-value]


def _as_tuple(value: Any) -> Any:
    """Make tuples again of what msgpack has made lists."""
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value
