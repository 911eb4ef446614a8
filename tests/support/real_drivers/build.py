# SPDX-License-Identifier: Apache-2.0
"""Fetch the real drivers, and say which environment makes a process see their devices.

    python tests/support/real_drivers/build.py      # the first step of `make neo` and others

Touches `build/neo` of the checkout, and makes `python-on-sid` in the virtual environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from real_drivers import debian
from stand_in_build import compile_library, compiler, installed, opencl, run

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[2] / "build" / "neo"
SID = FOLDER / "sid"
LOADER = FOLDER / "loader"
OPENCL_LAYER = FOLDER / "libwithout_device_opencl.so"
VERSIONS = FOLDER / "versions.json"  # written last
PACKAGES = ("libze-intel-gpu1", "libze1", "intel-opencl-icd", "pocl-opencl-icd", "llvm-spirv-21")
#: For `compilers.py`.
COMPILERS = ("g++", "clang", "libc++-dev")
#: The code that `make neo` ends with success for: the drivers cannot be fetched here.
UNREACHABLE = 3
#: Names for the log.
DRIVERS = {"libze-intel-gpu1": "Intel's compute-runtime", "libpocl2t64": "PoCL"}

#: Keys of Intel's driver for its own developers: no device, and copies by the processor at once.
NO_DEVICE = {
    "NEOReadDebugKeys": "1",
    "UseAubStream": "0",
    "SetCommandStreamReceiver": "5",
    "ExperimentalForceCopyThroughLock": "1",
    # shared USM is in one place: no device faults for pages to move
    "AllocateSharedAllocationsWithCpuAndGpuStorage": "0",
}
CARDS = {
    "pvc": {"ProductFamilyOverride": "pvc", "HardwareInfoOverride": "8x8x8"},
    "bmg": {
        "ProductFamilyOverride": "bmg",
        "HardwareInfoOverride": "5x4x8",
        "UseBindlessMode": "0",
    },
}
TWO_CARDS = {
    "CreateMultipleRootDevices": "2",
    "CreateMultipleSubDevices": "2",
    "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE",
}
#: Without them, the OpenCL driver waits for a time that no device writes.
NO_TIMESTAMPS = {"EnableTimestampWaitForQueues": "0", "EnableTimestampWaitForEvents": "0"}
#: The names of all variables here, which another environment must not inherit.
VARIABLES = tuple({**NO_DEVICE, **CARDS["bmg"], **TWO_CARDS, **NO_TIMESTAMPS})


def build() -> dict[str, str]:
    """Fetch and unpack the drivers, unless they are there, and return the versions of packages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_complete():
            shutil.rmtree(SID, ignore_errors=True)
            versions = debian.unpack(PACKAGES, COMPILERS, SID)
            VERSIONS.write_text(json.dumps(versions, indent=2) + "\n")
        _build_loader()
        header = installed("intel-sycl-rt", "include/CL/cl_layer.h")
        compile_library(OPENCL_LAYER, HERE / "without_device_opencl.cpp", header)
        return json.loads(VERSIONS.read_text())


def _is_complete() -> bool:
    """Whether all packages are there; an earlier checkout may have fetched fewer."""
    known = json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}
    return known.keys() >= {*PACKAGES, *COMPILERS}


def _build_loader() -> None:
    """A loader of Level Zero that is Debian's but for the functions of `without_device.c`.

    Both are found by the same name, so ours names Debian's by its path. The linker writes the name
    by which a library calls itself, so it is given an empty one that calls itself by that path.
    """
    source = HERE / "without_device.c"
    library = LOADER / "libze_loader.so.1"
    if library.exists() and library.stat().st_mtime > source.stat().st_mtime:
        return
    library.parent.mkdir(exist_ok=True)
    debians = (debian.libraries(SID) / library.name).resolve()
    named = library.with_name("named_by_its_path.so")
    shared = [*compiler(), "-shared", "-fPIC", "-Wl,--no-as-needed", "-xc"]
    run([*shared, os.devnull, f"-Wl,-soname,{debians}", "-o", str(named)])
    own_name = f"-Wl,-soname,{library.name}"
    run([*shared, str(source), "-xnone", str(named), own_name, "-o", str(library)])


def python() -> str:
    """The Python to start, with the C library of the drivers."""
    build()
    return str(debian.python(SID))


def cpu_driver() -> Path:
    """The OpenCL driver of the CPU, from its wheel."""
    return installed("intel-opencl-rt", "lib/libintelocl.so")


def level_zero(adapter: str, card: str) -> dict[str, str]:
    """The CPU, and two GPUs of two tiles of Intel's Level Zero driver."""
    build()
    folders = debian.libraries(SID)
    return {
        **opencl(cpu_driver()),
        **NO_DEVICE,
        **CARDS[card],
        **TWO_CARDS,
        "SYCL_UR_USE_LEVEL_ZERO_V2": {"v1": "0", "v2": "1"}[adapter],
        "ZEL_LIBRARY_PATH": str(LOADER),
        "ZE_ENABLE_ALT_DRIVERS": str(folders / "libze_intel_gpu.so.1"),
    }


def opencl_gpus() -> dict[str, str]:
    """The CPU, and two GPUs of one platform of Intel's OpenCL driver."""
    build()
    driver = debian.libraries(SID) / "intel-opencl" / "libigdrcl.so"
    return {
        **opencl(cpu_driver(), driver),
        **NO_DEVICE,
        **CARDS["pvc"],
        **TWO_CARDS,
        **NO_TIMESTAMPS,
        "OPENCL_LAYERS": str(OPENCL_LAYER),
        "ONEAPI_DEVICE_SELECTOR": "*:cpu;opencl:gpu",
    }


def pocl() -> dict[str, str]:
    """The CPU of PoCL, whose kernels it compiles into `build/neo`."""
    build()
    folders = debian.libraries(SID)
    translator = next((SID / "usr" / "bin").glob("llvm-spirv-*"))
    return {
        **opencl(folders / "libpocl.so.2"),
        "ONEAPI_DEVICE_SELECTOR": "*:cpu",
        "POCL_CACHE_DIR": str(FOLDER / "kernels"),
        "POCL_PATH_LLVM_SPIRV": str(debian.launcher(SID, translator, FOLDER / "llvm-spirv")),
    }


def main() -> int:
    """Build, and say in one line which drivers there are, or that nothing is tested."""
    try:
        versions = build()
    except debian.UnreachableError as error:
        warning = (
            "NOTHING WAS TESTED on Intel's real driver and PoCL 7, or with sid's compilers, which "
            f"come from {debian.MIRROR}: {error}"
        )
        print(f"WARNING: {warning}", file=sys.stderr)
        if "GITHUB_ACTIONS" in os.environ:
            print(f"::warning title=make neo::{warning}")
        return UNREACHABLE
    print(*(f"{driver} {versions[package]}" for package, driver in DRIVERS.items()), sep=", ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
