# SPDX-License-Identifier: Apache-2.0
"""Compiles ``nanobind_module.cpp`` with what is installed, once for each version and Python."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

NAME = "dlpack_conformance_nanobind"
SOURCE = Path(__file__).with_suffix(".cpp")


def load() -> ModuleType:
    """Return the module; compile it unless that has been done.

    Raises
    ------
    ImportError
        When there is no compiler, or it fails.
    """
    key = hashlib.sha256(SOURCE.read_bytes() + f"{sys.version} {version('nanobind')}".encode())
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"{NAME}_{user}_{key.hexdigest()[:16]}"
    library = folder / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not library.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _compile(library)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise ImportError(f"{folder} belongs to somebody else")
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(library))
    spec = importlib.util.spec_from_loader(NAME, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _compile(library: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
    if compiler is None:
        raise ImportError("the adapter of nanobind needs a C++ compiler; set CXX")
    found = import_module("nanobind").__file__
    assert found is not None
    package = Path(found).parent
    includes = [package / "include", package / "ext/robin_map/include"]
    includes.append(Path(sysconfig.get_path("include")))
    unfinished = library.with_name(f"{os.getpid()}.so")
    command = [compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w"]
    command += [f"-I{folder}" for folder in includes]
    command += [str(SOURCE), str(package / "src" / "nb_combined.cpp"), "-o", str(unfinished)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ImportError(f"{compiler} failed:\n{done.stderr[-2000:]}")
    unfinished.replace(library)
