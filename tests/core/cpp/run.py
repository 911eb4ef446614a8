# SPDX-License-Identifier: Apache-2.0
"""Build the C++ tests of the core with a sanitizer, and run them.

    python tests/core/cpp/run.py TOOL [part of a test's name ...]

A tool is asan, ubsan, asan+ubsan, tsan, valgrind or plain.  The tests run on the OpenCL CPU device
and on the stand-in GPU (``tests/support/environments.py``), whose memory the host
cannot touch.  Before that, each tool has to find the bugs of ``planted.cpp`` of its kind.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import environments  # noqa: E402

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
#: Bugs of planted.cpp that each has to find.
PLANTS = {
    "asan": ("heap", "leak"),
    "ubsan": ("undefined",),
    "asan+ubsan": ("heap", "leak", "undefined"),
    "tsan": ("race",),
    "valgrind": ("heap", "leak"),
    "plain": (),
}
TESTS = ("core_tests", "core_faults")
PROGRAMS = (*TESTS, "core_planted")
ENVIRONMENTS = ("cpu", "level_zero_v2")


def tool(name: str) -> str:
    """A tool of this environment, or of the machine."""
    ours = Path(sys.executable).with_name(name)
    path = str(ours) if ours.exists() else shutil.which(name)
    return path or sys.exit(f"{name} is missing")


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


def variables(name: str = "cpu") -> dict[str, str]:
    """Those of a test environment, and the options of each sanitizer."""
    libraries = environments.installed("intel-sycl-rt", "lib/libsycl.so").parent
    suppressions = {name: HERE / "suppressions" / f"{name}.txt" for name in ("lsan", "tsan")}
    return {
        **environments.clean_environment(),
        **environments.variables_of(name, ROOT / "build"),
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


def run(folder: Path, before: tuple[str, ...], where: str, *command: str, **how: object) -> int:
    """Run a program of the build; returns its exit status."""
    program, *arguments = command
    path = folder / "tests" / "core" / "cpp" / program
    return subprocess.run([*before, str(path), *arguments], env=variables(where), **how).returncode


def run_programs(how: str, folder: Path, *names: str) -> int:
    """Run the built programs; returns how many of them failed."""
    before = valgrind() if how == "valgrind" else ()
    failed = 0
    for plant in PLANTS[how]:
        if run(folder, before, "cpu", "core_planted", plant, stderr=subprocess.DEVNULL) == 0:
            print(f"{how} does not find the planted bug '{plant}'")
            failed += 1
    # TSan loses count when an exception passes through one of its interceptors (pthread_once), and
    # the second program has one thread.
    programs = TESTS[:1] if how == "tsan" else TESTS
    for where in ENVIRONMENTS:
        for program in programs:
            print(f"{how}, {where}, {program}:", flush=True)
            failed += run(folder, before, where, program, *names) != 0
    return failed


def main(how: str, *names: str) -> int:
    folder = ROOT / "build" / how
    flags = " ".join((*FLAGS[how], "-fno-omit-frame-pointer"))
    configure(folder, "-DSYCL_EXT_CORE_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}")
    build(folder, *PROGRAMS)
    return run_programs(how, folder, *names) != 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in FLAGS:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
