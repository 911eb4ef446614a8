# SPDX-License-Identifier: Apache-2.0
"""`AsyncCopy`: a copy in the background."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sycl_ext import _core
from sycl_ext._devices import companion
from sycl_ext._negotiation.arguments import check_flag
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.identity import Identity
from sycl_ext._protocols.plans import plan_for
from sycl_ext._protocols.trace import note

if TYPE_CHECKING:
    import dpctl
    from numpy.typing import NDArray

Result = TypeVar("Result")

#: Seconds between two polls of ``await``: a fraction of the time that it has waited, up to the last
#: number.
_FRACTION, _LONGEST = 1 / 8, 0.005


class AsyncCopy(Identity, Generic[Result]):
    """A copy in the background.

    ``Tensor.copy_from(x, wait=False)`` and ``Tensor.to_numpy(wait=False)`` return one. A dense copy
    is one command. It comes after the work on both sides, and after earlier copies of its device. A
    copy that needs more than one command (strides, overlap, another context) is done when the call
    returns.

    Both sides stay alive until the copy is done, even if this object is dropped. Later exports,
    reads and writes through this package come after the copy: an export of the target, by any
    protocol and for any ``stream`` but -1, sees the elements. Code that obtained the memory earlier
    must wait for the copy itself, and so must code that writes to a source other than a tensor.
    `wait` raises an error of the copy each time; otherwise the next read of the target raises it
    once.

    Ctrl-C ends a wait, not the copy. In a forked child, a copy of the parent counts as failed,
    unless it was known to be done. A process that exits does not wait for the copy.

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
        """Whether the copy has ended: `wait` then returns, or raises, at once."""
        return bool(self._copy.done())

    def wait(self) -> None:
        """Wait until the elements are copied.

        Raises
        ------
        SyclError, MemoryError
            If the copy failed, each time.
        SyclError
            In a forked child, which cannot wait for a copy of its parent.
        """
        self._copy.wait()

    def result(self) -> Result:
        """Wait, and return the target: a tensor or an array.

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
        """Wait in a coroutine of asyncio, while other coroutines run, and return the `result`."""
        return self._until_done().__await__()

    async def _until_done(self) -> Result:
        import asyncio
        import time

        begin = time.monotonic()
        while self._copy.done() is False:  # None: only a wait shows
            waited = time.monotonic() - begin
            await asyncio.sleep(min(waited * _FRACTION, _LONGEST))
        return self.result()

    @property
    def sycl_event(self) -> dpctl.SyclEvent:
        """The event of the copy: commands that depend on it see the elements.

        For a copy that is not a single command, this waits for the copy, and the event is complete.
        Without dpctl it is an object with ``_get_capsule()`` and ``wait()``.
        """
        if (dpctl := companion.find_dpctl()) is None:
            return companion.SyclEvent(self._copy)
        return dpctl.SyclEvent(self._copy.event_capsule())

    def __repr__(self) -> str:
        return f"<AsyncCopy: {'done' if self.done() else 'pending'}>"

    _portable_form = "send its result()"


def to_numpy(
    tensor: _core.TensorBase, copy: bool | None, wait: Any
) -> NDArray[Any] | AsyncCopy[NDArray[Any]]:
    """Implement ``to_numpy(copy, wait)`` except for views and copies that wait."""
    if wait is not True and check_flag("wait", wait):
        array: NDArray[Any] = tensor.to_numpy(copy)
        return array
    plan = plan_for(_core.array_facts(tensor), HOST, copy, any_strides=True).check()
    _ = tensor.dtype  # raises now where NumPy has no such dtype
    note(plan.route.value, tensor, plan.copies)
    if plan.copies == 0:
        return AsyncCopy(
            _core.pending_commands(tensor), lambda: _core.as_ndarray(tensor, wait=True)
        )
    target, pending = _core.begin_copy_to_host(tensor)
    return AsyncCopy(pending, lambda: _core.as_ndarray(target, wait=True))
