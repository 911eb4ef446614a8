# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: measure, print, and write two pages of docs/ with their plots."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.build import ROOT, use_cpu_device
from benchmarks.harness import Outcome, Pace, Spread, Target

#: All numbers of the last run; every figure, picture and sentence of the pages comes from it.
RESULTS = ROOT / "docs" / "develop" / "benchmarks.json"
PAGE = ROOT / "docs" / "develop" / "benchmarks.md"  # for users; benchmarks/report.py names both


def read_outcome(entry: dict[str, Any]) -> Outcome:
    """Return the object that `asdict` converted."""
    read = {"measured": Spread(**entry["measured"]), "target": Target(**entry["target"])}
    return Outcome(**{**entry, **read})


def measure(pace: Pace, only: str, *, with_curves: bool) -> dict[str, Any]:
    """Measure everything whose name contains a word."""
    use_cpu_device()
    from benchmarks import curves, figures, isolated, report

    def wanted(name: str) -> bool:
        return only.lower() in name.lower()

    outcomes: list[Outcome] = []
    for module in (figures, isolated):
        for outcome in module.measure_all(pace, wanted):
            print(report.line(outcome), flush=True)
            outcomes.append(outcome)
    points = {}
    for name, curve in curves.CURVES.items() if with_curves else ():
        points[name] = curve(pace)
    return {"figures": [asdict(outcome) for outcome in outcomes], "curves": points}


def write(results: dict[str, Any], folder: Path) -> None:
    """Write the pages and their plots."""
    from benchmarks import plots, report

    outcomes = [read_outcome(entry) for entry in results["figures"]]
    pictures = plots.draw_all(results["curves"], folder)
    read = {name: (PAGE.parent / name).read_text() for name in report.PAGES}
    for name, text in report.pages(read, outcomes).items():
        (folder / name).write_text(text)
    print(f"written to {folder}: {', '.join([*read, *(path.name for path in pictures)])}")


def save(new: dict[str, Any]) -> dict[str, Any]:
    """Add results to those of the last run, and return all of them."""
    results = {**json.loads(RESULTS.read_text()), **new}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return results


def write_prose(results: dict[str, Any]) -> None:
    """Write the sentences of README.md and of the page for users."""
    from benchmarks import report

    read = {name: (ROOT / name).read_text() for name in report.PROSE}
    for name, text in report.prose_pages(read, results).items():
        (ROOT / name).write_text(text)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="figures only, in half a minute")
    parser.add_argument("--smoke", action="store_true", help="everything once, no matter how badly")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="figures with this word in the name"
    )
    parser.add_argument("--output", type=Path, default=PAGE.parent, metavar="FOLDER")
    parser.add_argument(
        "--redraw", action="store_true", help="write the results of the last run again"
    )
    options = parser.parse_args(arguments)

    start = time.perf_counter()
    if options.redraw:
        results = json.loads(RESULTS.read_text())
    else:
        partial = options.quick or bool(options.only)
        pace = Pace(0.3) if options.quick else Pace(0.02) if options.smoke else Pace()
        results = measure(pace, options.only, with_curves=not partial)
        print(f"{time.perf_counter() - start:.0f} s")
        if partial:
            return
        if not options.smoke:
            results = save(results)
    write(results, options.output)
    if options.output == PAGE.parent and not options.smoke:
        write_prose(results)


if __name__ == "__main__":
    main()
