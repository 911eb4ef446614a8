# SPDX-License-Identifier: Apache-2.0
"""Plain text for a terminal: aligned tables, wrapped sentences.  Pure Python."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> str:
    """Return rows in aligned columns; those that `right` names are aligned to the right.

    Examples
    --------
    >>> print(table(("id", "name"), [("0", "one"), ("11", "two")], right="id"))
    id  name
     0  one
    11  two
    """
    lines = [header, *rows] if header else list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    to_the_right = [name in right.split() for name in header or [""] * len(widths)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(cells, widths, to_the_right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, lines))


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
