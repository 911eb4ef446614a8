# SPDX-License-Identifier: Apache-2.0
"""The benchmarks measure what they say; nothing here depends on how long anything takes."""

import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.harness import (  # noqa: E402
    Contender,
    Outcome,
    Pace,
    Race,
    Spread,
    Target,
    calibrate,
    orders,
    race,
)


def test_the_spread_is_median_and_quartiles():
    assert Spread.of([5, 1, 3, 2, 4]) == Spread(2, 3, 4)
    assert Spread.of([7]) == Spread(7, 7, 7)


def test_ratios_are_taken_within_a_turn():
    """The machine becomes ten times slower in the middle; the ratio does not change."""
    times = [1.0, 1.0, 10.0, 10.0]
    assert Race({"a": [2 * t for t in times], "b": times}).ratio("a", "b") == Spread(2, 2, 2)
    assert Race({"a": [1, 2, 3]}).time("a") == Spread(1.5, 2, 2.5)
    with pytest.raises(ValueError, match="zip"):
        Race({"a": [1], "b": [1, 2]}).ratio("a", "b")


@pytest.mark.parametrize("per_run", [1e-9, 3e-7, 1e-3, 2.0])
def test_calibration_finds_enough_runs_and_not_many_more(per_run):
    count = calibrate(lambda n: n * per_run, 4e-4)
    assert count * per_run >= 4e-4
    assert count == 1 or count * per_run <= 10 * 4e-4


def test_calibration_is_not_fooled_by_a_slow_start():
    """The first sample waits for something else."""
    delays = iter([1.0])
    assert calibrate(lambda n: n * 1e-6 + next(delays, 0), 1e-3) >= 1000


def test_calibration_ends():
    assert calibrate(lambda n: 0.0, 1.0, most=1000) == 1000


def test_everybody_is_first_and_last_equally_often():
    first_six = list(islice(orders("abc"), 6))
    assert all(sorted(order) == ["a", "b", "c"] for order in first_six)
    assert set(Counter(order[0] for order in first_six).values()) == {2}
    assert set(Counter(order[-1] for order in first_six).values()) == {2}


def test_a_race_takes_turns():
    log = []

    def runner(name):
        return lambda n: log.append(name) or n * 1e-3

    result = race({name: runner(name) for name in "abc"}, Pace(0.0, 1e-3, (4, 4)))
    assert {name: len(times) for name, times in result.seconds.items()} == dict.fromkeys("abc", 4)
    turns = log[-12:]
    assert all(sorted(turns[i : i + 3]) == ["a", "b", "c"] for i in range(0, 12, 3))
    assert result.ratio("a", "b") == Spread(1, 1, 1)


def test_a_pace_looks_at_least_a_few_times():
    assert Pace(2.0, 1e-3, (9, 100)).scaled(0.1) == Pace(0.2, 1e-3, (3, 100))


def test_a_contender_runs_its_statement_and_prepares_before():
    done = []
    sample = Contender("done.append(0)", {"done": done}, prepare="done.append(_n)").compiled()
    assert sample(3) >= 0
    assert done == [3, 0, 0, 0]


def outcome(value, *target):
    spread = Spread(value * 0.9, value, value * 1.1)
    return Outcome("`f(x)` / g", spread, Target(*target), 0.5, "g", "Why.")


def test_a_target_is_from_above_or_from_below():
    assert outcome(1.0, "<=", 1.0).passed
    assert not outcome(1.01, "<=", 1.0).passed
    assert outcome(100, ">=", 100).passed
    assert not outcome(99, ">=", 100).passed


def test_numbers_have_three_digits():
    numbers = [report.number(value) for value in (0.0421, 1.234, 12.34, 123.4, 12345.6)]
    assert numbers == ["0.04", "1.23", "12.3", "123", "12,346"]
    assert report.number(7.5, "MB") == "7.50 MB"


def test_the_line_of_a_figure():
    text = report.line(outcome(1.5, "<=", 1.3))
    assert " ".join(text.split()) == "FAIL 0.67 x [0.61 to 0.74] ≥ 0.77 x bound 2.00 x f(x) / g"
    text = report.line(outcome(7.5, "<=", 16, "MB"))
    assert " ".join(text.split()) == "pass 7.50 MB [6.75 to 8.25] ≤ 16 MB bound 0.50 MB f(x) / g"


def test_the_page_says_why_a_figure_fails():
    read = {name: (ROOT / "docs" / name).read_text() for name in report.PAGES}
    found = report.pages(read, [outcome(1.5, "<=", 1.3), outcome(200, ">=", 100)])
    page = found["measurements.md"]
    assert "| `f(x)` | g | **0.67 x** | 0.61 to 0.74 | ≥ 0.77 x | **no** | 2.00 x: g |" in page
    assert "| `f(x)` | g | **200 x** | 180 to 220 | ≥ 100 x | yes | 0.50 x: g |" in page
    assert page.count("Why.") == 1
    assert "Every figure passes" in report.pages(found, [outcome(1, "<=", 1)])["measurements.md"]
    with pytest.raises(ValueError, match="0 blocks named table"):
        report.pages({**read, "measurements.md": page.replace("end of table", "")}, [])


def test_the_page_shows_the_figures_that_are_measured():
    """Each of the table, in its order; `make bench` writes them."""
    pytest.importorskip("dpnp")
    pytest.importorskip("tvm_ffi")
    code = "from benchmarks.build import use_cpu_device as use; use()\n"
    code += "from benchmarks.figures import FIGURES\n"
    code += "print(*(f.name for f in FIGURES), sep='\\n')"
    names = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).splitlines()
    page = (ROOT / "docs" / "measurements.md").read_text()
    shown = re.findall(r"^\| (.*?) \| \*\*.*\| (?:yes|\*\*no\*\*) \| .* \|$", page, re.MULTILINE)
    assert len(names) > 25
    assert shown[: len(names)] == [name.replace(" / ", " | ") for name in names], "make bench"
    assert set(report.SHORT) <= set(names)  # the rows for users
    users = (ROOT / "docs" / "benchmarks.md").read_text()
    rows = {f"| {words} | {name} | " for name, words in report.SHORT.items()}
    assert all(row in users for row in rows), "make bench"


@pytest.mark.timeout(400)
@pytest.mark.long
def test_everything_runs(tmp_path):
    """All statements, all processes and all plots, as briefly as can be."""
    pytest.importorskip("dpnp")
    pytest.importorskip("matplotlib")
    pytest.importorskip("tvm_ffi")
    command = [sys.executable, "-m", "benchmarks", "--smoke", "--output", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    page = (tmp_path / "measurements.md").read_text()
    rows = re.findall(r"^\| .* \| (?:yes|\*\*no\*\*) \| .* \|$", page, re.MULTILINE)
    assert len(rows) > 30
    pictures = re.findall(r"!\[.*\]\((.*)\)", page + (tmp_path / "benchmarks.md").read_text())
    assert len(pictures) == 2
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "words",
    # The work of scikit-learn needs what `make bench` alone installs.
    [
        *(("end_to_end", "--only", name) for name in ("there", "sub", "param", "dask", "threads")),
        ("scale",),
    ],
    ids=" ".join,
)
def test_other_tables(words):
    module, *options = words
    command = [sys.executable, "-m", f"benchmarks.{module}", "--smoke", *options]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\| .* \|$", done.stdout.splitlines()[-1]), done.stdout
