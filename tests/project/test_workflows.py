# SPDX-License-Identifier: Apache-2.0
"""The workflows: anybody's fork runs them, on actions that nobody can change."""

import re

import pytest

from repository import ROOT

FILES = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob(".github/actions/*/*.yml")])
USES = re.compile(r"^\s*(?:- )?uses: (?P<action>\S+)(?P<comment>.*)$", re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_actions_are_pinned_to_commits(file):
    """The comment has the version, which dependabot keeps up to date."""
    for result in USES.finditer(file.read_text()):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", result["action"]), result[0]
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", result["comment"]), result[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_jobs_depend_on_no_variable_of_one_repository(file):
    assert re.findall(r"\b(?:vars|secrets)\.\w+", file.read_text()) == []


def test_hooks_are_linters_of_the_gate():
    """pre-commit runs the programs of `make lint` that take seconds, and no others."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^lint: setup\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    linters = set(re.findall(r"\$\(BIN\)/([\w-]+)", recipe))
    hooks = set(
        re.findall(r"entry: \.venv/bin/([\w-]+)", (ROOT / ".pre-commit-config.yaml").read_text())
    )
    assert hooks == linters - {"basedpyright", "python"}
