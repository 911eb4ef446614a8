# SPDX-License-Identifier: Apache-2.0
"""The switches and counters of the stand-in driver that this process has loaded, through ctypes."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from .build import LIBRARY

COUNTERS = (
    *("advice", "advised", "calls", "copies", "device_bytes", "imported", "imports"),
    *("ipc_handles", "live_allocations", "most_in_flight", "opened_allocations"),
    *("prefetched", "running"),
)
SWITCHES = {
    "async_error_next": [],
    "fail_at": [ctypes.c_long],
    "fail_queries": [ctypes.c_long],
    "leave_host_allocations": [ctypes.c_long],
    "lose_devices": [],
    "set_delay_us": [ctypes.c_long],
}


def loaded() -> ctypes.CDLL:
    """The driver that the SYCL runtime has loaded: after the first enumeration of devices.

    Never a second copy, whose counters would stand still.
    """
    path = Path(os.environ.get("ZEL_LIBRARY_PATH", "")) / LIBRARY
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError as error:
        message = f"{path} is not loaded: was the process started in its environment(), "
        raise RuntimeError(message + "and have devices been enumerated?") from error
    for name in COUNTERS:
        getattr(library, f"fakegpu_{name}").argtypes = []
        getattr(library, f"fakegpu_{name}").restype = ctypes.c_long
    for name, arguments in SWITCHES.items():
        getattr(library, f"fakegpu_{name}").argtypes = arguments
        getattr(library, f"fakegpu_{name}").restype = None
    return library
