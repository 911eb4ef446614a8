# SPDX-License-Identifier: Apache-2.0
"""Test environments and two compiled helpers for the benchmarks."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "benchmarks"
SOURCE = Path(__file__).parent / "bare.cpp"

sys.path.append(str(ROOT / "tests" / "support"))
import environments  # noqa: E402
import stand_in_build  # noqa: E402


def use_cpu_device() -> None:
    """Make this process see only the OpenCL CPU device. Call it before the runtime is loaded."""
    for name in set(os.environ) - set(environments.clean_environment()):
        del os.environ[name]
    os.environ.update(environments.cpu())


def stand_in_gpu() -> dict[str, str]:
    """Return the environment of a process that sees one stand-in GPU and the CPU device."""
    variables = environments.level_zero(devices=1, tiles=0)
    return {**environments.clean_environment(), **variables}


def load_bare() -> ModuleType:
    """Compile ``bare.cpp`` unless it is built, and import it."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    library = SCRATCH / f"bare{suffix}"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        from tvm_ffi.libinfo import find_dlpack_include_path

        runtime = stand_in_build.installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[2]
        includes = (sysconfig.get_path("include"), find_dlpack_include_path(), runtime / "include")
        SCRATCH.mkdir(parents=True, exist_ok=True)
        command = [*stand_in_build.compiler(), "-O2", "-std=c++17", "-shared", "-fPIC", str(SOURCE)]
        command += [word for folder in includes for word in ("-isystem", str(folder))]
        command += ["-o", str(library), f"-L{runtime / 'lib'}", "-l:libsycl.so.9"]
        stand_in_build.run(command)
    spec = importlib.util.spec_from_file_location("bare", library)
    if spec is None or spec.loader is None:
        raise ImportError(f"{library} is not an extension module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
