# SPDX-License-Identifier: Apache-2.0
"""Where tests are: a short top, folders that mirror the code, and a README that lists them all."""

import re
from pathlib import Path

import pytest

from repository import ROOT, files

TESTS = ROOT / "tests"
MOST = 12  # entries at the top of a tree


def files_of(tree):
    return [path.relative_to(ROOT / tree) for path in files(tree)]


def folders(names):
    return {parent for name in names for parent in name.parents if parent != Path()}


@pytest.mark.parametrize("tree", ["src", "tests"])
def test_top_of_a_tree_is_short(tree):
    top = {name.parts[0] for name in files_of(tree)}
    assert len(top) <= MOST, sorted(top)


#: How deep the folders are that are mirrored: `src/runtime` has folders of its own.
DEPTH = {"src": 2, "sycl_ext": 1}


def code_folders():
    for tree, mirror in (("src", "core"), ("sycl_ext", "package")):
        code = [name for name in files_of(tree) if name.suffix in (".cpp", ".py")]
        for names in sorted({name.parent.parts[: DEPTH[tree]] for name in code} - {()}):
            name = "/".join(names)
            yield pytest.param(tree, mirror, name, id=f"{tree}/{name}")


@pytest.mark.parametrize(("tree", "mirror", "name"), list(code_folders()))
def test_folders_of_the_code_have_folders_of_tests(tree, mirror, name):
    folder = TESTS / mirror / name.lstrip("_")
    assert list(folder.glob("test_*.py")), f"no tests of {tree}/{name} in {folder}"


def test_readme_lists_the_folders():
    text = (TESTS / "README.md").read_text()
    cells = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ")]
    listed = {name for row in cells for cell in row for name in re.findall(r"`([\w/]+)/`", cell)}
    listed |= {f"support/{name}" for name in listed if (TESTS / "support" / name).is_dir()}
    there = {folder.as_posix() for folder in folders(files_of("tests"))}
    assert there - listed <= {"core", "core/runtime", "support"}, (
        "tests/README.md does not list these"
    )
    gone = {name for name in listed if not (TESTS / name).is_dir()}
    gone -= {name for name in gone if (TESTS / "support" / name).is_dir()}
    gone -= {name for name in gone if (ROOT / name).is_dir()}
    assert not gone, "tests/README.md lists these, and they are not there"
