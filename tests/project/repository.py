# SPDX-License-Identifier: Apache-2.0
"""The files of this repository, without build results; git is not needed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
_IGNORED = [".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split())]


def _is_ignored(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _IGNORED)


def tool(name: str) -> ModuleType:
    """Return a program of ``tools/`` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files(tree: str = ".") -> Iterator[Path]:
    """The files below a folder of the repository, without those that .gitignore names."""
    for folder, folders, names in os.walk(ROOT / tree):
        folders[:] = sorted(name for name in folders if not _is_ignored(name))
        yield from (Path(folder, name) for name in sorted(names) if not _is_ignored(name))
