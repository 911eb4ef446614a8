# SPDX-License-Identifier: Apache-2.0
"""What has to be known before anything else of the package is loaded."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

PACKAGE: Final = "sycl_ext"


def doctor_is_asked_for() -> bool:
    """Say whether this process is ``python -m sycl_ext doctor``.

    Python imports the package before ``__main__``, and the doctor has to speak when that fails.
    Meanwhile ``sys.argv`` begins with "-m", and only ``sys.orig_argv`` names the module.
    """
    if sys.argv[:2] != ["-m", "doctor"]:
        return False
    module = sys.orig_argv[-len(sys.argv)]  # of [..., "-m", "sycl_ext", "doctor", ...]
    return module.removeprefix("-m") == "sycl_ext"


def load_core() -> None:
    """Load the extension module, and with it the SYCL runtime; an ImportError names the doctor."""
    try:
        import_module("sycl_ext._core")
    except ImportError as error:
        raise ImportError(remedy(error), name=error.name, path=error.path) from error


def restore_package() -> None:
    """Take the modules of an earlier import, when there was one.

    The core is loaded once, and it works for one package: its hooks, its classes and its devices.
    A program that removes the package from ``sys.modules`` and imports it again gets the modules
    that it had, the package itself included: the import system returns what stands in
    ``sys.modules`` when the file has run.
    """
    sys.modules.update(_core().package_modules)


def remember_package() -> None:
    """Keep the modules of the package for `restore_package`; the last thing that an import does."""
    _core().package_modules.update(
        {name: module for name, module in sys.modules.items() if name.partition(".")[0] == PACKAGE}
    )


def _core() -> Any:
    return import_module("sycl_ext._core")


def remedy(error: ImportError) -> str:
    """Return what an ImportError of the core tells a user."""
    return f"{error}; python -m sycl_ext doctor says what is wrong and what mends it"
