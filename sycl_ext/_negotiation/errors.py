# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the exchange, and the texts of other exceptions. Pure Python."""


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


#: Exceptions that do not count as a refusal. After a refusal another way is tried, so endless
#: recursion would not end, and the failure of a copy would be lost, because it is raised only once.
NO_REFUSALS = (RecursionError, SyclError)


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
