# SPDX-License-Identifier: Apache-2.0
"""Shared code of the builders of the stand-ins: how to compile, and the variables of a process."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import unittest
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

#: For OCL_ICD_VENDORS: the loader finds no driver there.
NO_ICD_FILES = Path(__file__).resolve().parent


class Missing(unittest.SkipTest):
    """A test environment needs a package that is not installed; pytest leaves the test out."""

    def __init__(self, what: str, package: str, variable: str) -> None:
        super().__init__(f"no {what}: install {package}, or set {variable}")


def is_current(library: Path, inputs: Iterable[Path]) -> bool:
    """Whether the library is there, and newer than all it is made of."""
    if not library.exists():
        return False
    return library.stat().st_mtime > max(file.stat().st_mtime for file in inputs)


def compile_library(library: Path, source: Path, header: Path, *link: str) -> Path:
    """Compile one file with the folder of `header`, unless the library is newer than these."""
    if is_current(library, (source, header, Path(__file__))):
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    unfinished = library.with_name(f"{library.name}.{os.getpid()}")
    command = [*compiler(), "-O1", "-std=c++17", "-shared", "-fPIC", "-pthread"]
    run([*command, "-isystem", str(header.parents[1]), str(source), *link, "-o", str(unfinished)])
    unfinished.replace(library)  # a process that runs keeps the file it has loaded
    return library


def built(out_dir: Path, name: str) -> Path:
    """The library that was built into `out_dir`."""
    library = Path(out_dir).resolve() / name
    if not library.exists():
        raise FileNotFoundError(f"{library} is not there: call build({str(out_dir)!r}) first")
    return library


def opencl(*drivers: Path | str) -> dict[str, str]:
    """The variables with which these OpenCL drivers exist, in this order, and no others."""
    return {
        "OCL_ICD_FILENAMES": os.pathsep.join(map(str, drivers)),
        "OCL_ICD_VENDORS": str(NO_ICD_FILES),
    }


def setting_variables(known: tuple[str, ...], settings: dict[str, object]) -> dict[str, str]:
    """The FAKEGPU_* variables for settings in lower case."""
    unknown = settings.keys() - set(known)
    if unknown:
        raise TypeError(f"no such setting: {sorted(unknown)}; there are {', '.join(known)}")
    return {
        f"FAKEGPU_{name.upper()}": str(int(value) if isinstance(value, bool) else value)
        for name, value in settings.items()
    }


def compiler() -> list[str]:
    """The C++ compiler: $CXX, or g++."""
    return shlex.split(os.environ.get("CXX") or "g++")


def run(command: list[str]) -> None:
    """Run a compiler; its own words are the error message."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def installed(distribution: str, ending: str) -> Path:
    """The file of an installed wheel whose path ends so, else that file in this environment."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.as_posix().endswith(f"/{ending}"):
            return Path(str(file.locate())).resolve()
    path = Path(sys.prefix) / ending
    if not path.exists():
        raise FileNotFoundError(f"{ending}: neither in {distribution} nor in {sys.prefix}")
    return path
