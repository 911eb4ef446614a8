# SPDX-License-Identifier: Apache-2.0
"""`staged`: host memory in place of a tensor, for code that takes only host memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from sycl_ext import _core
from sycl_ext._negotiation.arguments import check_word
from sycl_ext._negotiation.errors import REFUSALS
from sycl_ext._protocols.tensors import is_tensor, strong
from sycl_ext._tensor.display import describe
from sycl_ext._tensor.host_view import HostView, host_view

if TYPE_CHECKING:
    from sycl_ext._tensor.tensor import Tensor

Mode = Literal["r", "w", "rw"]


@overload
def staged(
    t: Tensor, mode: Mode = "rw", /, *, memory: Any = None
) -> AbstractContextManager[HostView]: ...
@overload
def staged(
    t: Tensor, mode: Mode = "rw", /, *, direct: bool | None, memory: Any = None
) -> AbstractContextManager[HostView | Tensor]: ...
@contextmanager
def staged(
    t: Tensor, mode: Mode = "rw", /, *, direct: bool | None = None, memory: Any = None
) -> Iterator[Any]:
    """Provide host memory in C order in place of a tensor, within a ``with`` block.

    This is the tensor's own memory if the host can access it and it is C-contiguous. Otherwise it
    is a block of host USM (pinned memory). So the order of the elements in a message or a file
    depends neither on the device nor on the strides. The tensor is copied to it before the ``with``
    block if `mode` is "r" or "rw", and copied back afterwards unless `mode` is "r" or the ``with``
    block raises an exception.

    Parameters
    ----------
    t : Tensor
    mode : {"r", "w", "rw"}
        Whether the block reads or writes the memory, or both. With "r" the view is read-only. With
        "w" the block must write every element: any other may have another value afterwards. For a
        message that may be shorter than the tensor, use "rw".
    direct : bool, optional
        Whether the library handles memory of the device, such as a GPU-aware MPI
        (``sycl_ext_mpi.check``). True: the block gets the tensor itself if it is C-contiguous,
        and nothing is copied. False: plain memory, for a library that mistakes pinned memory for
        memory of a GPU.
    memory : array, optional
        Writable host memory with the shape and dtype of the tensor, such as a part of a cache or of
        a mapped file, which is always used instead of a new block, with its own strides. If it is
        registered (`memory.register_host`), both copies are direct.

    Yields
    ------
    HostView
        For MPI, files, sockets and other consumers of buffers or of DLPack on the host; a `Tensor`
        with ``direct=True``.

    Raises
    ------
    TypeError
        If `t` is not a tensor; a host view is host memory already.
    BufferError
        If the tensor is read-only and `mode` is not "r", or ``memory`` is read-only, has negative
        strides or elements that may overlap, or is not in memory that the host can access.

    See Also
    --------
    sycl_ext.mpi.staged_request : for ``Isend`` and ``Irecv``, which use the memory later.

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
    provided, finish = _stage(t, mode, direct, memory)
    yield provided
    finish()


def _stage(
    t: Tensor, mode: Mode, direct: bool | None, given: Any = None
) -> tuple[HostView | Tensor, Callable[[], None]]:
    """Return the memory in place of the tensor, and the function to call after its use."""
    check_word("mode", mode, ("r", "w", "rw"))
    t = strong(t)
    if isinstance(t, HostView):
        raise TypeError("a HostView is already host memory; use it directly, without staged")
    if not is_tensor(t):
        raise TypeError(f"an object of type {type(t).__name__} is not a Tensor; pass as_tensor(x)")
    if t.readonly and mode != "r":
        raise BufferError("the tensor is read-only; stage it with mode 'r'")
    if mode != "r":
        _core.require_target(t)  # now, and not when the block has ended
    if given is not None:
        return _through(_as_staging_memory(given, t), t, mode)
    seen = t.as_readonly() if mode == "r" else t
    if direct and t.c_contiguous:
        _core.synchronize(t)  # MPI does not use queues
        return seen, _nothing
    if direct is not None and not direct:  # it may mistake even pinned memory for GPU memory
        return _through(_core.copy_to_host(t), t, mode, is_filled=True)
    if t.host_accessible and t.c_contiguous:
        return host_view(seen), _nothing
    return _through(_core.allocate(t.device._entry, "host", t.dtype_name, t.shape, "C"), t, mode)


