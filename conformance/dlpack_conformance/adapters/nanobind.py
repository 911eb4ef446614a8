# SPDX-License-Identifier: Apache-2.0
"""Functions of a C++ extension, which is compiled once for each version and Python."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import nanobind
import numpy as np

from dlpack_conformance import Adapter, Known
from dlpack_conformance.known import DAEMON, NANOBIND, NO_ELEMENTS, STREAMS, UNCHECKED

NAME = "dlpack_conformance_nanobind"
SOURCE = Path(__file__).with_suffix(".cpp")


def _compile(library: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise ImportError("the adapter of nanobind needs a C++ compiler; set CXX")
    sources = Path(nanobind.source_dir())
    includes = [nanobind.include_dir(), sources.parent / "ext" / "robin_map" / "include"]
    unfinished = library.with_name(f"{os.getpid()}.so")
    command = [compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w"]
    command += [f"-I{folder}" for folder in (*includes, sysconfig.get_path("include"))]
    command += [str(SOURCE), str(sources / "nb_combined.cpp"), "-o", str(unfinished)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ImportError(f"{compiler} failed:\n{done.stderr[-2000:]}")
    unfinished.replace(library)


def _load() -> Any:
    """Return the extension module."""
    versions = f"{sys.version} {nanobind.__version__}".encode()
    key = hashlib.sha256(SOURCE.read_bytes() + versions).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"{NAME}_{os.getuid()}_{key}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise ImportError(f"{folder} belongs to somebody else")
    library = folder / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not library.exists():
        _compile(library)
    spec = importlib.util.spec_from_file_location(NAME, library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


module = _load()

adapter = Adapter(
    "nanobind",
    module.make,
    module.take,
    host=lambda taken: taken.host() if isinstance(taken, module.Taken) else np.from_dlpack(taken),
    readonly=module.make_readonly,
    index=None,
    write=lambda taken, value: taken.fill(value),
    known=(
        Known("producer-copies_on_request", "copy=True is refused"),
        Known("producer-readonly_needs_a_version", "a read-only array is exported silently"),
        Known("producer-copy_is_a_text", "arguments are ignored"),
        Known("consumer-readonly_is_taken", "nb::ndarray<> is of writable memory: nb::ro takes it"),
        Known("consumer-lanes", UNCHECKED.reason),
        *(*NANOBIND, NO_ELEMENTS, STREAMS, UNCHECKED, DAEMON),
    ),
)
