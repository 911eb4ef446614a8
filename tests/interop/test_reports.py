# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/reports still show the results in the reports."""

import re
import signal
import subprocess
import sys

import pytest

import environments
from processes import ROOT, kept

REPORTS = ROOT / "docs" / "reports"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SEGV, ABRT = -signal.SIGSEGV, -signal.SIGABRT

#: Report -> what each of its programs ends with: a code, and a text that it writes.
SEEN: dict[str, tuple[tuple[int, str], ...]] = {
    "dpctl-first-use": ((0, r"^run \d+ hangs$"),),
    "dpnp-dlpack": (
        (SEGV, ""),
        (SEGV, ""),
        (0, r"\[0\. 1\."),
        (0, r"copy \d+ is wrong"),
        (0, r"^1\n0$"),
    ),
    "jax-copy-true": ((0, r"^\[1\. 1\. 1\. 1\.\]$"),),
    "jax-null-deleter": ((ABRT, "bad_function_call"), (1, "RuntimeError: bad_function_call")),
    "level-zero-v1-failures": ((1, r"^as expected: .*\nTimeout"), (SEGV, "")),
    "onnxruntime-dlpack": ((0, r"\[0\. 1\. 2\."), (ABRT, "deleter != NULL was false")),
    "opencl-cpu-fork": ((0, r"^child \d+ hangs$"),),
    "tensorflow-dlpack": ((0, r"^deleter\nGPU:0 unknown device\.\ndeleter$"),),
    "torch-asarray": ((0, r"^\[0\.0, 0\.0, 0\.0, 1\.875, .*\n\[0\.0, 1\.0, 2\.0, 3\.0\]$"),),
    "torch-dlpack": (
        (0, r"^0\n2$"),
        (1, "NotImplementedError: Could not run 'aten::empty_str"),
        (0, r"^deleter\nnumel: integer multiplication overflow\ndeleter$"),
    ),
}
PROGRAMS = [(report, number) for report, seen in SEEN.items() for number in range(len(seen))]


def programs(report):
    """The programs of a report, each with the block that all of them begin with."""
    first, *rest = BLOCK.findall((REPORTS / f"{report}.md").read_text())
    return [first + program for program in rest] or [first]


#: A race does not show each time.
ATTEMPTS = 3


@pytest.mark.parametrize(("report", "number"), PROGRAMS)
def test_a_defect_is_still_there(report, number, tmp_path):
    code, text = SEEN[report][number]
    if report.startswith("level-zero"):
        variables = {"PYTHONPATH": str(environments.HERE), **environments.level_zero("v1")}
    else:
        variables = environments.cpu()  # the only device with kernels of dpnp
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [sys.executable, "-c", programs(report)[number]],
            env=kept() | variables,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode == code and re.search(text, done.stdout, re.MULTILINE):
            return
    pytest.fail(f"it ends with {done.returncode}, and writes: {done.stdout}")


def test_every_program_is_run():
    found = {page.stem: len(programs(page.stem)) for page in REPORTS.glob("*.md")
             if page.stem != "index"}  # fmt: skip
    assert found == {report: len(seen) for report, seen in SEEN.items()}
