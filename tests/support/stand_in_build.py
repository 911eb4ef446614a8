# SPDX-License-Identifier: Apache-2.0
"""What the builders of the stand-ins share: when to compile, and the variables of a process."""

from __future__ import annotations

import os
import unittest
from collections.abc import Iterable
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
