# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the exchange, and what other exceptions mean. Pure Python."""

import functools
import signal
import threading
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, Final


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


#: After a refusal another way is tried, so endless recursion would not end, and the failure of a
#: copy would be lost, because it is raised only once.
_NO_REFUSALS: Final = (RecursionError, SyclError)


def is_refusal(error: Exception) -> bool:
    """Return whether an exception is the answer of the library that was asked.

    A signal handler may raise while the library is asked, mostly because time is over. Another way
    would then be tried, and nobody would hear of it.
    """
    return not isinstance(error, _NO_REFUSALS) and not _is_of_signal_handler(error)


def _is_of_signal_handler(error: Exception) -> bool:
    """Return whether an exception passed through the code of a signal handler of this process."""
    if threading.current_thread() is not threading.main_thread():
        return False  # Python calls no handlers there
    passed = set(_codes_of(error.__traceback__))
    return any(_code_of(signal.getsignal(number)) in passed for number in signal.valid_signals())


def _codes_of(traceback: TracebackType | None) -> Iterator[CodeType]:
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next


def _code_of(handler: Any) -> CodeType | None:
    """Return the code that runs first when a handler of `signal.signal` is called."""
    if isinstance(handler, functools.partial):
        return _code_of(handler.func)
    if isinstance(handler, FunctionType | MethodType):
        return handler.__code__  # a method has that of its function
    call = type(handler).__call__ if callable(handler) else None
    return call.__code__ if isinstance(call, FunctionType) else None


def message_of(error: object) -> str:
    """Return the text of an exception of another library, even if its ``__str__`` raises."""
    try:
        return str(error)
    except Exception as second:
        return f"(its message cannot be read: {type(second).__name__})"


def refusal_by(whose: str, error: Exception, known: str = "") -> ExchangeError:
    """Return the error that quotes the refusal of a library, and the known reason for it."""
    refusal = ExchangeError(f"{whose}: {type(error).__name__}: {message_of(error)}{known}")
    refusal.__cause__ = error
    return refusal
