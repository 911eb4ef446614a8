# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the exchange, and what other exceptions mean. Pure Python."""

import inspect
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from types import FrameType, TracebackType
from typing import Final


class ExchangeError(BufferError):
    """A producer or consumer refused; its own exception is the ``__cause__``."""

    __module__ = "sycl_ext"


class CopyRefusedError(BufferError, ValueError):
    """The exchange needs a copy, but ``copy=False`` was requested.

    The array API names `BufferError` in one place and `ValueError` in another; this is both.
    """

    __module__ = "sycl_ext"


class SyclError(RuntimeError):
    """The SYCL runtime reported a failure; the text is the runtime's."""

    __module__ = "sycl_ext"


#: Exceptions that no library answers with. After a refusal another way is tried: endless recursion
#: would then not end, and the failure of a copy would be lost, because it is raised only once.
_NO_REFUSALS: Final = (RecursionError, SyclError)


def is_refusal(error: Exception) -> bool:
    """Return whether an exception is the answer of the library that was asked.

    A signal handler may raise while the library is asked, mostly because time is over. Another way
    would then be tried, and nobody would hear of it.
    """
    return not isinstance(error, _NO_REFUSALS) and not is_of_signal_handler(error)


class SuppressRefusals:
    """Suppresses every `Exception` in its ``with`` block, but not that of a signal handler."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _cls: object, error: BaseException | None, _traceback: object) -> bool:
        return isinstance(error, Exception) and not is_of_signal_handler(error)


def is_of_signal_handler(error: Exception) -> bool:
    """Return whether an exception passed through a call of a signal handler."""
    if threading.current_thread() is not threading.main_thread():
        return False  # Python calls no handlers there
    return any(map(_is_call_of_handler, _ended_frames_of(error.__traceback__)))


def _ended_frames_of(traceback: TracebackType | None) -> Iterator[FrameType]:
    """Return the frames that an exception has left.

    The others still run. Before Python 3.13, a look at their variables would keep these, above all
    the exception, which would be a cycle.
    """
    running: list[FrameType] = []
    frame = sys._getframe()
    while frame.f_back is not None:
        running.append(frame := frame.f_back)
    while traceback is not None:
        if traceback.tb_frame not in running:
            yield traceback.tb_frame
        traceback = traceback.tb_next


def _is_call_of_handler(frame: FrameType) -> bool:
    """Return whether a frame was called with the number of a signal and the frame that called it.

    Python calls every handler so, and nothing else. Which handlers are set does not tell: many a
    handler sets the earlier one again before it raises.
    """
    caller, code, values = frame.f_back, frame.f_code, frame.f_locals
    arguments = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        arguments += rest if isinstance(rest, tuple) else ()
    return caller is not None and any(
        type(number) is int and interrupted is caller for number, interrupted in pairwise(arguments)
    )


def message_of(error: object) -> str:
    """Return the text of an exception of another library, even if its ``__str__`` raises."""
    try:
        return str(error)
    except Exception as second:
        if is_of_signal_handler(second):
            raise
        return f"(its message cannot be read: {type(second).__name__})"


def refusal_by(whose: str, error: Exception, known: str = "") -> ExchangeError:
    """Return the error that quotes the refusal of a library, and the known reason for it."""
    refusal = ExchangeError(f"{whose}: {type(error).__name__}: {message_of(error)}{known}")
    refusal.__cause__ = error
    return refusal
