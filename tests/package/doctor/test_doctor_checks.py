# SPDX-License-Identifier: Apache-2.0
"""What the doctor concludes from facts: its table of checks, what comes first, exit codes."""

from dataclasses import replace

import pytest

from doctor_facts import BROKEN, CPU, GPU, ICD, WELL, with_step
from sycl_ext._doctor import checks, command, render
from sycl_ext._doctor.facts import (
    Driver,
    Finding,
    Library,
)


def test_a_machine_where_all_is_well():
    assert checks.examine(WELL) == []
    assert "RESULT: all is well" in render.as_text(WELL, [])


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_names_the_cause_and_the_cure(name):
    facts, wanted, cause, cure = BROKEN[name]
    (finding,) = checks.examine(facts)
    assert finding.id == wanted
    assert cause in finding.cause
    assert finding.cure == cure
    text = render.as_text(facts, [finding])
    assert f"-> {cure}\n" in f"{text}\n"
    for line in text.splitlines():
        assert len(line) <= 80 or " " not in line.strip() or "->" in line, line


def test_a_runtime_that_is_not_of_pip_may_be_anywhere():
    """conda, and an installation of oneAPI, have no package of that name."""
    libraries = (Library("/opt/intel/lib/libsycl.so.9", "", "import sycl_ext"),)
    packages = {k: v for k, v in WELL.packages.items() if k != "intel-sycl-rt"}
    ids = [found.id for found in checks.examine(replace(WELL, libraries=libraries))]
    assert ids == ["other-runtime"]
    facts = replace(WELL, libraries=libraries, packages=packages)
    assert "other-runtime" not in [found.id for found in checks.examine(facts)]


def test_every_check_is_tried():
    """Each check fires in BROKEN, and `unexplained`, which is no row of the table."""
    facts = [row[0] for row in BROKEN.values()]
    for check in checks.CHECKS:
        assert any(list(check(fact)) for fact in facts), check.__name__


def test_problems_come_before_warnings():
    facts = replace(
        WELL,
        devices=(CPU, replace(GPU, fp64=False)),
        steps=with_step("device 0: copy", "failed", "AssertionError: no"),
        drivers=(ICD, Driver("/no.so", "/etc/a.icd", "OSError: no")),
    )
    found = checks.examine(facts)
    assert [finding.severity for finding in found] == ["problem", "warning", "warning"]
    assert "RESULT: 1 problem and 2 warnings" in render.as_text(facts, found)


@pytest.mark.parametrize(
    ("severities", "codes"),
    [((), (0, 0)), (("warning",), (0, 1)), (("warning", "problem"), (1, 1))],
)
def test_exit_codes(severities, codes):
    found = [Finding("id", severity, "problem", "cause", "cure") for severity in severities]
    assert (command.exit_code(found, strict=False), command.exit_code(found, strict=True)) == codes
