# SPDX-License-Identifier: Apache-2.0
"""The workers of pytest: one that dies ends neither the run nor what others do."""

import os
import subprocess
import sys

import pytest

from repository import ROOT

CONFTEST = """
import pytest
from scheduling import scheduler

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduler(config, log, lambda path: path if path.endswith("together.py") else None)
"""
TESTS = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(30))
def test_it(number):
    if number == 15:
        {death}
"""


@pytest.mark.parametrize("file", ["test_each.py", "test_together.py"])
@pytest.mark.parametrize(
    ("death", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "ended with SIGKILL"),
        ("os._exit(3)", "ended with exit code 3"),
    ],
    ids=["signal", "exit"],
)
def test_dead_worker_fails_one_test(tmp_path, file, death, said):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / file).write_text(TESTS.format(death=death))
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT / "tests" / "support"),
    }
    options = ("-p", "xdist", "-p", "no:cacheprovider", "--rootdir=.", "-n", "2")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "1 failed, 29 passed" in done.stdout, done.stdout + done.stderr
    assert said in done.stdout
