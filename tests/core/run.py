# SPDX-License-Identifier: Apache-2.0
"""Build the C++ tests of the core with a sanitizer, and run them.

    python tests/core/run.py asan|ubsan|asan+ubsan|tsan|valgrind|plain [part of a test's name ...]

They run on the OpenCL CPU device alone (bed 1 of ``tests/beds.py``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import beds  # noqa: E402

ASAN = ("-fsanitize=address",)
UBSAN = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
FLAGS = {
    "asan": ASAN,
    "ubsan": UBSAN,
    "asan+ubsan": (*ASAN, *UBSAN),
    "tsan": ("-fsanitize=thread",),
    "valgrind": (),
    "plain": (),
}
PROGRAMS = ("core_tests", "core_tests_no_memory")


def tool(name: str) -> str:
    """A tool of this environment, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or sys.exit(f"{name} is missing")


def configure(folder: Path, *options: str) -> None:
    """Run CMake once; the build asks for it again when its files change."""
    if (folder / "build.ninja").exists():
        return
    import pybind11

    command = [
        *(tool("cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"),
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        *options,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def build(folder: Path, *targets: str) -> None:
    subprocess.run([tool("ninja"), "--quiet", "-C", str(folder), *targets], check=True)


def environment() -> dict[str, str]:
    """Bed 1, and the options of each sanitizer."""
    libraries = beds.installed("intel-sycl-rt", "lib/libsycl.so").parent
    suppressions = {name: HERE / "suppressions" / f"{name}.txt" for name in ("lsan", "tsan")}
    return {
        **beds.clean_environment(),
        **beds.cpu(),
        # The interceptors of the sanitizers make dlopen forget the RUNPATH of libsycl.
        "LD_LIBRARY_PATH": str(libraries),
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
        "LSAN_OPTIONS": f"suppressions={suppressions['lsan']}:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # The runtime and its libraries are not instrumented.
        "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:suppressions={suppressions['tsan']}",
    }


def valgrind() -> tuple[str, ...]:
    return (
        *(tool("valgrind"), "--quiet", "--error-exitcode=1", "--leak-check=full"),
        *("--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"),
        f"--suppressions={HERE / 'suppressions' / 'valgrind.txt'}",
    )


def run_programs(folder: Path, before: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> bool:
    """Run what was built; whether something failed."""
    failed = False
    for program in PROGRAMS[: 1 if names else None]:
        command = [*before, str(folder / "tests" / "core" / program), *names]
        failed |= subprocess.run(command, env=environment()).returncode != 0
    return failed


def main(how: str, *names: str) -> int:
    folder = ROOT / "build" / how
    flags = " ".join((*FLAGS[how], "-fno-omit-frame-pointer"))
    configure(folder, "-DSYCL_EXT_CORE_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}")
    build(folder, *PROGRAMS)
    return run_programs(folder, valgrind() if how == "valgrind" else (), names)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in FLAGS:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
