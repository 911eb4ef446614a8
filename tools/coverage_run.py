# SPDX-License-Identifier: Apache-2.0
"""Run the tests with counters in src/ and sycl_ext/: ``make coverage``.

    python tools/coverage_run.py [argument of pytest ...]

g++ builds the extension and the core's own tests with --coverage.  The everyday tests then run in a
copy of this environment (hard links) that has that extension, under coverage.py in every process
that they start.  gcovr and coverage.py report, and fail below the thresholds that ``[tool.gcovr]``
and ``[tool.coverage]`` of pyproject.toml hold.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "core" / "cpp")]

import run as core  # noqa: E402

FOLDER = ROOT / "build" / "coverage"
BUILD, VENV, DATA = FOLDER / "build", FOLDER / "venv", FOLDER / "python" / "data"
EXTENSION = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
#: Tests that do not test the package, or that do not fit this build.
LEFT_OUT = (
    *("architecture", "benchmarks", "docs", "faults_binary", "faults_lifetime", "generated_input"),
    *("recipe", "recipes", "release", "reports", "stateful", "stub", "sync", "typing"),
)


def build() -> None:
    """Build with counters, and make VENV, a copy of this environment with that extension."""
    core.configure(
        BUILD,
        "-DSYCL_EXT_CORE_TESTS=ON",
        "-DCMAKE_BUILD_TYPE=Debug",
        f"-DCMAKE_CXX_COMPILER={core.tool('g++')}",
        "-DCMAKE_CXX_FLAGS=--coverage -fprofile-abs-path -fprofile-update=atomic",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DNDEBUG",
    )
    core.build(BUILD, "_core", *core.TESTS)
    for folder in (VENV, DATA.parent):
        shutil.rmtree(folder, ignore_errors=True)
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    subprocess.run(["cp", "-al", sys.prefix, str(VENV)], check=True)
    installed = next(VENV.glob(f"lib/python*/site-packages/sycl_ext/{EXTENSION}"))
    installed.unlink()
    shutil.copy(BUILD / EXTENSION, installed)


def run(python: Path | str, *words: object) -> bool:
    """Run a module of an environment; returns whether that failed."""
    # pytest's options are also for the test environments, which are separate processes.
    options = "--ignore-glob=*/stand_in_gpu/test_faults.py"
    variables = {**os.environ, "COVERAGE_FILE": str(DATA), "PYTEST_ADDOPTS": options}
    command = [str(python), "-m", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=variables).returncode != 0


def main(arguments: list[str]) -> int:
    """Run everything and report."""
    build()
    runs = [(where, name) for where in core.ENVIRONMENTS for name in core.TESTS]
    failed = [core.run(BUILD, (), where, name) != 0 for where, name in runs]
    left_out = [f"--ignore-glob=*/test_{name}.py" for name in LEFT_OUT]
    python = VENV / "bin" / "python"
    pytest = ("pytest", "-q", "-p", "no:cacheprovider", *left_out, *arguments)
    failed.append(run(python, "coverage", "run", "-m", *pytest))
    failed.append(run(sys.executable, "gcovr", BUILD))
    failed.append(run(python, "coverage", "combine", "-q"))
    failed.append(run(python, "coverage", "report"))
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
