# SPDX-License-Identifier: Apache-2.0
"""Runs ``native_backends/`` on stand-in GPUs whose adapter poses as that of CUDA or HIP."""

import subprocess
import sys

import pytest

import environments
from fake_gpu.build import build, environment


@pytest.mark.parametrize("backend", ["cuda", pytest.param("hip", marks=pytest.mark.long)])
def test_native_backends(backend, tmp_path_factory):
    scratch = tmp_path_factory.getbasetemp()  # the stand-in GPU is built once
    build(scratch)
    junit_xml = scratch / f"native-{backend}.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    folder = environments.TESTS / "environments" / "native_backends"
    done = subprocess.run(
        [*command, str(folder), f"--junitxml={junit_xml}"],
        env={
            **environments.clean_environment(),
            **environment(scratch, tiles=0, backend=backend),
            "SYCL_EXT_ENVIRONMENT": backend,
        },
        cwd=environments.HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
