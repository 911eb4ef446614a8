# SPDX-License-Identifier: Apache-2.0
"""The kit as others run it: ``pytest --pyargs dlpack_conformance --dlpack=LIBRARY``."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import environments
from dlpack_conformance import Adapter
from dlpack_conformance.cases import CASES
from dlpack_conformance.known import Known

ROOT = environments.ROOT

pytestmark = pytest.mark.timeout(300)  # two hundred cases, next to the tests of other workers


def kit(*arguments, folder, variables=None):
    """Run pytest on the kit; return what it wrote."""
    seen = {
        **environments.clean_environment(),
        **(environments.cpu() if variables is None else variables),
    }
    seen["PYTHONPATH"] = str(ROOT / "conformance" / "examples")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=line",
         "--pyargs", "dlpack_conformance", *arguments],
        env=seen, cwd=folder, capture_output=True, text=True, timeout=280,
    )  # fmt: skip


def test_numpy_without_any_device(tmp_path):
    """The kit needs no SYCL device: here there is none."""
    variables = {**environments.cpu(), "ONEAPI_DEVICE_SELECTOR": "*:fpga"}
    report = tmp_path / "report.json"
    done = kit("--dlpack=numpy", f"--dlpack-report={report}", folder=tmp_path, variables=variables)
    assert done.returncode == 0, done.stdout
    rows = json.loads(report.read_text())
    assert {row["case"] for row in rows} == set(CASES)
    # A library that dies is a row, and pytest goes on.
    assert [row["case"] for row in rows if row["outcome"] == "died"] == [
        "robust-consumer-null_shape_of_a_matrix"
    ]


PLACES = ["cpu"]
RARER = ("two_platforms", "opencl_gpu", "level_zero_v1", "level_zero_v2")
RARER += ("level_zero_no_pools", "out_of_memory")
#: The cases that are not run with this package, and their memory; on a GPU also views of the host.
NOT_ASKED = {
    ("must-consumer-stays_on_its_device", "host"),  # its tensors of host memory are on a device
    ("must-consumer-pending_work_reaches_a_view", "host"),
    ("must-consumer-pending_work_reaches_a_copy", "host"),
    ("must-consumer-no_stream_for_the_host", "own"),
    ("should-producer-stream_on_the_host_is_refused", "own"),
    (
        "should-consumer-readonly_survives_an_export",
        "host",
    ),  # its exports of host memory are copies
    ("should-consumer-imports_are_views", "host"),
    ("robust-consumer-host_memory_called_usm", "own"),
    ("robust-consumer-child_after_fork", "own"),
    ("robust-consumer-imported_in_a_sub_interpreter", "own"),
}
ON_A_GPU = NOT_ASKED | {("must-consumer-copy_false_is_a_view", "host")}
CPUS = ("cpu", "two_platforms", "out_of_memory")
PLACES += [pytest.param(name, marks=pytest.mark.long) for name in RARER]


@pytest.mark.parametrize("place", PLACES)
def test_sycl_ext_conforms(place, tmp_path):
    report = tmp_path / "report.json"
    done = kit(
        "--dlpack=sycl_ext",
        f"--dlpack-report={report}",
        folder=tmp_path,
        variables=environments.variables_of(place, tmp_path),
    )
    assert done.returncode == 0, done.stdout
    rows = json.loads(report.read_text())
    assert not [row for row in rows if row["known"]], "nothing is excused here"
    left = {(row["case"], row["memory"]) for row in rows if row["outcome"] != "passed"}
    assert left == (NOT_ASKED if place in CPUS else ON_A_GPU)


@pytest.mark.long
def test_device_without_usm_is_an_error_of_the_kit(tmp_path):
    """There is nothing to check, and the kit says why."""
    variables = environments.variables_of("no_usm", tmp_path)
    done = kit("--dlpack=sycl_ext", folder=tmp_path, variables=variables)
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert re.search(
        "--dlpack=sycl_ext: BufferError: device 0 .* does not support .* USM", done.stdout
    )


@pytest.mark.long  # two of its cases look for leaks, with arrays that take long to make
def test_small_producer_has_the_documented_result(tmp_path):
    """The example of docs/conformance.md, and the numbers there."""
    report = tmp_path / "report.md"
    done = kit("--dlpack=frames:adapter", f"--dlpack-report={report}", folder=tmp_path)
    assert done.returncode == 1
    (line,) = re.findall(r"^frames:adapter unknown: .*$", done.stdout, re.MULTILINE)
    assert line in (ROOT / "docs" / "conformance.md").read_text()
    assert "| must, producer |" in report.read_text()


def test_cases_run_in_another_suite(tmp_path):
    """The program of conformance/README.md."""
    program = (ROOT / "conformance" / "README.md").read_text().split("```python\n")[-1]
    (tmp_path / "test_dlpack_of_numpy.py").write_text(program.partition("```")[0])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, tmp_path],
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d\d passed", done.stdout)


def test_missing_or_unknown_library_is_named(tmp_path):
    assert "which library?" in kit(folder=tmp_path).stdout
    done = kit("--dlpack=nompy", folder=tmp_path)
    assert "no adapter 'nompy'" in done.stdout
    assert done.returncode != 0


def test_known_defects_name_cases(tmp_path):
    """Of each library that is here: what cannot be imported has no adapter."""
    code = """
from importlib.metadata import entry_points
from dlpack_conformance.cases import CASES

for entry in entry_points(group="dlpack_conformance"):
    try:
        known = entry.load().known
    except ImportError:
        continue
    for one in known:
        one.check(CASES)
"""
    environments.python(code)


@pytest.mark.parametrize(
    ("version", "case", "memory", "is_covered"),
    [
        ("1.5", "must-consumer-good_struct", "host", True),
        ("2.0", "must-consumer-good_struct", "host", False),
        ("1.5", "must-consumer-good_struct", "own", False),
        ("1.5", "must-consumer-other", "host", False),
        ("1.6.dev1", "must-consumer-good_struct", "host", True),
        ("unknown", "must-consumer-good_struct", "host", True),
    ],
)
def test_known_defect_covers_versions_cases_and_memory(version, case, memory, is_covered):
    known = Known("consumer-good*", "why", versions=">=1,<2", memory="host").in_version(version)
    assert (known is not None and known.covers(case, memory)) == is_covered


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("consumer-good_struct", {"host", "own"}),
        ("must-consumer-good_struct", {"host", "own"}),
        ("must-*-good_struct", {"host", "own"}),
        ("must-consumer-good_[rst]truct", {"host", "own"}),
        ("must-consumer-good_struct-own", {"own"}),
        ("numpy-must-consumer-good_struct-host", {"host"}),
        ("test_dlpack[odd:adapter-must-consumer-good_struct-host]", {"host"}),
        ("kit/test_dlpack.py::test_dlpack[numpy-must-consumer-good_struct-own]", {"own"}),
        ("should-consumer-good_struct", set()),
        ("good_struct", set()),
    ],
)
def test_known_defect_has_the_id_of_a_report_or_of_pytest(pattern, covered):
    known = Known(f"producer-other {pattern}", "why")
    case = "must-consumer-good_struct"
    assert {memory for memory in ("host", "own") if known.covers(case, memory)} == covered


def test_documents_have_the_number_of_cases():
    assert f"has {len(CASES)} small cases" in (ROOT / "docs" / "conformance.md").read_text()
    assert f"{len(CASES)} small cases" in (ROOT / "conformance" / "README.md").read_text()


def test_adapter_is_data():
    adapter = Adapter("numpy", np.array, np.from_dlpack)
    assert adapter.index(adapter.make(np.arange(3)), 1) == 1
