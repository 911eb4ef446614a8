# SPDX-License-Identifier: Apache-2.0
"""`AsyncCopy`: a copy that goes on while its caller does."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from sycl_ext import _core
from sycl_ext._debug.trace import note
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._protocols import sources

if TYPE_CHECKING:
    import dpctl
    from numpy.typing import NDArray

__all__ = ["AsyncCopy", "check_wait", "to_numpy"]

Result = TypeVar("Result")

#: Seconds between two looks of ``await``: a fraction of the time that it has waited, and no more
#: than the last number.
_FRACTION, _LONGEST = 1 / 8, 0.005


class AsyncCopy(Generic[Result]):
    """A copy that goes on while its caller does.

    ``Tensor.copy_from(x, wait=False)`` and ``Tensor.to_numpy(wait=False)`` return one.  A dense
    copy is one command.  It comes after the work on both sides, and after the earlier copies of its
    device.  What one command cannot do (strides, overlap, another context) is done when the call
    returns.

    Both sides stay alive until the copy is done, also when this object is dropped.  What is handed
    out, read or written through this package after the call comes after the copy: an export of the
    target, by any protocol and for any ``stream`` but -1, sees the elements.  Whoever got hold of
    the memory before has to wait for the copy, as has who writes to a source that is not a tensor.
    An error of the copy is raised by `wait`, each time, or by the next read of the target, once.

    Ctrl-C ends a wait, and not the copy.  In a forked child the copy is the parent's: a child that
    reads the target sees what had arrived at the fork.  A process that ends does not wait for it.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> t = sx.empty(4, "int32")
    >>> copy = t.copy_from(np.arange(4, dtype="int32"), wait=False)
    >>> copy.wait()
    >>> copy.done()
    True
    >>> t.to_numpy(wait=False).result()
    array([0, 1, 2, 3], dtype=int32)

    In a coroutine:

    >>> import asyncio
    >>> async def fetch(t):
    ...     return await t.to_numpy(wait=False)
    >>> asyncio.run(fetch(t))
    array([0, 1, 2, 3], dtype=int32)
    """

    __module__ = "sycl_ext.memory"

    __slots__ = ("__weakref__", "_copy", "_made", "_make")

    def __init__(self, copy: _core.Commands, make: Callable[[], Result]) -> None:
        self._copy = copy
        self._make = make
        self._made: list[Result] = []  # several threads may append; the first one counts

    def done(self) -> bool:
        """Whether the copy is over: `wait` returns, or raises, at once."""
        return self._copy.done()

    def wait(self) -> None:
        """Wait until the elements are there.

        Raises
        ------
        SyclError, MemoryError
            When the copy failed, each time.
        SyclError
            In a forked child, to which the parent's copy does not come.
        """
        self._copy.wait()

    def result(self) -> Result:
        """Wait, and return the tensor that was copied to, or the array.

        Raises
        ------
        SyclError, MemoryError
            As for `wait`.
        """
        self._copy.wait()
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def __await__(self) -> Generator[Any, Any, Result]:
        """Wait in a coroutine of asyncio, while others run, and return the `result`."""
        return self._until_done().__await__()

    async def _until_done(self) -> Result:
        import asyncio
        import time

        begin = time.monotonic()
        while not self.done():
            waited = time.monotonic() - begin
            await asyncio.sleep(min(waited * _FRACTION, _LONGEST))
        return self.result()

    @property
    def sycl_event(self) -> dpctl.SyclEvent:
        """The event of the copy: commands that depend on it see the elements.

        Where no command copies, the copy is waited for, and the event is complete.
        """
        import dpctl

        capsule = self._copy.event_capsule()
        if capsule is not None:
            return dpctl.SyclEvent(capsule)
        self._copy.wait()
        return dpctl.SyclEvent()

    def __repr__(self) -> str:
        return f"<AsyncCopy: {'done' if self.done() else 'pending'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a copy under way cannot be pickled; send its result()")


def check_wait(wait: Any) -> bool:
    """Check the ``wait=`` argument of a public function."""
    if isinstance(wait, bool):
        return wait
    raise TypeError(f"wait is {wait!r}; it must be True or False")


def to_numpy(
    tensor: _core.TensorBase, copy: bool | None, wait: Any
) -> NDArray[Any] | AsyncCopy[NDArray[Any]]:
    """Do what ``to_numpy(copy, wait)`` promises beyond a view or copy that is waited for."""
    if wait is not True and check_wait(wait):
        return tensor.to_numpy(copy)
    found = sources.plan_for(sources.facts_of(tensor), HOST, copy, any_strides=True).check()
    _ = tensor.dtype  # raises now where NumPy has no such dtype
    note(found.route.value, tensor.nbytes, found.copies)
    if found.copies == 0:
        return AsyncCopy(_core.pending_commands(tensor), lambda: _core.as_ndarray(tensor))
    target, pending = _core.begin_copy_to_host(tensor)
    return AsyncCopy(pending, lambda: _core.as_ndarray(target))
