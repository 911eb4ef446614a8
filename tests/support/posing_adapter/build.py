# SPDX-License-Identifier: Apache-2.0
"""Compile the adapter that poses as CUDA or HIP, and say how a process gets to see its GPUs."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from stand_in_build import built, compile_library, installed, opencl

# The runtime looks for adapters by name; this is one that no wheel fills.
LIBRARY = "libur_adapter_native_cpu.so.0"
SOURCE = Path(__file__).parent / "adapter.cpp"


def build(out_dir: Path) -> Path:
    """Compile the adapter into `out_dir`, unless it is newer than all it is made of."""
    headers = installed("intel-sycl-rt", "include/unified-runtime/ur_api.h")
    return compile_library(Path(out_dir) / LIBRARY, SOURCE, headers)


def environment(out_dir: Path, backend: str) -> dict[str, str]:
    """The variables of a process that sees the CPU device, and two GPUs of "cuda" or "hip"."""
    return {
        **opencl(installed("intel-opencl-rt", "lib/libintelocl.so")),
        "UR_ADAPTERS_SEARCH_PATH": str(built(out_dir, LIBRARY).parent),
        "POSING_BACKEND": backend,
    }


def set_delay_us(microseconds: int) -> None:
    """Pause so long before each command, in a process that has enumerated its devices."""
    path = Path(os.environ["UR_ADAPTERS_SEARCH_PATH"]) / LIBRARY
    library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)  # not a second copy
    library.posing_set_delay_us(ctypes.c_long(microseconds))
