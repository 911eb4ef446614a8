# SPDX-License-Identifier: Apache-2.0
"""Floor 1. What has to be known before anything else of the package is loaded."""

from __future__ import annotations

import sys
from importlib import import_module


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


def remedy(error: ImportError) -> str:
    """Return what an ImportError of the core tells a user."""
    return f"{error}; python -m sycl_ext doctor says what is wrong and what mends it"
