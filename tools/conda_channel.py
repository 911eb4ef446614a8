# SPDX-License-Identifier: Apache-2.0
"""A conda channel made of what pip brings, to build and test the recipe where there is no conda.

Python is the interpreter that runs this, the libraries are wheels, and the compilers are empty: the
machine's own does their work.  For tests on this machine only.
"""

from __future__ import annotations

import email.parser
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler_build import assemble_package

PLATFORM = "linux-64"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
#: Folders of the standard library that nobody misses here.
LEFT_OUT = ("site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__")
METADATA = re.compile(r"[^/]*\.dist-info/METADATA")
#: Wheels that hold a whole tree of their own in a folder, instead of a Python package.
TREES = {"cmake": "cmake/data/"}


def package(channel: Path, name: str, version: str, build: str, **contents: object) -> None:
    """Write one conda package."""
    folder = channel / PLATFORM
    folder.mkdir(parents=True, exist_ok=True)
    assemble_package(name, version, PLATFORM, build, folder, compression_level=1, **contents)


# ---- Python --------------------------------------------------------------------------------------


def add_python(channel: Path, build: str, scratch: Path) -> None:
    """Package the interpreter that runs this."""
    if "posix_local" in sysconfig.get_scheme_names():
        sys.exit(
            "the Python of a Debian system installs packages into folders of its own, which no "
            "conda prefix has; take another one: make conda PYTHON=... VENV=..."
        )
    base, tree = Path(sys.base_prefix), scratch / "python"
    standard_library = Path("lib") / f"python{VERSION}"
    ignore = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(base / standard_library, tree / standard_library, ignore=ignore, symlinks=True)
    include = Path("include") / f"python{VERSION}"
    shutil.copytree(base / include, tree / include)
    for library in base.glob("lib/libpython*.so*"):
        shutil.copy(library, tree / "lib", follow_symlinks=False)
    (tree / "bin").mkdir()
    shutil.copy((base / "bin" / f"python{VERSION}").resolve(), tree / "bin" / f"python{VERSION}")
    for name in ("python", "python3"):
        (tree / "bin" / name).symlink_to(f"python{VERSION}")
    (tree / standard_library / "site-packages").mkdir()
    package(channel, "python", platform.python_version(), build, files_dir=tree)


# ---- wheels --------------------------------------------------------------------------------------


def place_of(name: str, project: str) -> str | None:
    """Return where a file of a wheel goes in a prefix; None: nowhere."""
    site_packages = f"lib/python{VERSION}/site-packages/"
    tree = TREES.get(project)
    if tree is not None:
        return name.removeprefix(tree) if name.startswith(tree) else None
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return site_packages + name
    kind, _, path = rest.partition("/")
    places = {"data": "", "scripts": "bin/", "purelib": site_packages, "platlib": site_packages}
    return places[kind] + path if kind in places else None


def is_python(names: list[str]) -> bool:
    """Tell whether a wheel has modules; else it is a carrier of libraries, as conda has its own."""
    return any(not name.partition("/")[0].endswith((".data", ".dist-info")) for name in names)


def dependencies(metadata: email.message.Message) -> list[str]:
    """Return what a wheel needs, as conda specs."""
    found = map(Requirement, metadata.get_all("Requires-Dist", []))
    here = [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]
    return [f"{canonicalize_name(one.name)} {one.specifier}".strip() for one in here]


def add_wheel(channel: Path, wheel: Path, scratch: Path) -> None:
    """Package a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        (described,) = (name for name in names if METADATA.fullmatch(name))
        metadata = email.parser.BytesParser().parsebytes(archive.read(described))
        project = canonicalize_name(metadata["Name"])
        python = is_python(names) and project not in TREES
        tree = scratch / project
        for name in names:
            place = place_of(name, project)
            if place is None or (not python and ".dist-info/" in name):
                continue
            target = tree / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
            target.chmod(stat.S_IMODE(archive.getinfo(name).external_attr >> 16) | 0o644)
    needs = dependencies(metadata) + ([f"python {VERSION}.*"] if python else [])
    package(channel, project, metadata["Version"], "0", files_dir=tree, depends=needs)
    shutil.rmtree(tree)


# ---- the channel ---------------------------------------------------------------------------------


def make_channel(channel: Path, wheels: list[str], empty: dict[str, str], build: str) -> None:
    """Make a channel of this Python, of `wheels` with all they need, and of `empty` packages."""
    scratch = channel.with_name("scratch")
    for folder in (channel, scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", scratch / "wheels", *wheels], check=True)
    for wheel in sorted((scratch / "wheels").glob("*.whl")):
        add_wheel(channel, wheel, scratch)
    add_python(channel, build, scratch)
    for name, version in empty.items():
        nothing = scratch / name
        (nothing / "share" / name).mkdir(parents=True)
        (nothing / "share" / name / "empty").touch()
        package(channel, name, version, "0", files_dir=nothing)
    shutil.rmtree(scratch)
