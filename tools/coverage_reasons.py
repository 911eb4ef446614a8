# SPDX-License-Identifier: Apache-2.0
"""Why the tests do not run some lines: one entry each, for ``coverage_report.py``."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Lines of a file that match a pattern, or lie in the block that such a line opens."""

    path: str
    pattern: str
    why: str

    def covers(self, text: list[str], number: int) -> bool:
        """Whether the line, or one around it that is indented less, matches."""
        line = text[number - 1]
        indent = len(line) - len(line.lstrip())
        if re.search(self.pattern, line):
            return True
        for above in reversed(text[: number - 1]):
            if not above.strip():
                continue
            depth = len(above) - len(above.lstrip())
            if depth < indent:
                if re.search(self.pattern, above):
                    return True
                indent = depth
                if depth == 0:
                    return False
        return False


REASONS: tuple[Reason, ...] = ()
