# SPDX-License-Identifier: Apache-2.0
"""Make the environments of ``make test-interop``: ``python tests/interop/install.py``

Each is made once: a stamp in it has the request.  The project is built once, as a
wheel, and built again when its sources change; $SYCL_EXT_WHEEL names one that is built already.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "interop"
#: Environment -> what goes into it besides the project.
ENVIRONMENTS = {
    ".venv-interop": HERE / "requirements.txt",
    ".venv-numpy1": HERE / "requirements-numpy1.txt",
    ".venv-open3d": HERE / "requirements-open3d.txt",
}
#: An environment without the project: a SYCL runtime that a library of it is linked to.
OLDER_RUNTIME = ".venv-runtime8"
#: mpi4py's own tests, which its wheel does not have.
MPI4PY_TESTS = BUILD / "mpi4py" / "test"
#: The sources of the wheel.
SOURCES = (
    *("CMakeLists.txt", "pyproject.toml", "README.md", "cmake", "src", "sycl_ext"),
    "sycl_ext_pytest",
)
#: Environment -> the other distributions of this repository that it has.
EDITABLE = {
    ".venv-interop": ("conformance", "integrations/dask", "integrations/xarray"),
    ".venv-numpy1": ("conformance",),
    ".venv-open3d": ("conformance",),
}


def digest(*paths: Path) -> str:
    """A number for the content of files and folders, and for the Python that reads them."""
    checksum = hashlib.sha256(sys.version.encode())
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    for file in sorted(files):
        if file.is_file() and "__pycache__" not in file.parts:
            checksum.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return checksum.hexdigest()


def up_to_date(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def pip(environment: Path, *arguments: object) -> None:
    command = [python_of(environment), "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run([str(word) for word in command], check=True)


def install_torch(environment: Path, requirements: str) -> None:
    """With $TORCH_BACKEND, such as cpu, uv installs that build of torch, and pip finds it."""
    backend = os.environ.get("TORCH_BACKEND")
    torch = re.search(r"^torch==\S+$", requirements, re.MULTILINE)
    if backend and torch:
        pip(environment, "install", "--quiet", "uv")
        uv = [python_of(environment), "-m", "uv", "pip", "install", "--quiet"]
        options = ["--python", python_of(environment), "--torch-backend", backend]
        subprocess.run([*uv, *options, torch[0]], check=True)


def make_environment(environment: Path, requirements: Path) -> None:
    """An environment with the libraries; the project's own dependencies come with the project."""
    stamp, wanted = environment / ".libraries", digest(requirements)
    if up_to_date(stamp, wanted):
        return
    print(f"installing {requirements.relative_to(ROOT)} into {environment.name}", flush=True)
    venv.create(environment, with_pip=True, clear=True)
    install_torch(environment, requirements.read_text())
    # Most of these files are never imported: compiling them all takes longer than the download.
    pip(environment, "install", "--quiet", "--no-compile", "-r", requirements)
    stamp.write_text(wanted)


def make_wheel(environment: Path) -> Path:
    """The project as a wheel."""
    if given := os.environ.get("SYCL_EXT_WHEEL"):
        return Path(given).resolve()
    stamp, wanted = BUILD / "wheel.stamp", digest(*(ROOT / name for name in SOURCES))
    if not up_to_date(stamp, wanted):
        print("building the wheel", flush=True)
        shutil.rmtree(BUILD / "wheel", ignore_errors=True)
        options = ["--no-deps", "--wheel-dir", BUILD / "wheel"]
        pip(environment, "wheel", "--quiet", *options, f"-Cbuild-dir={BUILD / 'cmake'}", ROOT)
        stamp.write_text(wanted)
    (wheel,) = (BUILD / "wheel").glob("*.whl")
    return wheel


def unpack_mpi4py(environment: Path, requirements: Path) -> None:
    """The source distribution of mpi4py, in the version that is installed."""
    (wanted,) = [line for line in requirements.read_text().split() if line.startswith("mpi4py==")]
    folder = MPI4PY_TESTS.parent
    stamp = folder / ".version"
    if up_to_date(stamp, wanted):
        return
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-binary", "mpi4py", "--dest", folder]
    pip(environment, "download", *options, wanted)
    (archive,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder)
    (folder / archive.name.removesuffix(".tar.gz") / "test").rename(MPI4PY_TESTS)
    stamp.write_text(wanted)


def install_project(environment: Path, wheel: Path, requirements: Path) -> None:
    stamp = environment / ".project"
    folders = EDITABLE[environment.name]
    others = digest(*(ROOT / folder / "pyproject.toml" for folder in folders))
    wanted = hashlib.sha256(wheel.read_bytes()).hexdigest() + others
    if up_to_date(stamp, wanted):
        return
    print(f"installing {wheel.name} into {environment.name}", flush=True)
    project = [f"{wheel}[cpu]"]
    for folder in folders:
        project += ["--editable", ROOT / folder]
    pip(environment, "install", "--quiet", "--no-compile", "-r", requirements, *project)
    # The version number may be the one that is there already.
    pip(environment, "install", "--quiet", "--no-deps", "--force-reinstall", wheel)
    stamp.write_text(wanted)


def main() -> None:
    environments = {ROOT / name: requirements for name, requirements in ENVIRONMENTS.items()}
    with ThreadPoolExecutor() as pool:
        made = {
            environment: pool.submit(make_environment, environment, requirements)
            for environment, requirements in environments.items()
        }
        older = pool.submit(
            make_environment, ROOT / OLDER_RUNTIME, HERE / "requirements-runtime8.txt"
        )
        small = ROOT / ".venv-numpy1"
        made[small].result()
        wheel = make_wheel(small)  # while the libraries of the other one still arrive
        unpack_mpi4py(small, ENVIRONMENTS[".venv-interop"])
        for environment in reversed(environments):
            made[environment].result()
            install_project(environment, wheel, environments[environment])
        older.result()


if __name__ == "__main__":
    main()
