# SPDX-License-Identifier: Apache-2.0
"""Runs ``sync/`` on stand-in GPUs: the waits, and the copies."""

import subprocess
import sys
from pathlib import Path

import pytest

import environments

HERE = Path(__file__).resolve().parent
FILES = sorted(path.stem for path in (HERE / "sync").glob("test_*.py"))
#: The older adapter differs little.
ENVIRONMENTS = (pytest.param("level_zero_v1", marks=pytest.mark.long), "level_zero_v2")


def variables_of(name):
    """The environment of a process; the Level Zero driver sees a block that is freed too early."""
    adapter = name.removeprefix("level_zero_")
    return environments.level_zero(adapter, pools=False, tiles=0, p2p=1)


def run(name, where, scratch):
    """Run a file in a process of its own; returns it, and where its report is."""
    junit_xml = scratch / f"sync-{where}-{name}.xml"
    variables = {
        **environments.clean_environment(),
        **variables_of(where),
        "SYCL_EXT_ENVIRONMENT": "sync",
        "DPCTL_VERBOSITY": "error",
    }
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*pytest_here, str(HERE / "sync" / f"{name}.py"), f"--junitxml={junit_xml}"],
        env=variables,
        cwd=environments.HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done, junit_xml


def runs():
    """Every file every day, and not every day with more repetitions, where it has any."""
    for name in FILES:
        yield name
        if "bench.stale(" in (HERE / "sync" / f"{name}.py").read_text():
            yield pytest.param(name, marks=pytest.mark.long, id=f"{name}, repeated more")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ENVIRONMENTS)
@pytest.mark.parametrize("name", list(runs()))
def test_sync(name, where, tmp_path_factory):
    done, junit_xml = run(name, where, tmp_path_factory.getbasetemp())
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
