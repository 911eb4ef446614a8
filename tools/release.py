# SPDX-License-Identifier: Apache-2.0
"""The steps of a release that a program can take (docs/develop/release.md).

    python tools/release.py bump 0.2.0 2030-01-31   write the version and its date into the files
    python tools/release.py check 0.2.0 [ADDRESS]   compare them with each other, and with a tag
    python tools/release.py notes 0.2.0             print the section of the changelog
    python tools/release.py dry-run [PYTHON ...]    take all steps in build/release; publish nothing

The dry run makes the next version from the last commit. Without names it takes each of
python3.10 to python3.15 that is there, and says which are not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The distributions without an extension module: folder -> package.
PURE = {
    "conformance": "dlpack_conformance",
    "hardware": "sycl_ext_hardware",
    "integrations/dask": "sycl_ext_dask",
    "integrations/mpi": "sycl_ext_mpi",
    "integrations/ray": "sycl_ext_ray",
    "integrations/symmetric": "sycl_ext_symmetric",
    "integrations/vllm": "sycl_ext_vllm",
    "integrations/xarray": "sycl_ext_xarray",
}
#: The files that have the version.
PACKAGES = ("sycl_ext/__init__.py", *(f"{at}/{name}/__init__.py" for at, name in PURE.items()))
#: The files in which the package and these distributions name each other's versions.
RANGES = ("pyproject.toml", *(f"{at}/pyproject.toml" for at in PURE if at != "conformance"))
PYTHONS = tuple(f"python3.{minor}" for minor in range(10, 16))
LINE = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)
RANGE = re.compile(r'"(sycl-ext[\w-]*)>=[\d.]+,<[\d.]+"')
UNRELEASED = "## Unreleased\n"


# ---- the files -----------------------------------------------------------------------------------


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a file; one that stays as it is was not what this program expects."""
    before = path.read_text()
    after = change(before)
    if after == before:
        sys.exit(f"{path}: nothing to change")
    path.write_text(after)


def bump(root: Path, version: str, day: str) -> None:
    """Write a version and its date into all files; the conda recipe follows by `make generate`."""
    first, second, _ = version.split(".")
    versions = f">={first}.{second},<{first}.{int(second) + 1}"
    for name in PACKAGES:
        path = root / name
        path.write_text(LINE.sub(f'__version__ = "{version}"', path.read_text()))
    for name in RANGES:
        path = root / name
        path.write_text(RANGE.sub(rf'"\1{versions}"', path.read_text()))
    edit(
        root / "CHANGELOG.md",
        lambda text: text.replace(UNRELEASED, f"{UNRELEASED}\n## {version} - {day}\n", 1),
    )
    edit(root / "CITATION.cff", lambda text: cited(text, version, day))


def cited(text: str, version: str, day: str) -> str:
    """Return CITATION.cff with a version and its date, which it lacks before the first release."""
    text = re.sub(r"^date-released: .*\n", "", text, flags=re.MULTILINE)
    lines = f"version: {version}\ndate-released: {day}"
    return re.sub(r"^version: .*$", lines, text, flags=re.MULTILINE)


def section(root: Path, version: str) -> str:
    """Return the section of the changelog for a version, without its head; "" if it has none."""
    head = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n"
    sections = re.split(head, (root / "CHANGELOG.md").read_text(), maxsplit=1, flags=re.MULTILINE)
    return sections[1].partition("\n## ")[0].strip() + "\n" if len(sections) == 2 else ""


def complaints(root: Path, version: str, address: str | None) -> list[str]:
    """Return where the files do not agree with a version, and with the address of a repository."""
    faults = []
    for name in PACKAGES:
        if (has := LINE.findall((root / name).read_text())) != [version]:
            faults.append(f"{name} has version {has}, not {version}")
    if not section(root, version).strip():
        faults.append(f"CHANGELOG.md has no section for {version}, or an empty one")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text():
        faults.append(f"CITATION.cff does not have version {version}")
    if f'version: "{version}"\n' not in (root / "conda-recipe" / "recipe.yaml").read_text():
        faults.append(f"conda-recipe/recipe.yaml does not have {version}: make generate")
    if address is not None:
        if f'"{address}"' not in (root / "pyproject.toml").read_text():
            faults.append(f"pyproject.toml does not have the address {address}")
        if "@OWNER" in (root / ".github" / "CODEOWNERS").read_text():
            faults.append(".github/CODEOWNERS has the placeholder @OWNER")
    return faults


# ---- the dry run ---------------------------------------------------------------------------------


