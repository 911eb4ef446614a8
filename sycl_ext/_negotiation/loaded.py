# SPDX-License-Identifier: Apache-2.0
"""Looks up attributes of imported packages, and imports none itself. Pure Python."""

import sys
from typing import Any


def loaded(package: str, name: str) -> Any:
    """Return an attribute of a package; None if it is not imported yet; does not import it."""
    return getattr(sys.modules.get(package), name, None)
