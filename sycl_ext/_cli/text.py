# SPDX-License-Identifier: Apache-2.0
"""Floor 11. Aligned plain text, and the one error of the command line.  Pure Python."""

from __future__ import annotations

from collections.abc import Sequence


class CommandError(Exception):
    """What was asked for cannot be done; the text names the thing, the value and the way out."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> str:
    """Return rows in aligned columns, each two spaces apart.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str
    right : str
        The names of the columns to align to the right, in one string.

    Examples
    --------
    >>> print(table(("id", "name"), [("0", "one"), ("11", "two")], right="id"))
    id  name
     0  one
    11  two
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    to_the_right = [name in right.split() for name in header]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(cells, widths, to_the_right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, lines))


def duration(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> duration(0.0123), duration(0.00004)
    ('12.30 ms', '0.04 ms')
    """
    return f"{seconds * 1e3:,.2f} ms"
