# SPDX-License-Identifier: Apache-2.0
"""Lines and branches of src/ and sycl_ext/ that the tests run, and why the rest is not run.

    python tools/coverage_report.py [argument of pytest ...]      or: make coverage

The extension and the core's own tests are built by clang with source-based coverage; the everyday
tests then run in a copy of this environment (hard links) that has that extension, in all the
processes that they start, under coverage.py.  Needs clang++, llvm-profdata and llvm-cov.

Fails when less than 95 % of the lines of either are run.  Lines that are not run, and have no entry
in ``coverage_reasons.py``, are printed.  With --write, docs/coverage.md gets the result, and has to
explain every line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "core")]

import run as core  # noqa: E402
from coverage_reasons import REASONS, Reason  # noqa: E402

FOLDER = ROOT / "build" / "coverage"
VENV = FOLDER / "venv"
PROFILES = FOLDER / "profiles"
PAGE = ROOT / "docs" / "coverage.md"
BEGIN, END = "<!-- coverage: written by make coverage -->\n", "<!-- end of coverage -->\n"
#: The counters lie in the profile itself, so a process may end as it likes.  The path is for those
#: that are started without the variables of this one.
FLAGS = (
    f"-fprofile-instr-generate={PROFILES}/_core-%m%c.profraw -fcoverage-mapping "
    "-mllvm -runtime-counter-relocation"
)
EXTENSION = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
WANTED = 95.0
#: Not tests of what the package does, or tests of what this build is not.
LEFT_OUT = (
    *("architecture", "benchmarks", "docs", "faults_binary", "faults_lifetime", "generated_input"),
    *("recipe", "recipes", "release", "reports", "stateful", "stub", "sync", "typing"),
)
COVERAGE_INI = """\
[run]
branch = True
parallel = True
data_file = {folder}/python/data
source = {root}/sycl_ext
# Run as text in processes of its own, by test_doctor_runs.py.
omit = */_doctor/probe.py
patch = subprocess, _exit
disable_warnings = no-data-collected, module-not-measured, couldnt-parse, no-sysmon
[report]
exclude_also =
    if TYPE_CHECKING:
    \\.\\.\\.$
"""


# ---- the run -------------------------------------------------------------------------------------


def build() -> None:
    """Build the extension and the core's own tests with counters."""
    core.configure(
        FOLDER / "build",
        "-DSYCL_EXT_CORE_TESTS=ON",
        "-DCMAKE_BUILD_TYPE=Debug",
        f"-DCMAKE_CXX_COMPILER={core.tool('clang++')}",
        f"-DCMAKE_CXX_FLAGS={FLAGS}",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DNDEBUG",
    )
    core.build(FOLDER / "build", "_core", *core.TESTS)


def copy_environment() -> None:
    """Make VENV: what is installed here, with the extension that counts."""
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run(["cp", "-al", sys.prefix, str(VENV)], check=True)
    installed = next(VENV.glob(f"lib/python*/site-packages/sycl_ext/{EXTENSION}"))
    installed.unlink()
    shutil.copy(FOLDER / "build" / EXTENSION, installed)


def profile(program: str) -> str:
    """Where the processes of a program count; %c: while they run, %m: all in one file."""
    return str(PROFILES / f"{program}-%m%c.profraw")


def run_core_tests() -> int:
    """Run the C++ tests; returns how many programs failed."""
    failed = 0
    for bed in core.BEDS:
        for program in core.TESTS:
            os.environ["LLVM_PROFILE_FILE"] = profile(program)
            failed += core.run(FOLDER / "build", (), bed, program) != 0
    return failed


def run_everyday_tests(arguments: list[str]) -> int:
    """Run pytest; returns its exit status."""
    settings = FOLDER / "coverage.ini"
    settings.write_text(COVERAGE_INI.format(folder=FOLDER, root=ROOT))
    left_out = [f"--ignore=tests/test_{name}.py" for name in LEFT_OUT]
    command = [
        *(str(VENV / "bin" / "python"), "-m", "coverage", "run", f"--rcfile={settings}"),
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, *arguments),
    ]
    variables = {
        **os.environ,
        "LLVM_PROFILE_FILE": profile("_core"),
        # In the beds, too.
        "PYTEST_ADDOPTS": "--ignore-glob=*/stand_in_gpu/test_faults.py",
    }
    return subprocess.run(command, cwd=ROOT, env=variables).returncode


