"""Compile the kernel lab, with any C++ compiler: SYCL itself compiles the kernels at run time."""

from __future__ import annotations

import os
from pathlib import Path

from stand_in_build import compiler, installed, run

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(__file__).with_name("lab.cpp")
LIBRARY = ROOT / "build" / "kernels" / "libkernel_lab.so"
FLAGS = ("-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")


def environment() -> dict[str, str]:
    """The variables with which a process finds the kernels that another one has compiled."""
    return {"SYCL_CACHE_PERSISTENT": "1", "SYCL_CACHE_DIR": str(LIBRARY.parent / "cache")}


def build() -> Path:
    """Compile the lab, unless it is newer than all it is made of."""
    include = installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1]
    inputs = (SOURCE, include / "sycl" / "sycl.hpp", Path(__file__))
    if LIBRARY.exists() and LIBRARY.stat().st_mtime > max(p.stat().st_mtime for p in inputs):
        return LIBRARY
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    unfinished = LIBRARY.with_name(f"{LIBRARY.name}.{os.getpid()}")
    command = [*compiler(), *FLAGS, "-Wno-attributes", "-isystem", str(include), str(SOURCE)]
    command += ["-pthread", "-o", str(unfinished), f"-L{include.parent / 'lib'}", "-lsycl"]
    run(command)
    unfinished.replace(LIBRARY)  # a process that runs keeps the file it has loaded
    return LIBRARY
