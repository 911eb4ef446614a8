# SPDX-License-Identifier: Apache-2.0
"""The process that has launched the ranks: their common ancestor, from ``/proc``."""

from collections.abc import Iterable
from pathlib import Path


def common_ancestor(processes: Iterable[int]) -> int:
    """Return the nearest process that is each of them or its ancestor; 0: there is none."""
    lines = [_line(process) for process in processes]
    return next((process for process in lines[0] if all(process in line for line in lines)), 0)


def _line(process: int) -> list[int]:
    """Return a process and its ancestors, nearest first."""
    line = []
    while process > 0:
        line.append(process)
        try:
            status = Path(f"/proc/{process}/stat").read_text()
        except OSError:  # outside of this container, for example
            break
        process = int(status.rpartition(")")[2].split()[1])
    return line
