# SPDX-License-Identifier: Apache-2.0
"""Runs ``tests/sync`` on the stand-in GPU: what is waited for, what is not, and what is copied."""

import subprocess
import sys
from pathlib import Path

import pytest

import beds
from fake_gpu.build import build, environment

HERE = Path(__file__).resolve().parent


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(path.stem for path in (HERE / "sync").glob("test_*.py")))
def test_sync(name, tmp_path_factory):
    scratch = tmp_path_factory.getbasetemp()  # the stand-in GPU is built once
    build(scratch)
    junit_xml = scratch / f"sync-{name}.xml"
    variables = {
        **beds.clean_environment(),
        **environment(scratch, tiles=0, p2p=1),
        "SYCL_EXT_BED": "sync",
        "DPCTL_VERBOSITY": "error",
    }
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*pytest_here, f"sync/{name}.py", f"--junitxml={junit_xml}"],
        env=variables,
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    report = beds.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
