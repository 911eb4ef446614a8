# SPDX-License-Identifier: Apache-2.0
"""A release is what its tag, the package and the changelog agree on."""

import importlib.util
import re
from pathlib import Path

import pytest

import sycl_ext as sx

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = '"""Text."""\n__version__ = "1.2.0"\n'
CHANGELOG = """# Changelog

## Unreleased

### Added

- Nothing yet.

## 1.2.0 - 2030-02-28

### Fixed

- A mistake.

## 1.1.0 - 2030-01-31

- Older.
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("notes", ROOT / "tools" / "release_notes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notes_are_the_section_of_the_version(tool):
    assert tool.notes("v1.2.0", PACKAGE, CHANGELOG) == "### Fixed\n\n- A mistake."


@pytest.mark.parametrize(
    ("tag", "changelog", "words"),
    [
        ("v1.2.1", CHANGELOG, "the tag is v1.2.1, and .* says 1.2.0"),
        ("1.2.0", CHANGELOG, "the tag is 1.2.0"),
        ("v1.2.0", CHANGELOG.replace("1.2.0 - ", "1.2.0, "), "nothing under"),
        ("v1.2.0", CHANGELOG.replace("1.2.0", "1x2.0"), "nothing under"),
    ],
)
def test_a_release_that_does_not_agree(tool, tag, changelog, words):
    with pytest.raises(SystemExit, match=words):
        tool.notes(tag, PACKAGE, changelog)


def test_this_package_and_this_changelog(tool):
    """Where the version is read is where it stands, and the changelog has its form."""
    assert tool.version((ROOT / "sycl_ext" / "__init__.py").read_text()) == sx.__version__
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", head) for head in heads[1:])
