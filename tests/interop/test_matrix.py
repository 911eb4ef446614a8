# SPDX-License-Identifier: Apache-2.0
"""The consumer matrix: what each library makes of USM, seen in a process of its own."""

import pytest

import seen
from consumers import ROWS
from quirks import LAYOUTS, OF_NUMPY
from worker import CASES

KIND = "consumer"


def outcome_of(name, case):
    return seen.consumer(name)[case]


def cases_of(*ways):
    return [
        pytest.param(name, case, id=f"{name}-{'-'.join(map(str, case))}")
        for name in ROWS
        for case in CASES
        if case[0] in ways
    ]


@pytest.mark.parametrize(("name", "case"), cases_of("direct", "host_view", "exchange"))
def test_library_neither_crashes_nor_lies_nor_leaks(name, case):
    outcome = outcome_of(name, case)
    assert outcome["outcome"] != "crash", outcome["text"]
    assert outcome.get("right") is not False
    assert outcome["leaked"] == 0


@pytest.mark.parametrize(("name", "case"), cases_of("exchange"))
def test_exchange_succeeds(name, case):
    _, memory, readonly = case
    row, outcome = ROWS[name], outcome_of(name, case)
    is_of_a_user = not isinstance(row.load, str)
    has_a_copy = row.views_host and memory == "GPU device"  # that of `host_view`
    if is_of_a_user and readonly and not row.takes_readonly and not has_a_copy:
        # It may write, so it refuses the memory, and gets no copy in its place.
        assert outcome["outcome"] == "TypeError"
        return
    assert outcome["outcome"] in ("view", "copy"), outcome["text"]
    assert not (outcome["outcome"] == "view" and readonly and outcome["writable"])
    if outcome["planned_copies"]:
        assert outcome["outcome"] == "copy"


@pytest.mark.parametrize(("name", "case"), cases_of("host_view"))
def test_host_view_is_taken(name, case):
    _, memory, readonly = case
    row, outcome = ROWS[name], outcome_of(name, case)
    if not row.takes_host:
        assert outcome["outcome"] not in ("view", "copy")
    elif memory == "GPU device" or (readonly and row.copies_readonly):
        assert outcome["outcome"] == "copy", outcome["text"]
    elif row.copies and not (readonly and not row.takes_readonly):
        assert outcome["outcome"] == "copy", outcome["text"]  # a copy is nobody's read-only memory
    elif readonly and not row.takes_readonly:
        assert outcome["outcome"] not in ("view", "copy")
    else:
        assert outcome["outcome"] == "view", outcome.get("text")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OF_NUMPY)
def test_layouts_of_what_takes_numpy_arrays(name, layout):
    """A result is right, or there is none, as docs/develop/consumer_matrix.md says."""
    outcome = outcome_of(name, ("exchange", "layout", layout))
    assert outcome["outcome"] != "crash", outcome["text"]
    assert outcome.get("right") is not False
    assert outcome["leaked"] == 0
