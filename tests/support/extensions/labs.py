# SPDX-License-Identifier: Apache-2.0
"""Builds the extension modules of these tests and the examples, all at once, and imports them."""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind
import pybind11

import sycl_ext as sx
from stand_in_build import compiler, installed, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "extensions"
EXAMPLES = {name: ROOT / "examples" / name for name in ("axpy", "clear", "scatter_rows")}
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
HEADERS = sorted(Path(sx.get_include()).rglob("*.h*"))

_NANOBIND = Path(nanobind.__file__).parent
#: name -> source, more sources, flags
LABS = {
    "table_lab": ("table_lab.cpp", [], []),
    "version_lab": ("version_lab.cpp", [], []),
    "version_lab_8": ("version_lab.cpp", [], ["-DSYCL_EXT_LIBSYCL_MAJOR=8"]),
    "views_pybind11": ("views_lab.cpp", [], [f"-I{pybind11.get_include()}"]),
    "views_nanobind": (
        "views_lab.cpp",
        [_NANOBIND / "src" / "nb_combined.cpp"],
        [
            f"-I{_NANOBIND / 'include'}",
            f"-I{_NANOBIND / 'ext/robin_map/include'}",
            "-DLAB_NANOBIND",
        ],
    ),
}


def library(name: str) -> Path:
    return BUILD / name / f"{name}{SUFFIX}"


def is_fresh(target: Path, *sources: Path) -> bool:
    return target.exists() and target.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def build_lab(name: str) -> None:
    source, more, flags = LABS[name]
    if is_fresh(library(name), HERE / source, *HEADERS, Path(__file__)):
        return
    library(name).parent.mkdir(parents=True, exist_ok=True)
    sycl = installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1]
    command = [*compiler(), "-O0", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += ["-Wall", "-Wextra", "-Wno-attributes", "-isystem", str(sycl), "-isystem"]
    command += [sysconfig.get_path("include"), f"-I{sx.get_include()}", f"-DLAB_NAME={name}"]
    command += [*flags, str(HERE / source), *map(str, more), "-o", str(library(name))]
    lib = sycl.parent / "lib"
    run([*command, f"-L{lib}", "-lsycl", f"-Wl,-rpath,{lib}"])


def build_example(name: str) -> None:
    """As its CMakeLists.txt says, without optimization, which takes as long as all the rest."""
    source, folder = EXAMPLES[name], BUILD / name
    if is_fresh(library(name), *source.iterdir(), *HEADERS, Path(sx.get_cmake_dir())):
        return
    configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_CXX_FLAGS=-O0"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    configure += [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]
    configure += [f"-Dsycl_ext_DIR={sx.get_cmake_dir()}"]
    scripts = [sysconfig.get_path("scripts"), os.environ["PATH"]]
    variables = {**os.environ, "PATH": os.pathsep.join(scripts)}
    for command in (configure, ["cmake", "--build", folder]):
        done = subprocess.run(
            list(map(str, command)), env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@functools.cache
def build_all() -> None:
    """One worker builds, and the others wait for it: they have one folder."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock, ThreadPoolExecutor(os.cpu_count()) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        jobs = [pool.submit(build_lab, name) for name in LABS]
        jobs += [pool.submit(build_example, name) for name in EXAMPLES]
        for job in jobs:
            job.result()


def build_c_lab(name: str) -> None:
    """With a C compiler, dlpack.h and Python's headers: nothing of SYCL and of this package."""
    source, target = HERE / f"{name}.c", library(name)
    if is_fresh(target, source, Path(__file__)):
        return
    from tvm_ffi.libinfo import find_dlpack_include_path  # takes longer than most tests

    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")  # several workers may build it
    command = [os.environ.get("CC") or "cc", "-std=c11", "-O0", "-shared", "-fPIC", "-pthread"]
    command += ["-Wall", "-Wextra", "-Werror", "-isystem", sysconfig.get_path("include")]
    run([*command, f"-I{find_dlpack_include_path()}", str(source), "-o", str(unfinished)])
    unfinished.replace(target)


def load(name: str):
    """Import a module that was built."""
    if name in LABS or name in EXAMPLES:
        build_all()
    else:
        build_c_lab(name)
    importlib.import_module("sycl_ext._core")  # loads libsycl, to which the labs have no path
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, library(name))
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
