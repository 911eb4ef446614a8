# SPDX-License-Identifier: Apache-2.0
"""Print what CHANGELOG.md says of a version, for the release of a tag.

It is an error when the tag, the package and the changelog do not agree.

python tools/release_notes.py v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version(package: str) -> str:
    """Return the version that the text of ``sycl_ext/__init__.py`` gives the package."""
    return re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)[1]


def section(changelog: str, wanted: str) -> str:
    """Return what stands under "## 0.1.0 - 2026-01-31"; empty when there is no such section."""
    head = rf"^## {re.escape(wanted)} - \d{{4}}-\d\d-\d\d\n"
    found = re.search(rf"{head}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def notes(tag: str, package: str, changelog: str) -> str:
    """Return the notes of a release, checked against its tag."""
    wanted = version(package)
    if tag != f"v{wanted}":
        sys.exit(f"the tag is {tag}, and sycl_ext/__init__.py says {wanted}")
    text = section(changelog, wanted)
    if not text:
        sys.exit(f'CHANGELOG.md has nothing under "## {wanted} - <date>"')
    return text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    package = (ROOT / "sycl_ext" / "__init__.py").read_text()
    print(notes(sys.argv[1], package, (ROOT / "CHANGELOG.md").read_text()))
