# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of each test environment, in a process that sees its devices."""

import subprocess

import pytest

import environments

#: Environments that differ little from another one, which runs every day: the stand-in adapter runs
#: what the real adapters run, and the two of Level Zero run the same.
LONG = ("stand_in_gpu", "stand_in_gpu_strict", "level_zero_v1", "level_zero_no_pools")


def runs():
    """Each environment once; that with the matrix of `pending` again, with all of it."""
    for name in environments.ENVIRONMENTS:
        yield pytest.param(name, marks=[pytest.mark.long] if name in LONG else [])
    kernels = "opencl_gpu_kernels"
    yield pytest.param(kernels, marks=pytest.mark.long, id=f"{kernels}, every cell")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", list(runs()))
def test_environment(name, tmp_path_factory):
    scratch = tmp_path_factory.getbasetemp()  # the stand-in GPU is built once
    junit_xml = scratch / f"{name}.xml"
    done = environments.run(
        name,
        scratch,
        f"--junitxml={junit_xml}",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
