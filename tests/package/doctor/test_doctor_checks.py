# SPDX-License-Identifier: Apache-2.0
"""The conclusions of the doctor from facts: its table of checks, what comes first, exit codes."""

from dataclasses import replace

import pytest

from doctor_facts import BROKEN, CPU, GPU, ICD, steps_with, well
from sycl_ext._cli import doctor as command
from sycl_ext._cli import main
from sycl_ext._doctor import checks, report
from sycl_ext._doctor.finding import Finding
from sycl_ext._doctor.machine import Driver, Library


def test_healthy_machine_has_no_finding():
    assert checks.examine(well()) == []
    assert "RESULT: all is well" in report.as_text(well(), [])


@pytest.mark.parametrize("name", BROKEN)
def test_check_names_the_cause_and_the_cure(name):
    machine, wanted, cause, cure = BROKEN[name]
    (finding,) = checks.examine(machine)
    assert finding.id == wanted
    assert cause in finding.cause
    assert finding.cure == cure
    text = report.as_text(machine, [finding])
    assert f"-> {cure}\n" in f"{text}\n"
    for line in text.splitlines():
        assert len(line) <= 80 or " " not in line.strip() or "->" in line, line


def test_runtime_that_pip_did_not_install_may_be_anywhere():
    """conda, and an installation of oneAPI, have no package with a libsycl."""
    libraries = (Library("/opt/intel/lib/libsycl.so.9", "import sycl_ext"),)
    (finding,) = checks.examine(well(libraries=libraries))
    assert finding.id == "other-runtime"
    assert checks.examine(well(libraries=libraries, runtime_folder="")) == []


def test_checks_have_a_broken_machine_each():
    """The name of a check is the id of what it finds."""
    ids = {check.__name__.replace("_", "-") for check in checks.CHECKS}
    assert ids == {row[1] for row in BROKEN.values()}


def test_problems_come_before_warnings():
    machine = well(
        devices=(CPU, replace(GPU, fp64=False)),
        steps=steps_with("device 0: copy", "failed", "AssertionError: no"),
        drivers=(ICD, Driver("/no.so", "/etc/a.icd", "OSError: no")),
    )
    findings = checks.examine(machine)
    assert [finding.severity for finding in findings] == ["problem", "warning", "warning"]
    assert "RESULT: 1 problem and 2 warnings" in report.as_text(machine, findings)


@pytest.mark.parametrize(
    ("severities", "codes"),
    [((), (0, 0)), (("warning",), (0, 1)), (("warning", "problem"), (1, 1))],
)
def test_exit_codes(severities, codes, monkeypatch):
    findings = [Finding("problem", "cause", "cure", severity=severity) for severity in severities]
    monkeypatch.setattr(command, "examine", lambda machine: findings)
    monkeypatch.setattr(command, "as_text", lambda *_: "")
    assert (main(["doctor"]), main(["doctor", "--strict"])) == codes
