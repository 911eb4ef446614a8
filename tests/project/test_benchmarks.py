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
from benchmarks.harness import Outcome, Pace, Race, Spread, Target, orders, race  # noqa: E402


def test_ratios_are_taken_within_a_turn():
    """The machine becomes ten times slower in the middle; the ratio does not change."""
    times = [1.0, 1.0, 10.0, 10.0]
    assert Race({"a": [2 * t for t in times], "b": times}).ratio("a", "b") == Spread(2, 2, 2)
    log = []
    runners = {name: lambda n, name=name: log.append(name) or n * 1e-3 for name in "abc"}
    result = race(runners, Pace(0.0, 1e-3, (4, 4)))
    assert {name: len(times) for name, times in result.seconds.items()} == dict.fromkeys("abc", 4)
    assert all(sorted(log[-12:][turn : turn + 3]) == ["a", "b", "c"] for turn in range(0, 12, 3))
    firsts = Counter(order[0] for order in islice(orders("abc"), 6))
    assert set(firsts.values()) == {2}


def test_a_page_says_which_figures_fail():
    spread = Spread(1.35, 1.5, 1.65)
    read = {name: (ROOT / "docs" / name).read_text() for name in report.PAGES}
    slow = Outcome("`f(x)` / g", spread, Target("<=", 1.3), 0.5, "g", "Why.")
    page = report.pages(read, [slow])["measurements.md"]
    assert "| `f(x)` | g | **0.67 x** | 0.61 to 0.74 | ≥ 0.77 x | **no** | 2.00 x: g |" in page
    assert page.count("Why.") == 1
    fast = Outcome("`f(x)` / g", spread, Target("<=", 1.5), 0.5, "g", "Why.")
    assert "Every figure passes" in report.pages(read, [fast])["measurements.md"]


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


@pytest.mark.timeout(600)
@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    # The work of scikit-learn needs packages that only `make bench` installs.
    [
        *(f"end_to_end --only {name}" for name in ("there", "sub", "param", "dask", "threads")),
        "scale",
        "",
    ],
)
def test_everything_runs(words, tmp_path):
    """As briefly as can be; without words all statements and plots of the page."""
    for needed in ("dpnp", "matplotlib", "tvm_ffi"):
        pytest.importorskip(needed)
    module, *options = f"benchmarks.{words}".rstrip(".").split()
    options += [] if words else ["--output", str(tmp_path)]
    command = [sys.executable, "-m", module, "--smoke", *options]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    if words:
        assert re.search(r"^\| .* \|$", done.stdout.splitlines()[-1]), done.stdout
        return
    page = (tmp_path / "measurements.md").read_text()
    assert len(re.findall(r"^\| .* \| (?:yes|\*\*no\*\*) \| .* \|$", page, re.MULTILINE)) > 30
    pictures = re.findall(r"!\[.*\]\((.*)\)", page + (tmp_path / "benchmarks.md").read_text())
    assert len(pictures) == 2
    assert all((tmp_path / one).read_bytes().startswith(b"\x89PNG") for one in pictures)