class DryRun:
    """All steps, in a copy of the last commit."""

    def __init__(self, pythons: list[str]) -> None:
        self.folder = ROOT / "build" / "release"
        self.tree, self.dist = self.folder / "tree", self.folder / "dist"
        first, second, _ = LINE.findall((ROOT / PACKAGES[0]).read_text())[0].split(".")
        self.version = f"{first}.{int(second) + 1}.0"
        self.pythons = pythons

    def run(self, *words: object, at: Path | None = None, **more: str) -> None:
        """Run a command, which must work."""
        kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
        command = [str(word) for word in words]
        done = subprocess.run(command, cwd=at or self.folder, env={**kept, "PATH": path, **more})
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}")

    def environment(self, name: str, python: str = sys.executable) -> Path:
        """Make an empty environment, and return its Python."""
        folder = self.folder / "environments" / name
        self.run(python, "-m", "venv", "--clear", folder)
        self.run(folder / "bin" / "python", "-m", "pip", "install", "-q", "--upgrade", "pip")
        return folder / "bin" / "python"

    def wheel(self, package: str) -> Path:
        """Return the wheel of a distribution without an extension module."""
        return next(self.dist.glob(f"{package}-*.whl"))

    # ---- the steps -------------------------------------------------------------------------------

    def copy(self) -> None:
        """Copy the last commit, into a folder that has nothing else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tree.mkdir(parents=True)
        archive = self.folder / "tree.tar"
        self.run("git", "archive", "-o", archive, "HEAD", at=ROOT)
        shutil.unpack_archive(archive, self.tree)

    def set_version(self) -> None:
        """Set the next version in all files, and compare them."""
        bump(self.tree, self.version, date.today().isoformat())
        cog = ("cogapp", "-I", "tools", "-p", "from generated import *", "-r")
        self.run(sys.executable, "-m", *cog, "conda-recipe/recipe.yaml", at=self.tree)
        if not section(self.tree, self.version).strip():  # right after a release
            changelog = self.tree / "CHANGELOG.md"
            head = f"## {self.version} - {date.today().isoformat()}\n"
            edit(changelog, lambda text: text.replace(head, f"{head}\n- A dry run.\n"))
        if wrong := complaints(self.tree, self.version, None):
            sys.exit("; ".join(wrong))

    def sources(self) -> None:
        """Build all source distributions, and the wheels without an extension module."""
        build = (sys.executable, "-m", "build", "--outdir", self.dist)
        self.run(*build, "--sdist", self.tree)
        for folder in PURE:
            self.run(*build, self.tree / folder)

    def wheels(self) -> None:
        """Build the wheel of each Python from the source distribution."""
        (source,) = self.dist.glob(f"sycl_ext-{self.version}.tar.gz")
        for python in self.pythons:
            raw = self.folder / "raw" / Path(python).name
            builder = self.environment("build", python)
            self.run(builder, "-m", "pip", "wheel", "-q", "--no-deps", "-w", raw, source)
            (wheel,) = raw.glob("*.whl")
            self.run("make", "repair-wheel", f"WHEEL={wheel}", f"DEST={self.dist}", at=self.tree)

    def twine(self) -> None:
        """Check what an index would refuse."""
        files = sorted(self.dist.iterdir())
        self.run(sys.executable, "-m", "twine", "check", "--strict", *files)

    def install(self) -> None:
        """Install the built files into an empty environment of each Python, and use them there."""
        for python in self.pythons:
            there = self.environment("user", python)
            code = "import sys; print(f'cp3{sys.version_info[1]}')"
            tag = subprocess.check_output([there, "-c", code], text=True).strip()
            (wheel,) = self.dist.glob(f"sycl_ext-{self.version}-{tag}-*.whl")
            self.run(there, "-m", "pip", "install", "-q", f"{wheel}[cpu]")
            self.run(there, "-W", "error", self.tree / "conda-recipe" / "round_trip.py")
            self.run(there, "-m", "sycl_ext", "--version")

    def conda(self) -> None:
        """Build and test the conda packages."""
        self.run(sys.executable, "tools/conda_package.py", "build", at=self.tree)

    def documentation(self) -> None:
        """Build the site from the wheel of the Python that runs this, and look for the version."""
        there = self.environment("documentation")
        tag = f"cp3{sys.version_info[1]}"
        (wheel,) = self.dist.glob(f"sycl_ext-{self.version}-{tag}-*.whl")
        kit = self.wheel("dlpack_conformance")
        pip = (there, "-m", "pip", "install", "-q", f"{wheel}[cpu]", kit, "--group", "docs")
        self.run(*pip, at=self.tree)
        site = self.folder / "site"
        sphinx = (there, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", site)
        self.run(*sphinx, at=self.tree)
        if self.version not in (site / "index.html").read_text():
            sys.exit(f"{site / 'index.html'} does not name {self.version}")


STEPS = (
    DryRun.copy,
    DryRun.set_version,
    DryRun.sources,
    DryRun.wheels,
    DryRun.twine,
    DryRun.install,
    DryRun.conda,
    DryRun.documentation,
)


def works(python: str) -> bool:
    """Whether there is such a Python, with what a build needs."""
    code = (
        "import sys, ensurepip, venv, pathlib, sysconfig\n"
        "sys.exit(not pathlib.Path(sysconfig.get_path('include'), 'Python.h').exists())"
    )
    path = shutil.which(python)
    return (
        path is not None and not subprocess.run([path, "-c", code], capture_output=True).returncode
    )


def dry_run(names: list[str]) -> None:
    """Take all steps, with a line for each."""
    pythons = [python for python in names or PYTHONS if works(python)]
    absent = [python for python in names or PYTHONS if python not in pythons]
    if names and absent:
        sys.exit(f"these cannot build: {', '.join(absent)}")
    run = DryRun(pythons or [sys.executable])
    print(f"a dry run of {run.version} for {', '.join(run.pythons)}", flush=True)
    if absent:
        print(f"not there, and not tried: {', '.join(absent)}", flush=True)
    for step in STEPS:
        start = time.monotonic()
        step(run)
        print(f"{step.__name__:13} ok {time.monotonic() - start:6.1f} s", flush=True)
    print(*(f"  {file.name}" for file in sorted(run.dist.iterdir())), sep="\n")


def main(arguments: list[str]) -> None:
    """Run one command."""
    match arguments:
        case ["bump", version, day]:
            bump(ROOT, version, day)
        case ["check", version, *address] if len(address) < 2:
            if wrong := complaints(ROOT, version, *address or [None]):
                sys.exit("\n".join(wrong))
        case ["notes", version]:
            print(section(ROOT, version), end="")
        case ["dry-run", *names]:
            dry_run(names)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
