# SPDX-License-Identifier: Apache-2.0
"""Plain text for a terminal: aligned tables, wrapped sentences.  Pure Python."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80


def table(*rows: Sequence[str], right: int = 0) -> str:
    """Return rows in aligned columns, of which the first ones are aligned to the right.

    Examples
    --------
    >>> print(table(("id", "name"), ("0", "one"), ("11", "two"), right=1))
    id  name
     0  one
    11  two
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i < right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def wrap(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> str:
    """Return a sentence in lines of so many columns; a word, such as a path, is never cut.

    `first` and `rest` begin the first line and the others; None: as many spaces as `first` has.
    """
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
