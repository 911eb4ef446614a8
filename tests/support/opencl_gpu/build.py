"""Compile the layer and say which environment makes a process see the posing GPU.

Touches `out_dir` only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from stand_in_build import built, compile_library, installed, opencl

LIBRARY = "libopencl_gpu.so"
SOURCE = Path(__file__).resolve().parents[3] / "sycl_ext_pytest" / "opencl_gpu.cpp"


def build(out_dir: Path) -> Path:
    """Compile the layer into `out_dir`, unless it is newer than all it is made of."""
    header = installed("intel-sycl-rt", "include/CL/cl_layer.h")
    return compile_library(Path(out_dir) / LIBRARY, SOURCE, header)


def drivers(count: int, out_dir: Path) -> list[Path]:
    """`count` files of Intel's OpenCL runtime, each a platform of its own.

    The wheel has two copies, conda has links to one; the missing one is copied to `out_dir`: a
    process loads a file once, however many names it has.
    """
    driver = installed("intel-opencl-rt", "lib/libintelocl.so")
    drivers_by_file = {driver.stat().st_ino: driver}
    for path in sorted(driver.parent.glob("libintelocl.so*")):
        if path.suffix != ".py":
            drivers_by_file.setdefault(path.stat().st_ino, path)
    while len(drivers_by_file) < count:
        copy = _copy(driver, Path(out_dir).resolve() / f"driver_{len(drivers_by_file)}")
        drivers_by_file[copy.stat().st_ino] = copy
    return list(drivers_by_file.values())[:count]


def _copy(driver: Path, folder: Path) -> Path:
    """A copy of the driver, with links to the files that it looks for in its own folder."""
    copy = folder / driver.name
    if not copy.exists():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        for file in driver.parent.glob("*.*"):
            if not file.name.startswith(driver.name):
                (unfinished / file.name).symlink_to(file)
        shutil.copy(driver, unfinished)
        with contextlib.suppress(OSError):  # another process was faster
            unfinished.rename(folder)
        shutil.rmtree(unfinished, ignore_errors=True)
    return copy


def environment(
    out_dir: Path, *, cpus: int = 1, gpus: int = 1, system_usm: bool = False, pair: bool = False
) -> dict[str, str]:
    """The variables for a process that shall see `cpus` CPU devices, and `gpus` GPUs after them.

    Each device is a platform of its own, with its own default context; with `pair`, two GPUs are.
    """
    library = built(out_dir, LIBRARY)
    return {
        **opencl(*drivers(cpus + gpus, out_dir)),
        "OPENCL_LAYERS": str(library),
        "OPENCL_GPU_CPUS": str(cpus),
        "OPENCL_GPU_SYSTEM_USM": str(int(system_usm)),
        "OPENCL_GPU_PAIR": str(int(pair)),
    }
