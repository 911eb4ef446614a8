"""The switches and counters of the stand-in that this process has loaded, through ctypes.

A stand-in adapter and the stand-in Level Zero driver export the same functions.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from level_zero.build import LIBRARY as DRIVER

from .build import LIBRARY

COUNTERS = (
    "fakegpu_calls",
    "fakegpu_copies",
    "fakegpu_live_allocations",
    "fakegpu_device_bytes",
    "fakegpu_ipc_handles",
)
SWITCHES = {
    "fakegpu_fail_at": [ctypes.c_long],
    "fakegpu_set_delay_us": [ctypes.c_long],
    "fakegpu_async_error_next": [],
}


#: Of the Level Zero driver alone.
DRIVER_COUNTERS = (
    "fakegpu_opened_allocations",
    "fakegpu_running",
    "fakegpu_imports",
    "fakegpu_imported",
)
DRIVER_SWITCHES = {"fakegpu_lose_devices": []}


def path() -> Path:
    """Where this process finds its stand-in: an adapter, or a Level Zero driver."""
    if driver := os.environ.get("ZEL_LIBRARY_PATH"):
        return Path(driver) / DRIVER
    forced = os.environ.get("UR_ADAPTERS_FORCE_LOAD")
    return Path(forced or Path(os.environ.get("UR_ADAPTERS_SEARCH_PATH", "")) / LIBRARY)


def loaded() -> ctypes.CDLL:
    """The stand-in that the SYCL runtime has loaded: after the first enumeration of devices.

    Never a second copy, whose counters would stand still.
    """
    try:
        library = ctypes.CDLL(str(path()), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError as error:
        message = f"{path()} is not loaded: was the process started in its environment(), "
        raise RuntimeError(message + "and have devices been enumerated?") from error
    is_driver = path().name == DRIVER
    for name in (*COUNTERS, *(DRIVER_COUNTERS if is_driver else ())):
        getattr(library, name).argtypes = []
        getattr(library, name).restype = ctypes.c_long
    for name, arguments in {**SWITCHES, **(DRIVER_SWITCHES if is_driver else {})}.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = None
    return library
