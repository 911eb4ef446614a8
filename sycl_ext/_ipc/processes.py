# SPDX-License-Identifier: Apache-2.0
"""Facts about processes, from ``/proc``."""

from pathlib import Path

from sycl_ext._ipc.descriptors import raise_if_no_descriptor


def started(process: int) -> int:
    """Return when a process was started, in ticks since the boot; OSError: there is none.

    A later process with the same id has another one.
    """
    path = Path(f"/proc/{process}/stat")
    try:
        return int(path.read_text().rpartition(")")[2].split()[19])
    except OSError as error:
        raise_if_no_descriptor(error, f"reading {path}")
        raise
