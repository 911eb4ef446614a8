# SPDX-License-Identifier: Apache-2.0
"""Variables that select the SYCL devices of this process and its children.

Nothing here loads the SYCL runtime, which reads them once.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import pytest

__all__ = ["drivers", "layer", "select", "variables"]

LAYER = "libopencl_gpu.so"
DRIVER = re.compile(r"libintelocl\.so[\d.]*")


def layer() -> Path:
    """Return the OpenCL layer that presents a CPU device as a GPU.

    Raises
    ------
    FileNotFoundError
        If this installation has none.
    """
    spec = find_spec("sycl_ext_pytest")
    assert spec is not None
    # A checkout in the current folder has only the sources; the installed package is behind it.
    installed = (Path(at, "sycl_ext_pytest") for at in sys.path)
    for folder in (*(spec.submodule_search_locations or ()), *installed):
        if (path := Path(folder) / LAYER).exists():
            return path
    raise FileNotFoundError(f"{LAYER} is not installed; it is part of the wheels for Linux")


def drivers() -> list[Path]:
    """Return the OpenCL drivers of the wheel intel-opencl-rt: each file is a platform of its own.

    Raises
    ------
    FileNotFoundError
        If it is not installed.
    """
    try:
        installed = distribution("intel-opencl-rt").files or []
    except PackageNotFoundError:
        raise FileNotFoundError(
            'there is no CPU device; install it: pip install "intel-opencl-rt>=2026.0,<2027"'
        ) from None
    spec = find_spec("sycl_ext")  # finds it, and does not import it
    assert spec is not None
    assert spec.origin is not None
    rules = runpy.run_path(str(Path(spec.origin).parent / "_setup" / "prefix.py"))
    by_inode: dict[int, Path] = {}
    for name in sorted({file.name for file in installed if DRIVER.fullmatch(file.name)}):
        if (driver := rules["find"](name)) is not None:
            path = Path(driver).resolve()
            by_inode.setdefault(path.stat().st_ino, path)
    return list(by_inode.values())


def variables(device: Literal["cpu", "gpu"]) -> dict[str, str]:
    """Return the variables for a choice of devices.

    Parameters
    ----------
    device : {"cpu", "gpu"}
        Only the CPU, or the CPU and a GPU; dpctl then uses the GPU by default.
    """
    count = {"cpu": 1, "gpu": 2}[device]
    files = drivers()[:count]
    if len(files) < count:
        raise FileNotFoundError(
            f"the files of intel-opencl-rt have {len(files)} of the {count} drivers that "
            f"{device!r} needs; install it again: pip install --force-reinstall intel-opencl-rt"
        )
    selection = {
        "OCL_ICD_FILENAMES": os.pathsep.join(map(str, files)),
        "OCL_ICD_VENDORS": str(Path(__file__).parent),  # no driver is announced there
        "ONEAPI_DEVICE_SELECTOR": {"cpu": "*:cpu", "gpu": "*:cpu,gpu"}[device],
    }
    if device == "gpu":
        selection |= {"OPENCL_LAYERS": str(layer()), "OPENCL_GPU_CPUS": "1"}
    return selection


def select(device: Literal["cpu", "gpu"]) -> None:
    """Set the variables in this process.

    Raises
    ------
    pytest.UsageError
        If this is impossible, or too late.
    """
    early = sorted({"dpctl", "dpnp", "sycl_ext"} & set(sys.modules))
    if early:
        raise pytest.UsageError(
            f"--sycl-device={device}: {', '.join(early)} was imported before, by a plugin; without "
            f"the option: env $(python -m sycl_ext_pytest {device}) pytest ..."
        )
    try:
        os.environ.update(variables(device))
    except FileNotFoundError as error:
        raise pytest.UsageError(f"--sycl-device={device}: {error}") from None
