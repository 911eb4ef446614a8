# SPDX-License-Identifier: Apache-2.0
"""The leak check of every test (every_test.py) sees a block, a managed tensor, and one too few."""

import os
import re
import subprocess
import sys

import pytest

import environments

FIRST = """
import gc
import pytest
import sycl_ext as sx

KEPT = []

@pytest.fixture(scope="module", autouse=True)
def leaves_garbage():
    yield
    gc.disable()
    cycle = [sx.zeros(3)]
    cycle.append(cycle)

def test_lets_go_of_all():
    capsule = sx.zeros(3).__dlpack__()
    cycle = [capsule]
    cycle.append(cycle)
"""
SECOND = """
import gc
import pytest
import sycl_ext as sx
import waiting

KEPT = []

@pytest.fixture(scope="module")
def of_all_tests():
    return [sx.zeros(3)]

def test_planted(of_all_tests):
    gc.enable()
    gc.collect()
    waiting.PATIENCE = 0  # nothing will free it
    {}
"""
PLANTED = {
    "a block": "KEPT.append(sx.zeros(3))",
    "a managed tensor": "KEPT.append(of_all_tests[0].__dlpack__())",
    "memory of other tests that is freed": "of_all_tests.clear()",
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_planted_leak_is_seen(planted, tmp_path):
    (tmp_path / "test_first.py").write_text(FIRST)
    (tmp_path / "test_second.py").write_text(SECOND.format(planted))
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider"]
    paths = [str(environments.TESTS), str(environments.HERE)]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    done = subprocess.run(
        [*command, "--rootdir=.", "test_first.py", "test_second.py"],
        cwd=tmp_path,
        env={**environments.clean_environment(), "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, said
    assert "ERROR test_second.py::test_planted - AssertionError: managed tensors" in said
    assert re.search(r"2 passed, (1 warning, )?1 error", said), said
