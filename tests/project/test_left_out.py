# SPDX-License-Identifier: Apache-2.0
"""What tests need are features that an environment lacks, or the tests would never be left out."""

import re
import runpy

from repository import ROOT

TESTS = ROOT / "tests"


def test_needs_of_tests_are_features_of_environments():
    named = {
        feature
        for file in TESTS.rglob("test_*.py")
        for feature in re.findall(r'^@needs\(\s*"(\w+)"', file.read_text(), re.MULTILINE)
    }
    lacks = runpy.run_path(str(TESTS / "support" / "needs.py"))["LACKS"].values()
    features = {feature for lacking in lacks for feature in lacking}
    fixtures = {"halves", "imports_of_host_memory", "tiles", "with_ipc"}
    assert len(named) > 10
    assert named <= features, named - features
    assert features - named <= fixtures, features - named - fixtures
