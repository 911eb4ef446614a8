# SPDX-License-Identifier: Apache-2.0
"""Arrays in ``multiprocessing``: sent as handles if the memory can be shared."""

import pickle
from typing import Any

from sycl_ext._exchange.libraries import class_of, reducer_of
from sycl_ext._ipc import handles, records
from sycl_ext._ipc.descriptors import DescriptorError
from sycl_ext._ipc.shared_memory import BlockKey
from sycl_ext._setup import startup
from sycl_ext._tensor.tensor import Tensor


def register_multiprocessing(*libraries: str) -> None:
    """Make ``multiprocessing`` send handles instead of bytes, in this process.

    Afterwards, a tensor that is sent through a queue, a pipe or the arguments of a process of
    ``multiprocessing`` is opened in the other process with `ipc.open`. Nothing is copied, and each
    process sees writes of the other. The memory stays allocated until the receiving process has
    closed it, even if the tensor is dropped here. Memory that cannot be shared (see `ipc.handle`)
    is still sent as bytes, which is a copy.

    Parameters
    ----------
    *libraries : str
        Other libraries with arrays to send in the same way, as arrays of that library: ``"dpnp"``.

    Raises
    ------
    ValueError
        If a library is not supported.
    ImportError
        If it is not installed.

    Notes
    -----
    The sending process must live until the other one has received the array. Arrays
    that are never received stay allocated until the sending process ends. Device USM needs a
    permission of the kernel, which a process has only for its descendants if
    ``kernel.yama.ptrace_scope`` is 1: see `peer` of `ipc.handle`.

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
    except DescriptorError:  # this memory can be shared; the receiver would write to a copy
        raise
    except BufferError:
        return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    offer = handles.offer_of(handle)
    offer.keep_until_arrived()
    return _arrive, (handle, offer.key)


def _arrive(handle: handles.Handle, key: BlockKey) -> Tensor:
    startup.load_core()  # this may be the first use of the package in the process
    tensor = handles.open(handle)
    records.mark_as_arrived(key)
    return tensor
