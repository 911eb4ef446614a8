# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of ``contexts/`` on two platforms, and on GPUs of six kinds."""

import subprocess
import sys

import pytest

import environments

#: name -> the environment whose devices it has, and what is different
VARIANTS = {
    "two_platforms": ("two_platforms", {}),
    "opencl_gpu": ("opencl_gpu", {}),
    "stand_in_gpu": ("stand_in_gpu", {}),
    "stand_in_gpu_strict": ("stand_in_gpu", {"FAKEGPU_STRICT_CTX": "1"}),
    "level_zero_v1": ("level_zero_v1", {}),
    "level_zero_v2": ("level_zero_v2", {}),
    "stand_in_gpu_peers": ("stand_in_gpu", {"FAKEGPU_STRICT_CTX": "1", "FAKEGPU_P2P": "1"}),
}
#: Not every day: contexts of ``stand_in_gpu`` and of ``level_zero_v1`` are like those of
#: ``level_zero_v2``, and those of ``opencl_gpu`` are strict, too.
LONG = ("level_zero_v1", "stand_in_gpu", "stand_in_gpu_strict", "stand_in_gpu_peers")


def run(name, scratch):
    """Run them in a process of its own; returns it, and where its report is."""
    where, more = VARIANTS[name]
    variables = {
        **environments.clean_environment(),
        **environments.variables_of(where, scratch),
        **more,
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    junit_xml = scratch / f"contexts-{name}.xml"
    command += [str(environments.TESTS / "environments" / "contexts"), f"--junitxml={junit_xml}"]
    done = subprocess.run(
        command,
        env={**variables, "SYCL_EXT_ENVIRONMENT": name},
        cwd=environments.HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done, junit_xml


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in VARIANTS],
)
def test_contexts(name, tmp_path_factory):
    scratch = tmp_path_factory.getbasetemp()  # the stand-in GPU is built once
    done, junit_xml = run(name, scratch)
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 200
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
