# SPDX-License-Identifier: Apache-2.0
"""``make neo``: the programs of the reports on Intel's real driver still show what these say."""

import re
import runpy
import subprocess

import pytest

import environments

REPORTS = runpy.run_path(str(environments.TESTS / "interop" / "reports.py"))
PROGRAMS = [
    (report, number)
    for report in REPORTS["OF_REAL_DRIVERS"]
    for number in range(len(REPORTS["SEEN"][report]))
]


@pytest.mark.parametrize(("report", "number"), PROGRAMS)
def test_defect_is_still_there(report, number, tmp_path):
    code, text = REPORTS["SEEN"][report][number]
    done = subprocess.run(
        [environments.ALL["neo_v1"].python(), "-c", REPORTS["programs"](report)[number]],
        env=environments.clean_environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == code, done.stdout
    assert re.search(text, done.stdout, re.MULTILINE), done.stdout
