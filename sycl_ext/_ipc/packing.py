# SPDX-License-Identifier: Apache-2.0
"""`ipc.pack`: packs an array for another process in the first form that works.

A handle, or a copy in shared memory, or a copy in the message. The copies are pickles of a tensor,
and differ only in the place of its buffer.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from sycl_ext import _core
from sycl_ext._ipc import handles, peers
from sycl_ext._ipc.descriptors import DescriptorError
from sycl_ext._ipc.shared_memory import BlockKey, make_block, open_block
from sycl_ext._negotiation.arguments import check_word
from sycl_ext._negotiation.identity import CopiesToItself
from sycl_ext._protocols.tensors import is_tensor, strong
from sycl_ext._setup import startup

if TYPE_CHECKING:
    from sycl_ext._core import TensorBase
    from sycl_ext._tensor.tensor import Tensor

How = Literal["handle", "shared memory", "bytes"]


@dataclass(frozen=True)
class Packed(CopiesToItself):
    """An array for another process; made by `ipc.pack`.

    Send its pickle by any means, and call `open` there. Unless `how` is ``"bytes"``, keep the
    object until the other process has opened it.
    """

    how: How
    """``"handle"``: no copy, both processes use one memory. Else a copy: in ``"shared memory"``,
    which the other process reads, or as ``"bytes"`` in the pickle."""
    reason: str
    """Why no earlier way was taken; ``""`` for a handle, or if the caller has chosen."""
    _content: Any = field(repr=False)
    _keep: object = field(default=None, repr=False, compare=False)

    def open(self) -> Tensor:
        """Return the array as a tensor.

        Of a handle it is the memory of the sender. Of a copy it is new memory of the same kind of
        USM, on the most similar device, as of a pickle.

        Raises
        ------
        BufferError
            If this process cannot reach the memory of the sender. Copies as bytes can always be
            opened, on any machine. It is an OSError as well, with ``errno``, if no file descriptor
            is left.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> sx.ipc.pack(sx.ones(3, device="cpu")).open().tolist()
        [1.0, 1.0, 1.0]
        """
        startup.load_core()  # this may be the first use of the package in the process
        try:
            return _OPENERS[self.how](self._content)
        except DescriptorError:
            raise
        except BufferError as error:
            raise BufferError(
                f"{error}; or send a copy: sycl_ext.ipc.pack(x, how='bytes')"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_packed, (self.how, self.reason, self._content)


# Not in the class: dataclass() looks for its annotations in the module that is named there.
Packed.__module__ = "sycl_ext.ipc"


def _read_packed(*values: Any) -> Packed:
    """Make the object from the parts of a pickle, after checking them."""
    match values:
        case (
            ("handle", str(), handles.Handle())
            | ("shared memory", str(), (bytes(), (int(), int(), int(), int()), int()))
            | ("bytes", str(), bytes())
        ):
            return Packed(*values)
    kinds = ", ".join(repr(v) if isinstance(v, str) else type(v).__name__ for v in values)
    raise ValueError(
        f"this is not a pickle of a sycl_ext.ipc.Packed: it has {kinds or 'nothing'}; use the "
        "same version of sycl_ext in both processes"
    )


def pack(x: Any, /, *, how: How | None = None, peer: SupportsIndex | None = None) -> Packed:
    """Return an object that takes an array to another process, whatever its memory is.

    The first way that works for this memory on this machine is taken: a handle, which copies
    nothing; a copy in shared memory, which the other process opens by its place in ``/proc`` (no
    descriptor is passed, so it works under Ray and filters of containers); a copy in the message.

    Parameters
    ----------
    x : array
        Any array that `as_tensor` takes; that of a library which only gives copies is refused.
    how : {"handle", "shared memory", "bytes"}, optional
        Take this way, or raise the reason why not. Processes in different containers or on
        different machines need ``"bytes"``.
    peer : int, optional
        The process that will open it, as of `ipc.handle`. Without it, no handle of device USM is
        made where ``kernel.yama.ptrace_scope`` is 1.

    Returns
    -------
    Packed
        Its `how` is the way chosen, and its `reason` says why.

    Raises
    ------
    BufferError
        If `how` names a way that does not work here; a MemoryError if its block cannot be made.
    TypeError
        If `x` is not an array.
    ValueError
        If there is no such way, or no process `peer`.

    Examples
    --------
    >>> import pickle, sycl_ext as sx
    >>> packed = sx.ipc.pack(sx.ipc.empty(3, device="cpu"))
    >>> packed
    Packed(how='handle', reason='')
    >>> packed = sx.ipc.pack(sx.zeros(3, device="cpu"))
    >>> packed.how, packed.reason.partition(" is ")[2][:40]
    ('shared memory', 'not in memory that processes can share; ')
    >>> message = pickle.dumps(packed)  # and in the other process
    >>> pickle.loads(message).open().tolist()
    [0.0, 0.0, 0.0]
    """
    x = strong(x)
    t: TensorBase = x if is_tensor(x) else _core.find_memory(x, copy=False)
    makers: dict[str, Callable[[], Packed]] = {
        "handle": lambda: _handle(t, peer),
        "shared memory": lambda: _in_shared_memory(t),
        "bytes": lambda: Packed("bytes", "", pickle.dumps(t, 5)),
    }
    if how is not None:
        return makers[check_word("how", how, [*makers])]()
    reasons: list[str] = []
    for make in makers.values():
        try:
            made = make()
        except (BufferError, MemoryError) as error:
            reasons.append(str(error))
        else:
            break
    return Packed(made.how, "; ".join(dict.fromkeys(reasons)), made._content, made._keep)


def _handle(t: TensorBase, peer: SupportsIndex | None) -> Packed:
    handle = handles.handle(t, peer=peer)
    if handle.mechanism == "sycl" and (obstacle := peers.obstacle(allowed=peer is not None)):
        raise BufferError(obstacle)
    return Packed("handle", "", handle, handle)


def _in_shared_memory(t: TensorBase) -> Packed:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    (content,) = (buffer.raw() for buffer in buffers)
    if not content.nbytes:
        raise BufferError(handles.NO_ELEMENTS)
    block = make_block(content.nbytes)
    block.content()[:] = content
    return Packed("shared memory", "", (data, block.key, content.nbytes), block)


def _open_shared(content: tuple[bytes, BlockKey, int]) -> Tensor:
    data, key, nbytes = content
    block = open_block(BlockKey(*key), nbytes, readonly=True)
    tensor: Tensor = pickle.loads(data, buffers=[block.content()])
    return tensor


def _open_bytes(content: bytes) -> Tensor:
    tensor: Tensor = pickle.loads(content)
    return tensor


_OPENERS: dict[How, Callable[[Any], Tensor]] = {
    "handle": handles.open,
    "shared memory": _open_shared,
    "bytes": _open_bytes,
}
