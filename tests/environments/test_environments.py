# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of each test environment, in a process that sees its devices."""

import subprocess

import pytest

import environments

#: Where the tests of ``contexts/`` run, besides the environment's own.
CONTEXTS = ("two_platforms", "opencl_gpu", "level_zero_v1", "level_zero_v2", "level_zero_no_pools")
#: Environments that differ little from another one, which runs every day.
LONG = ("level_zero_v1", "level_zero_no_pools", "hip")
#: OpenCL's GPU has the tests of Level Zero's, which run on that one every day, and others that run
#: on the CPU every day.
LONG_FOLDERS = (
    ("opencl_gpu", "stand_in_gpu"),
    ("opencl_gpu_kernels", "../ordering/test_pending_faults.py"),
    ("opencl_gpu_kernels", "../ordering/test_sync_dpnp.py"),
)
#: PoCL 7.1 once ended the process in the middle of `test_pending`, and passed in ten other runs.
#: Later source has two repairs of events that a thread uses while another one frees them (June
#: 2026). The others are as long. `make neo-long` runs all of these.
LONG_ON_REAL_DRIVERS = (
    ("pocl", "../ordering/test_pending.py"),
    ("pocl", "../core/runtime"),
    # The newer adapter has these every day.
    ("neo_v1", "contexts"),
    ("neo_v1", "../core/dlpack"),
    ("neo_v1", "../core/tensor"),
    ("neo_v1", "../package/test_roundtrips.py"),
    ("neo_v1", "../core/runtime"),
    ("neo_v1", environments.DEVICES),
    ("neo_v1", "../package/tensor"),
    ("neo_v2", environments.PYTHON_OF_THE_CORE),
    ("neo_v2", environments.DEVICES),
    ("neo_v1", environments.PROTOCOLS),
    ("neo_opencl", environments.PROTOCOLS),
    *((name, environments.EXCHANGE) for name in ("neo_v1", "neo_v2", "neo_opencl")),
)


def runs():
    """Each environment once; that with the matrix of `pending` again, with all of it.

    With ``make neo`` those of the real drivers, one folder of tests after the other.
    """
    if environments.NEO:
        for name, which in environments.REAL_DRIVERS.items():
            for folder in (which.folder, *which.also):
                marks = [pytest.mark.long] if (name, folder) in LONG_ON_REAL_DRIVERS else []
                short = folder if " " not in folder else f"{folder.split()[0]} ..."
                yield pytest.param(name, folder, marks=marks, id=f"{name}, {short}")
        return
    for name in environments.ENVIRONMENTS:
        marks = [pytest.mark.long] if name in LONG else []
        yield pytest.param(name, None, marks=marks, id=name)
        if name in CONTEXTS:
            yield pytest.param(name, "contexts", marks=marks, id=f"{name}, contexts")
    for name, folder in LONG_FOLDERS:
        yield pytest.param(name, folder, marks=pytest.mark.long, id=f"{name}, {folder}")
    kernels = "opencl_gpu_kernels"
    yield pytest.param(kernels, None, marks=pytest.mark.long, id=f"{kernels}, every cell")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "tests"), list(runs()))
def test_environment(name, tests, tmp_path_factory):
    scratch = tmp_path_factory.getbasetemp()
    junit_xml = scratch / "report.xml"
    done = environments.run(
        name,
        scratch,
        f"--junitxml={junit_xml}",
        tests=tests,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    report = environments.Report.read(junit_xml)
    assert report.tests > 0
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done.stdout