# ---- what was run --------------------------------------------------------------------------------


@dataclass
class File:
    """The lines of one file: which there are, and which were not run."""

    path: str
    lines: int = 0
    branches: int = 0
    branches_run: int = 0
    missing: list[int] = field(default_factory=list)

    def unexplained(self) -> Iterable[tuple[int, str]]:
        """Lines that are not run, and that no reason covers."""
        text = (ROOT / self.path).read_text().split("\n")
        for number in self.missing:
            if reason_for(self.path, text, number) is None:
                yield number, text[number - 1].strip()


def reason_for(path: str, text: list[str], number: int) -> Reason | None:
    """Why this line is not run: the first entry that covers it."""
    for reason in REASONS:
        if reason.path == path and reason.covers(text, number):
            return reason
    return None


@dataclass
class Counts:
    """What was counted in one source file: by line, and by condition."""

    lines: dict[int, int] = field(default_factory=dict)
    conditions: dict[tuple[int, ...], list[int]] = field(default_factory=dict)

    def add(self, entry: dict) -> None:
        """Add what llvm-cov exports: segments, and branches (the copies of a template are one)."""
        for line, count in line_counts(entry["segments"]).items():
            self.lines[line] = self.lines.get(line, 0) + count
        for branch in entry["branches"]:
            both = self.conditions.setdefault(tuple(branch[:4]), [0, 0])
            both[0] += branch[4]
            both[1] += branch[5]

    def file(self, path: str) -> File:
        """Return what the report needs."""
        return File(
            path,
            lines=len(self.lines),
            branches=2 * len(self.conditions),
            branches_run=sum((yes > 0) + (no > 0) for yes, no in self.conditions.values()),
            missing=sorted(line for line, count in self.lines.items() if count == 0),
        )


def c_files() -> list[File]:
    """What the extension and the programs of the core's tests counted, each on its own.

    (Together, functions of one name and different code would be thrown away.)
    """
    found: dict[str, Counts] = {}
    objects = {program: FOLDER / "build" / "tests" / "core" / program for program in core.TESTS}
    objects["_core"] = FOLDER / "build" / EXTENSION
    for name, binary in objects.items():
        raw = [str(path) for path in PROFILES.glob(f"{name}-*.profraw")]
        merged = PROFILES / f"{name}.profdata"
        subprocess.run([core.tool("llvm-profdata"), "merge", "-o", str(merged), *raw], check=True)
        command = [core.tool("llvm-cov"), "export", f"-instr-profile={merged}", str(binary)]
        data = json.loads(subprocess.check_output([*command, str(ROOT / "src")]))
        for entry in data["data"][0]["files"]:
            path = Path(entry["filename"]).relative_to(ROOT).as_posix()
            found.setdefault(path, Counts()).add(entry)
    return [found[path].file(path) for path in sorted(found)]


def line_counts(segments: list[list]) -> dict[int, int]:
    """How often each line with code was run, by the rule of llvm-cov.

    A line's count is the largest of the regions that begin on it, or of the one that it lies in.
    Where that is the gap behind a comment (llvm-cov says 0), it is the one that goes on after it.
    """
    counts: dict[int, int] = {}
    wrapped: list | None = None
    position = 0
    last = segments[-1][0] if segments else 0
    for line in range(1, last + 1):
        here = []
        while position < len(segments) and segments[position][0] == line:
            here.append(segments[position])
            position += 1
        after_gap = wrapped is not None and wrapped[3] and wrapped[5]
        entries = [s for s in here if s[3] and not s[5] and (s[4] or after_gap)]
        starts_skipped = bool(here) and not here[0][3] and here[0][4]
        mapped = not starts_skipped and ((wrapped is not None and wrapped[3]) or bool(entries))
        if mapped:
            inner = [s[2] for s in entries]
            outer = [wrapped[2]] if wrapped is not None and wrapped[3] else []
            counts[line] = max(inner + outer)
        if here:
            wrapped = here[-1]
    return counts


