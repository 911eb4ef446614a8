# SPDX-License-Identifier: Apache-2.0
"""Arrays in ``multiprocessing``: what is sent is a handle, where the memory can be shared."""

from __future__ import annotations

import pickle
from typing import Any

from sycl_ext._exchange.libraries import class_of, reducer_of
from sycl_ext._ipc import handles, records
from sycl_ext._ipc.shared_memory import BlockKey
from sycl_ext._tensor.tensor import Tensor

__all__ = ["register_multiprocessing"]


def register_multiprocessing(*libraries: str) -> None:
    """Let ``multiprocessing`` send handles of memory instead of bytes, in this process.

    From here on, a tensor that goes through a queue, a pipe or the arguments of a process of
    ``multiprocessing`` is opened there with `ipc.open`: nothing is copied, and writing on either
    side is seen on the other.  The memory stays allocated until the process that receives it has
    closed it, whatever becomes of the tensor here.  Memory that cannot be shared (see `ipc.handle`)
    is sent as bytes, as before: a copy.

    Parameters
    ----------
    *libraries : str
        Other libraries whose arrays are sent in the same way; they arrive as theirs: ``"dpnp"``.

    Raises
    ------
    ValueError
        When a library is none of these.
    ImportError
        When it is not installed.

    Notes
    -----
    The process that sends has to live until the other one has received.  What is sent and never
    received stays allocated until the process ends.  Device USM needs a right of the kernel, which
    a process has of its descendants alone where ``kernel.yama.ptrace_scope`` is 1: see `peer` of
    `ipc.handle`.

    Examples
    --------
    >>> import multiprocessing, sycl_ext as sx
    >>> sx.ipc.register_multiprocessing("dpnp")
    >>> here, there = multiprocessing.Pipe()  # there: in another process
    >>> t = sx.ipc.empty(3, device="cpu")
    >>> here.send(t)
    >>> there.recv().to_numpy()[:] = 7
    >>> t.to_numpy()
    array([7., 7., 7.], dtype=float32)
    """
    from multiprocessing.reduction import ForkingPickler

    for library in libraries:
        ForkingPickler.register(class_of(library), reducer_of(library))
    ForkingPickler.register(Tensor, _reduce)


def _reduce(tensor: Tensor) -> tuple[Any, ...]:
    try:
        handle = handles.handle(tensor)
    except BufferError:
        return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    offer = handles.offer_of(handle)
    offer.keep_until_arrived()
    return _arrive, (handle, tuple(offer.key))


def _arrive(handle: handles.Handle, key: tuple[int, int, int, int]) -> Tensor:
    tensor = handles.open(handle)
    records.mark_as_arrived(BlockKey(*key))
    return tensor
