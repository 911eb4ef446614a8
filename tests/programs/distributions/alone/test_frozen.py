# SPDX-License-Identifier: Apache-2.0
"""A program that PyInstaller builds has the package, the runtime and the CPU device."""

import subprocess
import sys

import pytest

import environments
from documents import PYTHON_BLOCK


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program of ``docs/platforms.md``, and a line for the libraries that it has loaded."""
    folder = tmp_path_factory.mktemp("frozen")
    (text,) = PYTHON_BLOCK.findall((environments.ROOT / "docs" / "platforms.md").read_text())
    loaded = """
import sys
maps = open("/proc/self/maps").read().splitlines()
libraries = {line.split()[-1] for line in maps if "libsycl.so" in line or "libintelocl.so" in line}
print(len(libraries), all(path.startswith(sys._MEIPASS) for path in libraries))
"""
    (folder / "program.py").write_text(text + loaded)
    command = [sys.executable, "-m", "PyInstaller", "--log-level", "ERROR", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "dist" / "program" / "program"


def run(program):
    """Run it without a variable of the environment that built it."""
    return subprocess.run([program], env={}, capture_output=True, text=True)


def test_frozen_program_has_its_cpu_device(program):
    done = run(program)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["cpu [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]", "2 True"]


def test_error_of_a_frozen_program_names_the_hook_and_no_command_that_it_lacks(program):
    (core,) = program.parent.glob("_internal/sycl_ext/_core*.so")
    core.rename(core.with_suffix(".away"))
    try:
        done = run(program)
    finally:
        core.with_suffix(".away").rename(core)
    assert "build it with the PyInstaller hook that sycl_ext installs" in done.stderr
    assert "the problem and the command that fixes it" not in done.stderr
