# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the exchange.  Pure Python."""

from __future__ import annotations

__all__ = ["CopyRefusedError", "ExchangeError", "SyclError"]


class ExchangeError(BufferError):
    """A producer or consumer refused; its own exception is the ``__cause__``."""


class CopyRefusedError(BufferError, ValueError):
    """``copy=False`` was asked for, and the exchange needs a copy.

    The array API names `BufferError` in one place and `ValueError` in another; this is both.
    """


class SyclError(RuntimeError):
    """The SYCL runtime reported a failure; the text is the runtime's."""
