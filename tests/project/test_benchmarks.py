# SPDX-License-Identifier: Apache-2.0
"""The benchmarks measure what they say; nothing here depends on how long anything takes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import report  # noqa: E402


def test_measurements_page_shows_the_figures():
    """Each of the table, in its order; `make bench` writes them."""
    pytest.importorskip("dpnp")
    pytest.importorskip("tvm_ffi")
    code = "from benchmarks.build import use_cpu_device as use; use()\n"
    code += "from benchmarks.figures import FIGURES\n"
    code += "print(*(f.name for f in FIGURES), sep='\\n')"
    names = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).splitlines()
    page = (ROOT / "docs" / "develop" / "measurements.md").read_text()
    shown = re.findall(r"^\| (.*?) \| \*\*.*\| (?:yes|\*\*no\*\*) \| .* \|$", page, re.MULTILINE)
    assert len(names) > 25
    assert shown[: len(names)] == [name.replace(" / ", " | ") for name in names], "make bench"
    assert set(report.SHORT) <= set(names)  # the rows for users
    users = (ROOT / "docs" / "develop" / "benchmarks.md").read_text()
    rows = {f"| {words} | {name} | " for name, words in report.SHORT.items()}
    assert all(row in users for row in rows), "make bench"


DATA = json.loads((ROOT / "docs" / "develop" / "benchmarks.json").read_text())
#: A block that `make bench` writes, and numbers that were measured.
BLOCK = re.compile(r"<!-- ([\w ]+): written by `make bench` -->\n.*?<!-- end of \1 -->", re.DOTALL)
MEASURED = re.compile(r"\d[\d.,]* ?(?:ns|µs|us|ms)\b|\b\d[\d.,]* (?:x|times)(?= (?!\d)|\.|,|\*)")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
WORDS = re.compile(r"(?i)\b(?:a|one|two) (?:third|half|quarter|tenth)s? (?:longer|faster|slower)")


def test_sentences_are_made_from_the_data():
    """A number in a sentence, in the table and in the picture is of the same run."""
    read = {name: (ROOT / name).read_text() for name in report.PROSE}
    assert report.prose_pages(read, DATA) == read, "make bench"
    assert "times as long" in report._slowest([{"work": "a loss", "times": [0.7, 0.75, 0.8]}])


@pytest.mark.parametrize("page", ["README.md", "docs/develop/benchmarks.md", "docs/index.md"])
def test_numbers_outside_of_generated_blocks_are_not_measurements(page):
    text = CODE.sub("", BLOCK.sub("", (ROOT / page).read_text()))
    assert not [match[0] for pattern in (MEASURED, WORDS) for match in pattern.finditer(text)]


def test_comparison_that_says_nothing_is_not_a_headline():
    """dpnp's import of its own array is slow, so a ratio to it is large and tells nothing."""
    assert not [name for name in report.SHORT if "dpnp.from_dlpack" in name]


@pytest.mark.timeout(600)
@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    # The work of scikit-learn needs packages that only `make bench` installs.
    [
        *(f"end_to_end --only {name}" for name in ("there", "sub", "param", "dask", "threads")),
        "scale",
        "growth",
        "",
    ],
)
def test_benchmarks_run(words, tmp_path):
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
    assert all((tmp_path / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)
