# SPDX-License-Identifier: Apache-2.0
"""Runs ``sync/`` on stand-in GPUs: what is waited for, what is not, and what is copied."""

import subprocess
import sys
from pathlib import Path

import pytest

import environments
import level_zero.build as level_zero
from fake_gpu.build import build, environment

HERE = Path(__file__).resolve().parent
FILES = sorted(path.stem for path in (HERE / "sync").glob("test_*.py"))
ENVIRONMENTS = ("stand_in_gpu", "level_zero_v1", "level_zero_v2")
#: Not every day: the real adapters wait and copy as the stand-in one does.
LONG = ("stand_in_gpu",)


def variables_of(name, scratch):
    """The environment of a process; the Level Zero driver sees a block that is freed too early."""
    if name == "stand_in_gpu":
        build(scratch)  # once for a session
        return environment(scratch, tiles=0, p2p=1)
    folder = environments.ROOT / "build" / "level_zero"
    level_zero.build(folder)
    adapter = name.removeprefix("level_zero_")
    return level_zero.environment(folder, adapter, pools=False, tiles=0, p2p=1)


def run(name, where, scratch):
    """Run a file in a process of its own; returns it, and where its report is."""
    junit_xml = scratch / f"sync-{where}-{name}.xml"
    variables = {
        **environments.clean_environment(),
        **variables_of(where, scratch),
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
@pytest.mark.parametrize(
    "where",
    [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in ENVIRONMENTS],
)
@pytest.mark.parametrize("name", list(runs()))
def test_sync(name, where, tmp_path_factory):
    done, junit_xml = run(name, where, tmp_path_factory.getbasetemp())
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