def python_files() -> list[File]:
    """What coverage.py found in all processes."""
    coverage = [str(VENV / "bin" / "python"), "-m", "coverage"]
    settings = f"--rcfile={FOLDER / 'coverage.ini'}"
    subprocess.run([*coverage, "combine", settings, "-q"], cwd=ROOT, check=True)
    report = FOLDER / "python.json"
    command = [*coverage, "json", settings, "-q", "-o", str(report)]
    subprocess.run(command, cwd=ROOT, check=True)
    files = []
    for name, entry in json.loads(report.read_text())["files"].items():
        summary = entry["summary"]
        path = Path(name)
        files.append(
            File(
                (path.relative_to(ROOT) if path.is_absolute() else path).as_posix(),
                lines=summary["num_statements"],
                branches=summary["num_branches"],
                branches_run=summary["covered_branches"],
                missing=entry["missing_lines"],
            )
        )
    return sorted(files, key=lambda file: file.path)


# ---- the report ----------------------------------------------------------------------------------


def percent(part: int, whole: int) -> float:
    """Return a share; all of nothing is 100."""
    return 100.0 * part / whole if whole else 100.0


def row(name: str, files: list[File]) -> str:
    """Return a row of the table: one file, or the sum of several."""
    lines = sum(file.lines for file in files)
    missing = sum(len(file.missing) for file in files)
    branches, taken = sum(file.branches for file in files), sum(f.branches_run for f in files)
    return (
        f"| {name} | {lines} | {percent(lines - missing, lines):.1f} "
        f"| {branches} | {percent(taken, branches):.1f} |"
    )


def table(groups: dict[str, list[File]]) -> str:
    """Return the table of all files, in Markdown."""
    out = ["| | lines | run, % | branches | taken, % |", "|---|---|---|---|---|"]
    for name, files in groups.items():
        out.append(row(f"**{name}**", files))
        out += [row(f"`{file.path}`", [file]) for file in files]
    return "\n".join(out) + "\n"


def page(groups: dict[str, list[File]]) -> str:
    """Return what docs/coverage.md shows."""
    text = {
        file.path: (ROOT / file.path).read_text().split("\n")
        for files in groups.values()
        for file in files
    }
    out = [table(groups), "\n| lines that no test runs | of | why |\n|---|---|---|\n"]
    counted: dict[Reason, int] = {}
    for files in groups.values():
        for file in files:
            for number in file.missing:
                if reason := reason_for(file.path, text[file.path], number):
                    counted[reason] = counted.get(reason, 0) + 1
    out += [f"| {n} | `{reason.path}` | {reason.why} |\n" for reason, n in counted.items()]
    return "".join(out)


def main(arguments: list[str]) -> int:
    """Run everything, print the table, and say what is missing."""
    write = "--write" in arguments
    arguments = [argument for argument in arguments if argument != "--write"]
    build()
    for folder in (PROFILES, FOLDER / "python"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    copy_environment()
    failed = run_core_tests()
    failed += run_everyday_tests(arguments)
    groups = {"src/": c_files(), "sycl_ext/": python_files()}
    print(table(groups))
    for name, files in groups.items():
        lines = sum(file.lines for file in files)
        missing = sum(len(file.missing) for file in files)
        if percent(lines - missing, lines) < WANTED:
            print(f"{name}: less than {WANTED} % of the lines are run")
            failed += 1
        for file in files:
            for number, line in file.unexplained():
                print(f"{file.path}:{number}: not run, and no reason given: {line}")
                failed += write  # one that depends on the time does not fail the gate
    if write:
        head, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(head + BEGIN + page(groups) + END + rest.split(END)[1])
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
