# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of each bed in a process that sees the devices of that bed."""

import subprocess

import pytest

import beds


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", beds.BEDS)
def test_bed(name, tmp_path_factory):
    if reason := beds.BEDS[name].missing():
        pytest.skip(reason)
    scratch = tmp_path_factory.getbasetemp()  # the stand-in GPU is built once
    junit_xml = scratch / f"{name}.xml"
    done = beds.run(
        name,
        scratch,
        f"--junitxml={junit_xml}",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    report = beds.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
