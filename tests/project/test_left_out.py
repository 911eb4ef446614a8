# SPDX-License-Identifier: Apache-2.0
"""The table of left-out tests names tests that exist, whoever renames them."""

import re
import runpy

from repository import ROOT

TESTS = ROOT / "tests"


def test_left_out_tests_exist():
    defined = {
        name
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    lacks = runpy.run_path(str(TESTS / "support" / "lacks.py"))["LACKS"]
    named = {name.partition("[")[0] for entries in lacks.values() for name in entries}
    tests = {name for name in named if name.startswith("test_")}
    assert len(tests) > 20
    assert tests <= defined, tests - defined
