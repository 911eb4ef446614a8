# SPDX-License-Identifier: Apache-2.0
"""Arrays in ``multiprocessing``: sent as handles if the memory can be shared."""

import os
import pickle
import time
import warnings
from multiprocessing import parent_process, util
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
    The sending process must live until the other one has received the array. So a process that
    ``multiprocessing`` has started waits at its end until what it has sent has arrived: as long as
    its parent lives, and at most 60 seconds. One that is ended by a signal or ``os._exit`` does not
    wait. Arrays that are never received stay allocated until the sending process ends.

    Received device USM is sent on as a handle as long as the process that made it lives, and as
    bytes afterwards. It needs a permission of the kernel, which a process has only for its
    descendants if ``kernel.yama.ptrace_scope`` is 1: see `peer` of `ipc.handle`.

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
    ForkingPickler.register(Tensor, reduce_tensor)
    _wait_at_the_end()


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    try:
        handle = handles.handle(tensor)
    except DescriptorError:  # this memory can be shared; the receiver would write to a copy
        raise
    except BufferError:
        return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    _wait_at_the_end()  # of a forked process, which did not call `register_multiprocessing`
    offer = handles.offer_of(handle)
    offer.keep_until_arrived()
    return _arrive, (handle, offer.key)


def _arrive(handle: handles.Handle, key: BlockKey) -> Tensor:
    startup.load_core()  # this may be the first use of the package in the process
    tensor = handles.open(handle)
    records.mark_as_arrived(key)
    return tensor


#: Seconds that a process waits at its end for the receivers of what it has sent.
_LINGER = 60.0
#: Queues send what they still have with a priority of -5.
_AFTER_THE_QUEUES = -10

_at_the_end: util.Finalize | None = None


def _wait_at_the_end() -> None:
    """Wait at the end of this process, if ``multiprocessing`` has started it."""
    global _at_the_end
    if parent_process() is not None and not (_at_the_end and _at_the_end.still_active()):
        _at_the_end = util.Finalize(None, _linger, exitpriority=_AFTER_THE_QUEUES)


def _linger() -> None:
    """Wait until what was sent has arrived.

    A worker of a ``Pool`` with ``maxtasksperchild`` ends when it has sent its last result, and
    memory of a process that has ended cannot be opened. A process that received an array, and sends
    it on from now on, is refused, and so sends a copy.
    """
    parent, end, pause = parent_process(), time.monotonic() + _LINGER, 0.001
    while (on_the_way := records.withdraw_arrived()) and parent is not None and parent.is_alive():
        if time.monotonic() > end:
            warnings.warn(
                f"process {os.getpid()} is exiting, but {on_the_way} of the arrays that it sent "
                f"were not received within {_LINGER:g} s: receive them before you join the "
                "process, or send copies (sycl_ext.ipc.pack(x, how='bytes'))",
                RuntimeWarning,
                stacklevel=1,
            )
            break
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
