# SPDX-License-Identifier: Apache-2.0
"""Compile the package with the newest compilers, so that no file borrows an include of another one.

    python tests/support/real_drivers/compilers.py      # the second step of `make newest-compilers`

Debian sid's g++ builds the package, which then runs with sid's C library.  Its clang compiles every
file by itself, each header as well, with the headers of libc++, which include few others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from real_drivers import build, debian
from stand_in_build import opencl, run

ROOT = Path(__file__).resolve().parents[3]
#: The launchers of the compilers, which look there for the programs that they start.
PROGRAMS = build.FOLDER / "compilers"
PACKAGE = build.FOLDER / "package"
#: Programs that g++ starts.
STARTED = ("as", "ld", "cc1plus", "collect2")
FOLDERS = ("src", "sycl_ext/include", "sycl_ext_pytest", "tests/core/cpp", "examples")

#: libc++ has no forced unwind, by which glibc ends a thread.
FORCED_UNWIND = """\
namespace __cxxabiv1 {
class __forced_unwind {
  virtual ~__forced_unwind();
};
}
"""
SMOKE = """\
import dpnp, numpy, sycl_ext as sx
from sycl_ext import _core
assert _core.__file__.startswith({package!r}), _core.__file__
for usm_type in "device", "shared", "host":
    tensor = sx.full((3, 4), 7, usm_type=usm_type)
    assert (tensor[1:].T.to_numpy() == 7).all()
    array = sx.exchange(tensor, dpnp)
    array += 1
    assert (sx.from_dlpack(array).to_numpy() == 8).all()
assert sx.from_dlpack(numpy.arange(3)).tolist() == [0, 1, 2]
"""


def make_launchers() -> None:
    """Scripts for compilers of the folder of sid, which need its C library."""
    sid = build.SID
    PROGRAMS.mkdir(exist_ok=True)
    for name in ("lib", "lib64"):  # libc.so, a script of the linker, names files there
        if not (sid / name).exists():
            (sid / name).symlink_to(f"usr/{name}")
    for name in STARTED:
        places = (sid / "usr" / "bin" / name, *sid.glob(f"usr/libexec/gcc/*/*/{name}"))
        program = next(path for path in places if path.exists()).resolve()
        debian.launcher(sid, program, PROGRAMS / name)
    gcc = (sid / "usr" / "bin" / "g++").resolve()
    debian.launcher(sid, gcc, PROGRAMS / "g++", f"-B{PROGRAMS}", f"--sysroot={sid}", name=gcc)
    clang = (sid / "usr" / "bin" / "clang++").resolve()
    (resources,) = (clang.parents[1] / "lib" / "clang").iterdir()
    library = ("-stdlib=libc++", "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES")
    options = (f"--sysroot={sid}", f"-resource-dir={resources}", *library)
    debian.launcher(sid, clang, PROGRAMS / "clang++", *options, name=clang)


def build_package() -> None:
    """Build the package with g++, and import it in a process with sid's C library."""
    objects = build.FOLDER / "objects"
    for folder in (PACKAGE, objects):
        shutil.rmtree(folder, ignore_errors=True)
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "sycl_ext", PACKAGE / "sycl_ext", ignore=ignore)
    pybind11 = _output(sys.executable, "-m", "pybind11", "--cmakedir")
    cmake = str(Path(sys.prefix) / "bin" / "cmake")
    run(
        [
            *(cmake, "-S", str(ROOT), "-B", str(objects)),
            f"-DCMAKE_CXX_COMPILER={PROGRAMS / 'g++'}",
            "-DCMAKE_BUILD_TYPE=Debug",
            f"-DCMAKE_MODULE_LINKER_FLAGS=-Wl,-rpath,{sys.prefix}/lib",
            "-DCMAKE_CXX_FLAGS=-O1 -g0",
            "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-Dpybind11_DIR={pybind11}",
        ]
    )
    run([cmake, "--build", str(objects), "--parallel", str(os.cpu_count())])
    run([cmake, "--install", str(objects), "--prefix", str(PACKAGE)])
    # Without `site`, which would find the package that this environment has.
    path = os.pathsep.join((str(PACKAGE), sysconfig.get_path("purelib")))
    subprocess.run(
        [build.python(), "-S", "-c", SMOKE.format(package=str(PACKAGE))],
        env={**os.environ, **opencl(build.cpu_driver()), "PYTHONPATH": path},
        check=True,
    )


def check_files(compiler: str, *options: str) -> None:
    """Compile each file by itself, without a result."""
    sycl, _library, dlpack = _output(sys.executable, str(ROOT / "cmake" / "find_headers.py")).split(
        ";"
    )
    others = _output(sys.executable, "-m", "pybind11", "--includes").replace("-I", "-isystem")
    nanobind = _output(sys.executable, "-m", "nanobind", "--include_dir")
    own = [f"-I{ROOT / folder}" for folder in ("src", "sycl_ext/include", "tests/core/cpp")]
    command = [
        *(str(PROGRAMS / compiler), "-std=c++17", "-fsyntax-only", "-w", "-xc++", *options, *own),
        *("-isystem", sycl, "-isystem", dlpack, "-isystem", nanobind, *others.split()),
    ]
    endings = {".cpp", ".hpp", ".h"}
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    chosen = sorted(str(path) for path in files if path.suffix in endings)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda file: run([*command, file]), chosen))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Make all checks, and say how long each took."""
    build.build()
    make_launchers()
    shim = PROGRAMS / "forced_unwind.hpp"
    shim.write_text(FORCED_UNWIND)
    checks = {
        "g++: the package, and a smoke test": build_package,
        "clang and libc++: each file": partial(check_files, "clang++", "-include", str(shim)),
    }
    for name, check in checks.items():
        begin = time.monotonic()
        check()
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
