# SPDX-License-Identifier: Apache-2.0
"""The page of a hardware report, a pure function of the JSON."""

import re

import pytest

from sycl_ext_hardware.page import LONGEST, MOST, as_page, summary
from sycl_ext_hardware.report import choose

USM = ["device", "shared", "host"]
FACTS = ("id", "filter_string", "name", "backend", "device_type", "driver_version", "usm_types")
CPU = dict(zip(FACTS, (0, "opencl:cpu:0", "Xeon", "opencl", "cpu", "2026.1", USM), strict=True))
GPU = dict(zip(FACTS, (1, "level_zero:gpu:0", "Max", "level_zero", "gpu", "1.6", USM), strict=True))
HELD = {"row": "holds", "verdict": "held", "detail": "of 3 | 4"}
FAST = {"row": "copy", "verdict": "held", "detail": "", "figures": {"GB/s": 1.5, "ratio": 0.9}}
WRONG = {"row": "stale", "verdict": "did not hold", "detail": "old\nbytes " * 200}
CANNOT = [{"row": name, "verdict": "cannot", "detail": "it has none"} for name in ("a", "b")]


def report(*parts):
    """A report with the rows of each part."""
    return {
        "ok": True,
        "date": "2026-11-27",
        "seconds": 12.3,
        "quick": False,
        "work": "kernels",
        "device": GPU,
        "other_devices": [CPU, {**CPU, "usm_types": []}],
        "machine": {
            "python": "3.12.1",
            "platform": "Linux",
            "processors": 8,
            "in_container": False,
            "packages": {"dpctl": "0.22.1"},
            "environment": {"ZE_AFFINITY_MASK": "0"},
            "gpus": [{"address": "0000:03:00.0", "module": "xe"}],
        },
        "parts": [
            {"name": f"part {number}", "question": "Is it?", "seconds": 1.0, "rows": list(rows)}
            for number, rows in enumerate(parts)
        ],
    }


def section(page, title):
    return re.search(rf"^## {title}\n\n(.*?)(?=\n## |\Z)", page, re.MULTILINE | re.DOTALL)[1]


def test_rows_that_did_not_hold_come_before_those_that_held():
    page = as_page(report([HELD], [WRONG, *CANNOT]))
    assert page.index("## Did not hold") < page.index("## The device cannot do")
    assert page.index("## The device cannot do") < page.index("## Held")
    (row,) = section(page, "Did not hold").splitlines()[2:3]
    assert row.startswith("| part 1 | stale | did not hold | old bytes")
    assert len(row) < LONGEST[0] + 60


def test_page_begins_with_device_versions_and_settings():
    page = as_page(report([HELD]))
    top = page.partition("## Questions")[0]
    for text in ("Max", "level_zero:gpu:0", "driver 1.6", "xe", "opencl:cpu:0 (without USM)"):
        assert text in top
    for text in ("dpctl 0.22.1", "Python 3.12.1", "ZE_AFFINITY_MASK=0"):
        assert text in top


def test_counts_stand_in_the_summary_and_in_the_table_of_questions():
    made = report([HELD, FAST], [WRONG, *CANNOT])
    assert summary(made) == "2 held, 1 did not hold, 2 cannot"
    assert summary(report([HELD])) == "1 held, 0 did not hold"
    table = section(as_page(made), "Questions").splitlines()
    assert table[0] == "| part | question | held | did not hold | cannot | seconds |"
    assert table[3] == "| part 1 | Is it? | 0 | 1 | 2 | 1.0 |"


def test_verdict_that_occurred_has_a_column():
    hung = {"row": "x", "verdict": "hung", "detail": "60 s"}
    assert " did not hold | hung | cannot " in as_page(report([hung]))


def test_rows_with_one_reason_are_one_line():
    page = as_page(report([*CANNOT]))
    assert "| part 0 | a; b | it has none |" in section(page, "The device cannot do")
    assert section(page, "Did not hold").strip() == "Nothing."


def test_figures_have_columns_and_a_bar_in_text_is_no_column():
    page = as_page(report([HELD, FAST]))
    assert "| row | GB/s | ratio |" in page
    assert "| copy | 1.5 | 0.9 |" in page
    assert r"| holds | of 3 \| 4 |" in page


def test_page_of_many_failures_fits_into_an_issue():
    """400 rows with their details are longer than the largest issue."""
    rows = [{**WRONG, "row": f"row {number} of a report"} for number in range(400)]
    page = as_page(report(rows))
    assert len(page) <= MOST
    assert all(row["row"] in page for row in rows)


# ---- the device of a report ----------------------------------------------------------------------


def test_default_device_is_the_first_gpu_with_usm():
    without = {**GPU, "id": 2, "filter_string": "opencl:gpu:0", "usm_types": []}
    assert choose([CPU, without, GPU], None) is GPU
    assert choose([without, CPU], None) is CPU
    assert choose([CPU, GPU], "0") is CPU
    assert choose([CPU, GPU], "level_zero:gpu:0") is GPU


def test_unknown_device_is_an_error_that_lists_the_devices():
    with pytest.raises(ValueError, match=r"no device 'cuda'.*0 \(opencl:cpu:0\), 1 \(level_zero"):
        choose([CPU, GPU], "cuda")
    with pytest.raises(ValueError, match="no SYCL device; python -m sycl_ext doctor says why"):
        choose([], None)
