# SPDX-License-Identifier: Apache-2.0
"""`staged`: host memory in place of a tensor, for code that knows nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from sycl_ext import _core
from sycl_ext._protocols import sources
from sycl_ext._tensor.host_view import HostView, host_view

if TYPE_CHECKING:
    from sycl_ext._tensor.tensor import Tensor

__all__ = ["staged"]


@contextmanager
def staged(t: Tensor, mode: Literal["r", "w", "rw"] = "rw", /) -> Iterator[HostView]:
    """Within the ``with`` block, give contiguous host memory that stands for a tensor.

    That is the tensor's own memory where the host can reach it and it is contiguous.  Else it is
    one block of host USM (pinned memory), filled from the tensor before the block unless `mode` is
    "w", and copied back after it unless `mode` is "r" or the block ends with an exception.

    Parameters
    ----------
    t : Tensor
    mode : {"r", "w", "rw"}
        What the block does with the memory; with "r" the view is read-only.

    Yields
    ------
    HostView
        For MPI, files, sockets and every other consumer of buffers or of DLPack on the host.

    Raises
    ------
    TypeError
        When `t` is no tensor on a device.
    BufferError
        When the tensor is read-only and `mode` is not "r".

    Examples
    --------
    >>> import io, sycl_ext as sx
    >>> t = sx.zeros(3, "uint8")
    >>> with sx.staged(t, "w") as memory:
    ...     io.BytesIO(b"abc").readinto(memory)
    3
    >>> t.to_numpy()
    array([97, 98, 99], dtype=uint8)
    """
    if mode not in ("r", "w", "rw"):
        raise ValueError(f"mode is {mode!r}; it must be 'r', 'w' or 'rw'")
    t = sources.strong(t)
    if not sources.is_tensor(t) or t.entry_id is None:
        raise TypeError(f"a {type(t).__name__} is no Tensor on a device; see as_tensor")
    if t.readonly and mode != "r":
        raise BufferError("the tensor is read-only; stage it with mode 'r'")
    if t.host_accessible and (t.c_contiguous or t.f_contiguous):
        yield host_view(t.as_readonly() if mode == "r" else t)
        return
    memory = _core.allocate(t.device._entry, "host", t.dtype_name, t.shape, "C")
    if mode != "w":
        _core.copy_elements(memory, t)
    yield host_view(memory.as_readonly() if mode == "r" else memory)
    if mode != "r":
        _core.copy_elements(t, memory)
