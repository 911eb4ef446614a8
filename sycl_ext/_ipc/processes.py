# SPDX-License-Identifier: Apache-2.0
"""Facts about processes, from ``/proc``: when one was started, and its ancestors."""

from collections.abc import Iterable
from pathlib import Path

from sycl_ext._ipc.descriptors import DescriptorError, raise_if_no_descriptor

#: States of a process that has ended, and that its parent has not yet asked about.
_ENDED = ("Z", "X")


def _status(process: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on; OSError: there is no process."""
    path = Path(f"/proc/{process}/stat")
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError as error:
        raise_if_no_descriptor(error, f"reading {path}")
        raise


def started(process: int) -> int:
    """Return when a process was started, in ticks since the boot; OSError: there is none.

    A later process with the same id has another one.
    """
    return int(_status(process)[19])


def has_ended(process: int, start: int) -> bool:
    """Whether the process with this id, which was started then, is known to have ended."""
    try:
        status = _status(process)
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:  # no descriptor is left here, for example
        return False
    return status[0] in _ENDED or int(status[19]) != start


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
            process = int(_status(process)[1])
        except DescriptorError:
            raise
        except OSError:
            break
    return line
