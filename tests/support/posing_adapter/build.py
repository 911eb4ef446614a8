# SPDX-License-Identifier: Apache-2.0
"""Compile the adapter that poses as CUDA or HIP, and say how a process gets to see its GPUs."""

from __future__ import annotations

from pathlib import Path

from stand_in_build import built, compile_library, installed

SOURCE = Path(__file__).parent / "adapter.cpp"


def library(backend: str) -> str:
    """The name by which the runtime looks for the adapter of a backend; no wheel fills it."""
    return f"libur_adapter_{backend}.so.0"


def build(out_dir: Path, backend: str) -> Path:
    """Compile the adapter into `out_dir`, unless it is newer than all it is made of."""
    headers = installed("intel-sycl-rt", "include/unified-runtime/ur_api.h")
    real = installed("intel-sycl-rt", "lib/libur_adapter_level_zero_v2.so.0")
    flags = ["-Wl,--no-as-needed", f"-L{real.parent}", f"-l:{real.name}"]
    flags += [f"-Wl,-rpath,{real.parent}", f"-DPOSING_BACKEND=UR_BACKEND_{backend.upper()}"]
    return compile_library(Path(out_dir) / library(backend), SOURCE, headers, *flags)


def environment(out_dir: Path, backend: str) -> dict[str, str]:
    """The variables, besides those of the driver, for the CPU and two GPUs of `backend`."""
    return {
        "UR_ADAPTERS_SEARCH_PATH": str(built(out_dir, library(backend)).parent),
        "ONEAPI_DEVICE_SELECTOR": f"opencl:cpu;{backend}:gpu",  # not these GPUs as what they are
    }
