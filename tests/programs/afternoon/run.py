# SPDX-License-Identifier: Apache-2.0
"""A user's afternoon, in an environment of its own: ``make afternoon`` (README.md)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "afternoon"
EXAMPLE = ROOT / "examples" / "scatter_rows"
KERNEL = ROOT / "examples" / "axpy"
TORCH = "torch==2.13.0"
#: The pages of the first hour; the examples run in the environment of the installation.
PAGES = ("README.md", "docs/get_started.md", "docs/interoperability.md")
SHARED_MEMORY = Path("/dev/shm")
#: The content of a wheel, besides the extension module and the Python files.
CONTENTS = (
    "sycl_ext/py.typed",
    "sycl_ext/_core.pyi",
    "sycl_ext/include/sycl_ext/sycl_ext.hpp",
    "sycl_ext/include/cmake/sycl_ext-config.cmake",
    "licenses/LICENSE",
)
#: The extension module, and the layer of ``pytest --sycl-device=gpu``.
LIBRARIES = ["sycl_ext/_core", "sycl_ext_pytest/libopencl_gpu"]
LARGEST = 2_000_000  # bytes of a wheel
PREFIXES = ("OCL_ICD_", "ONEAPI_", "PYTHON", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "LD_")

sys.path.insert(0, str(ROOT / "tests" / "interop"))

from install import install_torch, make_wheel  # noqa: E402


class Afternoon:
    """The environment, and the steps in it."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.bin = BUILD / "venv" / "bin"
        kept = {n: text for n, text in os.environ.items() if not n.startswith(PREFIXES)}
        path = os.pathsep.join([str(self.bin), kept["PATH"]])
        self.environment = {**kept, "PATH": path, "PYTHONWARNINGS": "error"}

    def run(self, *words: object, **more: str) -> str:
        """Run a command of a step, and return what it wrote; it must work, and warn of nothing."""
        process = subprocess.Popen(
            [str(word) for word in words],
            env={**self.environment, **more},
            cwd=self.scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        output, _ = process.communicate(timeout=600)
        wrong = f"exit status {process.returncode}" if process.returncode else ""
        if "Warning" in output:
            wrong = wrong or "there is a warning"
        if left := eventually_none(lambda: processes_of(process.pid)):
            wrong = wrong or f"these processes are left: {left}"
        if wrong:
            sys.exit(f"{' '.join(map(str, words))}: {wrong}\n{output}")
        return output

    def python(self, *words: object) -> str:
        return self.run(self.bin / "python", *words)

    def pip(self, *words: object) -> str:
        """Run pip, whose warnings are its own business."""
        command = (self.bin / "python", "-m", "pip", "--disable-pip-version-check")
        return self.run(*command, *words, PYTHONWARNINGS="ignore")

    # ---- the steps -------------------------------------------------------------------------------

    def install(self) -> None:
        """Into an empty environment, as a wheel."""
        venv.create(BUILD / "venv", with_pip=True, clear=True)
        self.wheel = wheel = make_wheel(BUILD / "venv")
        if wrong := complaints(wheel):
            sys.exit(f"{wheel.name}: " + "; ".join(wrong))
        libraries = ["apache-tvm-ffi", "dpnp", "mpich", TORCH]
        tools = ["cmake", "ninja", "pybind11", "scikit-build-core"]
        install_torch(BUILD / "venv", TORCH)
        own = (ROOT / "integrations" / name for name in ("dask", "mpi"))
        self.pip("install", "--quiet", f"{wheel}[cpu,mpi]", *own, *libraries, *tools)
        where = self.python("-c", "import sycl_ext; print(sycl_ext.__file__)")
        assert Path(where.strip()).is_relative_to(BUILD / "venv"), where

    def doctor(self) -> None:
        """A driver of the machine may be worth a warning; a problem is another exit status."""
        self.python("-m", "sycl_ext", "doctor")

    def first_hour(self) -> None:
        """The pages that are read first."""
        self.python(HERE / "read.py", *(ROOT / page for page in PAGES))

    def extension(self) -> None:
        """As the comment in its CMakeLists.txt says."""
        pybind11 = self.python("-m", "pybind11", "--cmakedir").strip()
        package = self.python("-m", "sycl_ext", "--cmakedir").strip()
        where = [f"-Dpybind11_DIR={pybind11}", f"-Dsycl_ext_DIR={package}", "-GNinja"]
        python = f"-DPython_EXECUTABLE={self.bin / 'python'}"
        self.run(self.bin / "cmake", "-S", EXAMPLE, "-B", "build", *where, python)
        self.run(self.bin / "cmake", "--build", "build")
        output = self.run(self.bin / "python", EXAMPLE / "run.py", PYTHONPATH="build")
        assert output.count(" ok, entry ") == 8, output

    def kernel(self) -> None:
        """An extension with a SYCL kernel, by pip, as docs/extension.md says."""
        self.pip("install", "--quiet", "--no-build-isolation", "--no-deps", KERNEL)
        output = self.python(KERNEL / "run.py")
        assert output.count(" ok, ") == 8, output

    def action(self) -> None:
        """The composite action for other projects, in another empty environment."""
        self.run(self.bin / "python", HERE / "action.py", self.wheel, PYTHONWARNINGS="ignore")

    def uninstall(self) -> None:
        self.pip("uninstall", "--yes", "--quiet", "sycl_ext", "sycl-ext-dask", "sycl-ext-mpi")
        assert not (left := list((BUILD / "venv").rglob("sycl_ext*"))), left
        shutil.rmtree(BUILD / "venv")


STEPS = (
    Afternoon.install,
    Afternoon.doctor,
    Afternoon.first_hour,
    Afternoon.extension,
    Afternoon.kernel,
    Afternoon.action,
    Afternoon.uninstall,
)


def complaints(wheel: Path) -> list[str]:
    """The defects of a wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [
        f"{name} is missing" for name in CONTENTS if not any(n.endswith(name) for n in names)
    ]
    libraries = sorted(name.split(".")[0] for name in names if ".so" in Path(name).name)
    if libraries != LIBRARIES:
        missing.append(f"its libraries must be {LIBRARIES}, and they are {libraries}")
    if wheel.stat().st_size > LARGEST:
        missing.append(f"it has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")
    return missing


def processes_of(session: int) -> list[str]:
    """The commands of the processes of a session."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[3]) == session and after_name[0] != "Z":
                processes.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has just ended
            continue
    return processes


def blocks() -> set[str]:
    # Semaphores are those of multiprocessing, which other processes of this machine use as well.
    return {path.name for path in SHARED_MEMORY.glob("*") if not path.name.startswith("sem.")}


def eventually_none(look, seconds: float = 60):
    """The result of a function; nothing, if it has none soon."""
    end = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def main() -> None:
    before = blocks()
    with tempfile.TemporaryDirectory() as folder:
        afternoon = Afternoon(Path(folder))
        for step in STEPS:
            start = time.monotonic()
            step(afternoon)
            print(f"{step.__name__:10} ok {time.monotonic() - start:6.1f} s", flush=True)
    if left := eventually_none(lambda: blocks() - before):
        sys.exit(f"left in {SHARED_MEMORY}: {sorted(left)}")
    print("nothing is left")


if __name__ == "__main__":
    main()
