# SPDX-License-Identifier: Apache-2.0
"""The examples of C++ extensions, the CMake package, and the page about them."""

import doctest
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import environments
import sycl_ext as sx
from extensions import labs
from needs import needs

pytestmark = pytest.mark.timeout(300)  # the first test builds the modules

# ---- the example ---------------------------------------------------------------------------------


@needs("dpctl")
@pytest.mark.parametrize(
    ("where", "more", "device", "lines"),
    [
        ("cpu", {}, "cpu", 8),
        pytest.param("two_platforms", {}, "cpu:1", 8, marks=pytest.mark.long),
        pytest.param("level_zero_v2", {}, "cpu", 6, marks=pytest.mark.long),
        pytest.param("opencl_gpu", {}, "opencl:gpu:1", 6, marks=pytest.mark.long),
        ("level_zero_v2", {"FAKEGPU_DELAY_US": "3000"}, "level_zero:gpu:1", 6),
    ],
)
def test_scatter_rows_runs(where, more, device, lines, tmp_path_factory):
    labs.build_all()
    scratch = tmp_path_factory.getbasetemp()
    variables = environments.variables_of(where, scratch)
    folder = labs.library("scatter_rows").parent
    done = subprocess.run(
        [sys.executable, str(labs.EXAMPLES["scatter_rows"] / "run.py"), device],
        env={**environments.clean_environment(), **variables, **more, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == lines
    assert done.stdout.count(" ok, ") == lines


def test_scatter_rows_returns_before_the_copies():
    """It returns while the copies are held, and a reader of the target waits for them."""
    labs.build_all()
    environments.python(
        """
import threading, time
import numpy as np, sycl_ext as sx
from extensions import labs
from level_zero import control
example = labs.load("scatter_rows")
gpu = sx.device("level_zero:gpu:0")
target, source = sx.zeros((6, 4), device=gpu), sx.empty((3, 4), device=gpu)
source.copy_from(np.ones((3, 4), "float32"))
adapter = control.loaded()
before = adapter.fakegpu_copies()
adapter.fakegpu_set_delay_us(20_000_000)
example.scatter_rows(target, [4, 1, 0], source)
assert adapter.fakegpu_copies() == before
threading.Timer(0.2, lambda: adapter.fakegpu_set_delay_us(0)).start()
assert target.to_numpy()[:, 0].tolist() == [1, 1, 0, 0, 1, 0]
assert adapter.fakegpu_copies() >= before + 3

# A source that goes meanwhile is freed after the copies: the stand-in aborts otherwise.
adapter.fakegpu_set_delay_us(20_000)
for _ in range(3):
    example.scatter_rows(target, [0], sx.zeros((1, 4), device=gpu))
adapter.fakegpu_set_delay_us(0)
assert target.to_numpy()[0].tolist() == [0, 0, 0, 0]
""",
        environments.level_zero(),
    )


def test_scatter_rows_refuses_wrong_arguments():
    example = labs.load("scatter_rows")
    target, source = np.zeros((6, 4), "float32"), np.ones((3, 4), "float32")
    for arguments, error in (
        ((target, [0, 1], source), ValueError),
        ((target, [0, 1, 6], source), IndexError),
        ((target, [0, 1, -1], source), IndexError),
        ((target, [0, 1, 2], source.astype("float64")), ValueError),
        ((target, [0, 1, 2], source[:, :3]), ValueError),
        ((target, [0, 1, 2], source[:, ::-1]), ValueError),
        ((np.broadcast_to(target[:1], (6, 4)), [0, 1, 2], source), BufferError),
        ((np.array(1, "float32"), [], source), ValueError),
        ((target, [0, 1, 2], "source"), TypeError),
    ):
        with pytest.raises(error):
            example.scatter_rows(*arguments)
    assert not target.any()
    example.scatter_rows(target, [5, 3, 1], source[::-1])
    assert target[:, 0].tolist() == [0, 1, 0, 1, 0, 1]


# ---- the example with a kernel -------------------------------------------------------------------


def run_axpy(where, device, scratch):
    labs.build_all()
    return subprocess.run(
        [sys.executable, str(labs.EXAMPLES["axpy"] / "run.py"), device],
        env={
            **environments.clean_environment(),
            **environments.variables_of(where, scratch),
            "PYTHONPATH": str(labs.library("axpy").parent),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )


@needs("dpctl")
@pytest.mark.parametrize(
    ("where", "device", "lines"),
    [
        ("cpu", "cpu", 8),
        pytest.param("two_platforms", "cpu:1", 8, marks=pytest.mark.long),
        ("opencl_gpu_kernels", "gpu", 6),
    ],
)
def test_axpy_runs_on_arrays_of_each_library(where, device, lines, tmp_path_factory):
    done = run_axpy(where, device, tmp_path_factory.getbasetemp())
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == lines
    assert done.stdout.count(" ok, ") == lines


@needs("dpctl")
def test_axpy_names_a_device_without_kernels(tmp_path_factory):
    done = run_axpy("level_zero_v2", "level_zero:gpu:0", tmp_path_factory.getbasetemp())
    assert done.returncode == 1, done.stdout
    assert re.search(r"^RuntimeError: .*'Fake GPU 0'", done.stdout, re.M | re.S), done.stdout


def test_axpy_refuses_wrong_arguments():
    example = labs.load("axpy")
    x, y = np.ones(3, "float32"), np.zeros(3, "float32")
    with pytest.raises(ValueError, match="x has 2 elements, and y has 3"):
        example.axpy(1, x[:2], y)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        example.axpy(1, x, y.astype("float64"))
    with pytest.raises(BufferError, match="is read-only, and this function writes to it"):
        example.axpy(1, x, np.broadcast_to(y[0], 3))
    example.axpy(2, x[:0], y[:0])
    example.axpy(2, x[::-1], y)
    assert y.tolist() == [2, 2, 2]


# ---- the CMake package ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "standard", "call", "says"),
    [
        ("16.2", "", "put", True),
        ("16.2", "20", "put", True),
        ("16.2", "17", "put", False),
        ("15.3", "20", "put", False),
        ("16.2", "20", "ipc::event::put", False),
    ],
)
def test_compiler_that_lacks_part_of_sycl_is_reported(version, standard, call, says, tmp_path):
    headers = tmp_path / "sycl" / "ext" / "oneapi" / "experimental"
    headers.mkdir(parents=True)
    (headers / "ipc_event.hpp").write_text(f"  return {call}(handle, context);\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(user LANGUAGES NONE)\n"
        "find_package(sycl_ext CONFIG REQUIRED)\n"
    )
    definitions = {
        "sycl_ext_DIR": sx.get_cmake_dir(),
        "sycl_ext_SYCL_INCLUDE_DIR": tmp_path,
        "Python_EXECUTABLE": sys.executable,
        "CMAKE_CXX_COMPILER_ID": "GNU",
        "CMAKE_CXX_COMPILER_VERSION": version,
        "CMAKE_CXX_STANDARD": standard,
    }
    configure = [
        Path(sysconfig.get_path("scripts")) / "cmake",
        "-S",
        tmp_path,
        "-B",
        tmp_path / "build",
    ]
    configure += [f"-D{name}={value}" for name, value in definitions.items() if value]
    done = subprocess.run(configure, capture_output=True, text=True, check=True)
    assert ("does not compile <sycl/sycl.hpp>" in done.stdout) is says, done.stdout


# ---- the page ------------------------------------------------------------------------------------


PAGE = labs.ROOT / "docs" / "extension.md"


@needs("dpctl")
def test_extension_page_runs(monkeypatch):
    """Its C++ is in the examples, which test_docs.py asserts; its Python runs."""
    for name in labs.EXAMPLES:
        monkeypatch.setitem(sys.modules, name, labs.load(name))
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, "extension.md", None, 0)
    imported = {
        example.source.split()[1] for example in examples.examples if "from " in example.source
    }
    assert imported == set(labs.EXAMPLES)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(examples, clear_globs=True).failed == 0


# With CMake `labs` builds the other examples as well; setuptools calls the compiler as the
# first command does.
@pytest.mark.parametrize(
    "build",
    [
        "g++",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("cmake", "nanobind", "setuptools")),
    ],
)
def test_first_extension_builds_with_the_commands_of_the_page(build, tmp_path):
    commands = dict(
        re.findall(r"<!-- run: (\S+) -->\n```console\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    )
    used = commands["use"]
    if build != "nanobind":
        used += commands["stubs"].replace("$ pip install pybind11-stubgen\n", "")
    script = re.sub(r"^\$ ", "", commands[build] + used, flags=re.MULTILINE)
    script = script.replace("-O2", "-O0")  # which takes half of the time
    for name in ("clear", "clear_nanobind"):
        shutil.copytree(labs.ROOT / "examples" / name, tmp_path / "examples" / name)
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**environments.clean_environment(), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("build/clear*.so"))) == 1
    assert (tmp_path / "build" / "clear.pyi").exists() == (build != "nanobind")
