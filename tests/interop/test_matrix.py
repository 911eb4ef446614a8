# SPDX-License-Identifier: Apache-2.0
"""The consumer matrix: what each library makes of USM, seen in a process of its own.

``docs/consumer_matrix.md`` is what was seen; SYCL_EXT_WRITE_MATRIX=1 writes it again.
"""

import functools
import os

import pytest

import matrix_page
from consumers import ROWS
from processes import ROOT, build_nanobind_module, python_in, run_cases
from worker import CASES

PAGE = ROOT / "docs" / "consumer_matrix.md"


@functools.cache
def seen(name):
    build_nanobind_module()
    return run_cases(python_in(ROWS[name].environment), "worker.py", name, len(CASES))


def outcome_of(name, case):
    return seen(name)["cases"][CASES.index(case)]


def cases_of(*ways):
    return [
        pytest.param(name, case, id=f"{name}-{'-'.join(map(str, case))}")
        for name in ROWS
        for case in CASES
        if case[0] in ways
    ]


@pytest.mark.parametrize(("name", "case"), cases_of("direct", "host_view", "exchange"))
def test_nothing_crashes_lies_or_leaks(name, case):
    found = outcome_of(name, case)
    assert found["outcome"] != "crash", found["text"]
    assert found.get("right") is not False
    assert found["leaked"] == 0


@pytest.mark.parametrize(("name", "case"), cases_of("exchange"))
def test_exchange_succeeds(name, case):
    _, _, readonly = case
    found = outcome_of(name, case)
    assert found["outcome"] in ("view", "copy"), found["text"]
    assert not (found["outcome"] == "view" and readonly and found["writable"])
    if found["planned_copies"]:
        assert found["outcome"] == "copy"


@pytest.mark.parametrize(("name", "case"), cases_of("host_view"))
def test_host_view_is_taken(name, case):
    _, memory, readonly = case
    row, found = ROWS[name], outcome_of(name, case)
    if not row.takes_host:
        assert found["outcome"] not in ("view", "copy")
    elif memory == "GPU device" or (row.copies and not (readonly and not row.takes_readonly)):
        assert found["outcome"] == "copy", found["text"]  # a copy is nobody's read-only memory
    elif readonly and not row.takes_readonly:
        assert found["outcome"] not in ("view", "copy")
    else:
        assert found["outcome"] == "view", found.get("text")


@pytest.mark.timeout(600)
def test_page():
    """What is documented is what was seen."""
    page = matrix_page.write({name: seen(name) for name in ROWS})
    if os.environ.get("SYCL_EXT_WRITE_MATRIX") == "1":
        PAGE.write_text(page)
    assert PAGE.read_text() == page
