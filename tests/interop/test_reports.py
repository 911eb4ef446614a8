# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/reports still show the results in the reports."""

import re
import subprocess
import sys

import pytest

import environments
from processes import kept
from reports import OF_REAL_DRIVERS, SEEN, programs

PROGRAMS = [
    (report, number)
    for report, seen in SEEN.items()
    if report not in OF_REAL_DRIVERS
    for number in range(len(seen))
]
#: A race does not show each time.
ATTEMPTS = 3


@pytest.mark.parametrize(("report", "number"), PROGRAMS)
def test_reported_defect_is_still_there(report, number, tmp_path):
    code, text = SEEN[report][number]
    if report.startswith("level-zero"):
        variables = {"PYTHONPATH": str(environments.HERE), **environments.level_zero("v1")}
    elif report.startswith("opencl-adapter"):
        variables = environments.variables_of("opencl_gpu_pair", tmp_path)
    else:
        variables = environments.cpu()  # the only device with kernels of dpnp
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [sys.executable, "-u", "-c", programs(report)[number]],  # one may end without a flush
            env=kept() | variables,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode == code and re.search(text, done.stdout, re.MULTILINE):
            return
    pytest.fail(f"it ends with {done.returncode}, and writes: {done.stdout}")
