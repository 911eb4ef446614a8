# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the exchange, and which ones of libraries are refusals. Pure Python."""

from typing import Final


class ExchangeError(BufferError):
    """A producer or consumer refused; its own exception is the ``__cause__``."""

    __module__ = "sycl_ext"


class CopyRefusedError(BufferError, ValueError):
    """The exchange needs a copy, but ``copy=False`` was requested.

    The array API specifies `BufferError` in one place and `ValueError` in another; this is both.
    """

    __module__ = "sycl_ext"


class SyclError(RuntimeError):
    """The SYCL runtime reported a failure; the text is the runtime's."""

    __module__ = "sycl_ext"


#: The exceptions by which a producer or an importing function refuses; `NotImplementedError` is a
#: `RuntimeError`. After a refusal another way is tried. Every other exception goes through
#: untouched, so a signal handler that ends a call raises a class of its own.
REFUSALS: Final = (BufferError, TypeError, ValueError, RuntimeError, AttributeError)
#: Classes of libraries that refuse by another exception.
NAMED_REFUSALS: Final = frozenset(
    {
        "dpnp.tensor._dlpack.DLPackCreationError",
        "tensorflow.python.framework.errors_impl.InvalidArgumentError",
    }
)
#: Subclasses that are not refusals: recursion would not end, and the failure of a copy would be
#: lost, because the runtime reports it only once.
NO_REFUSALS: Final = (RecursionError, SyclError)


def is_refusal(error: Exception) -> bool:
    """Return whether an exception is a refusal.

    Examples
    --------
    >>> [is_refusal(error) for error in (TypeError(), NotImplementedError(), TimeoutError())]
    [True, True, False]
    """
    if isinstance(error, REFUSALS):
        return not isinstance(error, NO_REFUSALS)
    cls = type(error)
    return f"{cls.__module__}.{cls.__qualname__}" in NAMED_REFUSALS


def message_of(error: object) -> str:
    """Return the text of an exception of another library, even if its ``__str__`` refuses."""
    try:
        return str(error)
    except REFUSALS as second:
        return f"(its message cannot be read: {type(second).__name__})"


def refusal_by(whose: str, error: Exception, known: str = "") -> ExchangeError:
    """Return the error that quotes the refusal of a library, and the known reason for it."""
    quoted = ": ".join(filter(None, (type(error).__name__, message_of(error))))
    refusal = ExchangeError(f"{whose}: {quoted}{known}")
    refusal.__cause__ = error
    return refusal
