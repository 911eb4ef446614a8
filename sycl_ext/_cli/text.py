# SPDX-License-Identifier: Apache-2.0
"""The one error of the command line, and times as people read them.  Pure Python."""

from __future__ import annotations


class CommandError(Exception):
    """What was asked for cannot be done; the text names the thing, the value and the way out."""


def duration(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> duration(0.0123), duration(0.00004)
    ('12.30 ms', '0.04 ms')
    """
    return f"{seconds * 1e3:,.2f} ms"
