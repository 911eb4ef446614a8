# SPDX-License-Identifier: Apache-2.0
"""Write the table of docs/trust.md: bad input and faults, here and in other libraries.

Each case of ``cases.py`` is a process of its own, for each library, so that one that ends is
a row of the table and not the end of this program.

    python tests/trust/report.py            or: make trust-report
    python tests/trust/report.py NAME ...   only cases whose class or name contains a NAME; prints
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- table: written by tests/trust/report.py -->\n", "<!-- end of table -->\n"
SECONDS = 40  # of a process; more is a hang
sys.path.insert(0, str(ROOT / "tests" / "support"))

import environments  # noqa: E402
from cases import CASES, LIBRARIES, ON_A_GPU  # noqa: E402

GPU_CLASS = "a device that fails"


def interpreter(library: str) -> str | None:
    """Return the Python that has the library: this one, or the one of ``make test-interop``."""
    for python in (sys.executable, str(ROOT / ".venv-interop" / "bin" / "python")):
        code = f"import importlib.metadata as m; m.version({library!r})"
        if Path(python).exists() and not subprocess.run([python, "-c", code], stderr=-3).returncode:
            return python
    return None


def variables_of_cases(scratch: Path) -> dict[bool, dict[str, str]]:
    """Return the environments of the cases: with the CPU device, and with the stand-in GPU."""
    common = {
        **environments.clean_environment(),
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
    }
    gpu = environments.ENVIRONMENTS["stand_in_gpu"].environment(scratch)
    return {False: {**common, **environments.cpu()}, True: {**common, **gpu}}


def outcome(library: str, python: str, case: str, environment: dict[str, str]) -> str:
    """Run one case."""
    command = [python, str(ROOT / "tests" / "trust" / "cases.py"), library, case]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "died (hung)"
    if done.returncode < 0:
        return f"died ({signal.Signals(-done.returncode).name})"
    if done.returncode > 0 or not done.stdout.strip():
        raise RuntimeError(f"{library}, {case}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


Outcomes = dict[tuple[str, str], str]  # (library, case) -> outcome


def plain(case: str) -> str:
    """Write the name of a case so that ``2**40`` is no bold type."""
    return case.replace("*", r"\*")


def cell(outcomes: Outcomes, library: str, cases: list[str]) -> str:
    """Say what a library makes of a class."""
    found = {case: outcomes[library, case] for case in cases if (library, case) in outcomes}
    found = {case: result for case, result in found.items() if result != "n/a"}
    if not found:
        return "n/a"
    survived = sum(result == "survived" for result in found.values())
    bad = [f"{plain(case)}: **{result}**" for case, result in found.items() if result != "survived"]
    return "<br>".join([f"{survived} of {len(found)} survived", *bad])


def table(outcomes: Outcomes, libraries: list[str]) -> str:
    """Write the table, a row for each class."""
    lines = [
        "| class | cases | " + " | ".join(libraries) + " |",
        "|---|---|" + "---|" * len(libraries),
    ]
    for name, cases in CASES.items():
        cells = [cell(outcomes, library, list(cases)) for library in libraries]
        lines.append(f"| {name} | {len(cases)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def legend() -> str:
    """List the cases of each class."""
    return "".join(
        f"- **{name}**: {'; '.join(map(plain, cases))}.\n" for name, cases in CASES.items()
    )


def versions(libraries: dict[str, str]) -> str:
    """Return the version of each library, as a list."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    found = [
        subprocess.check_output([python, "-c", code, library], text=True).strip()
        for library, python in libraries.items()
    ]
    return ", ".join(f"{name} {found}" for name, found in zip(libraries, found, strict=True))


def selected(words: list[str]) -> Iterator[tuple[str, str]]:
    """Return the class and the name of each case that is asked for."""
    for name, cases in CASES.items():
        for case in cases:
            if not words or any(word in name or word in case for word in words):
                yield name, case


def run(libraries: dict[str, str], words: list[str]) -> Outcomes:
    """Run the cases, two or more at a time."""
    jobs = [
        (library, case, name == GPU_CLASS)
        for name, case in selected(words)
        for library in libraries
        if name != GPU_CLASS or library in ON_A_GPU
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        where = variables_of_cases(Path(folder))
        results = pool.map(
            lambda job: outcome(job[0], libraries[job[0]], job[1], where[job[2]]), jobs
        )
        return {job[:2]: result for job, result in zip(jobs, results, strict=True)}


def main() -> int:
    """Fail when anything but "survived" is said of us."""
    words = sys.argv[1:]
    libraries = {name: python for name in LIBRARIES if (python := interpreter(name))}
    outcomes = run(libraries, words)
    if words:
        for (library, case), result in outcomes.items():
            print(f"{library:9} {result:16} {case}")
    else:
        head, rest = PAGE.read_text().split(BEGIN)
        block = f"\nWith {versions(libraries)}.\n\n{table(outcomes, list(libraries))}\n{legend()}\n"
        PAGE.write_text(head + BEGIN + block + END + rest.split(END)[1])
    ours = [
        case
        for (name, case), result in outcomes.items()
        if name == "sycl_ext" and result not in ("survived", "n/a")
    ]
    print("\n".join(ours) or "everything survived here")
    return bool(ours)


if __name__ == "__main__":
    sys.exit(main())