def _as_staging_memory(given: Any, t: Tensor) -> _core.TensorBase:
    """Return the view of ``memory=``, or raise an error if it cannot stand in for the tensor."""
    held = _core.find_memory(strong(given), copy=False)
    if (held.shape, held.dtype_name) != (t.shape, t.dtype_name):
        raise ValueError(
            f"memory is {describe(held)}, which differs in shape or dtype from {describe(t)}"
        )
    facts = _core.array_facts(held)
    if facts.readonly or facts.reversed or not facts.host_reachable:  # NumPy copies a reversed view
        raise BufferError(
            f"memory is {describe(held)} with strides {held.strides}; it must be writable, without "
            "negative strides, and in memory that the host can access"
        )
    try:
        _core.require_target(held)
    except BufferError as error:
        raise BufferError(
            f"memory is {describe(held)} with strides {held.strides}, so its elements may overlap; "
            "pass memory without overlap"
        ) from error
    return held


def _through(
    memory: _core.TensorBase, t: Tensor, mode: Mode, *, is_filled: bool = False
) -> tuple[HostView, Callable[[], None]]:
    """Stage a tensor in other memory of its shape and dtype; returns the same as `_stage`."""
    if mode != "w" and not is_filled:
        _core.copy_elements(memory, t)
    if mode == "r":
        seen = _core.view(memory, 0, memory.shape, memory.strides, readonly=True)
        return host_view(seen), _nothing
    return host_view(memory), lambda: _core.copy_elements(t, memory)


def _nothing() -> None:
    pass


#: Requests that are not done, whose memory MPI may still read and write. One that the program drops
#: stays here for good, because MPI does not say when it is done.
pending_requests: set[StagedRequest] = set()


class StagedRequest:
    """A request of MPI and the memory that it works on; `mpi.staged_request` makes it.

    Attributes
    ----------
    request : mpi4py.MPI.Request
        The result of ``Isend`` or ``Irecv``. Complete it through this object.
    """

    __module__ = "sycl_ext.mpi"

    def __init__(
        self, start: Callable[[Any], Any], memory: Any, finish: Callable[[], None]
    ) -> None:
        self._memory = memory
        self._finish = finish
        pending_requests.add(self)
        try:
            self.request = start(memory)
        except REFUSALS:  # of MPI; after Ctrl-C the memory stays, because MPI may use it
            self._forget()
            raise
        if not hasattr(self.request, "Wait"):  # MPI may have started it: the memory stays
            raise TypeError(
                f"start returned {self.request!r}; it must return the request, as in "
                "lambda memory: comm.Isend(memory, dest)"
            )

    def wait(self) -> None:
        """Wait for the request; afterwards the received data is in the tensor."""
        if self._memory is not None:
            self._call(self.request.Wait)
            self._end()

    def test(self) -> bool:
        """Whether the request is done; if so, the received data is in the tensor."""
        if self._memory is not None and self._call(self.request.Test):
            self._end()
        return self._memory is None

    def _call(self, complete: Callable[[], Any]) -> Any:
        try:
            return complete()
        except RuntimeError:  # such as MPI.Exception; a signal handler does not end the request
            self._forget()  # the request has failed, so MPI no longer uses the memory
            raise

    def _end(self) -> None:
        pending_requests.discard(self)  # MPI is done, also when the copy below fails
        self._finish()
        self._forget()

    def _forget(self) -> None:
        pending_requests.discard(self)
        self._memory, self._finish = None, _nothing


def staged_request(
    t: Tensor, mode: Mode, start: Callable[[Any], Any], /, *, direct: bool | None = None
) -> StagedRequest:
    """Start ``Isend`` or ``Irecv`` on host memory in place of a tensor.

    The memory is the same as in `staged`. It lives until the request is done, even if the returned
    object is dropped.

    Parameters
    ----------
    t : Tensor
        Do not use it before the request is done, as with every request of MPI.
    mode : {"r", "w", "rw"}
        "r" to send, "w" to receive.
    start : callable
        A function that takes the memory and returns the request.
    direct : bool, optional
        As for `staged`.

    Returns
    -------
    StagedRequest
        It has ``wait()`` and ``test()``. The received data is in the tensor when one of them has
        reported that the request is done.

    Raises
    ------
    TypeError, BufferError
        As `staged` does.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, sycl_ext as sx
    >>> world = MPI.COMM_WORLD
    >>> mine, theirs = sx.zeros(3), sx.empty(3)
    >>> requests = [
    ...     sx.mpi.staged_request(mine, "r", lambda memory: world.Isend(memory, world.rank)),
    ...     sx.mpi.staged_request(theirs, "w", lambda memory: world.Irecv(memory, world.rank)),
    ... ]
    >>> for request in requests:
    ...     request.wait()
    >>> theirs.to_numpy()
    array([0., 0., 0.], dtype=float32)
    """
    if not callable(start):
        raise TypeError(
            f"start is of type {type(start).__name__}; it must be a callable that takes the memory"
        )
    memory, finish = _stage(t, mode, direct)
    return StagedRequest(start, memory, finish)
