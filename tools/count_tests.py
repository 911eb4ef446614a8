# SPDX-License-Identifier: Apache-2.0
"""Count the tests of each test environment, for docs/seen.md.

Runs the tests of the named environments, or of all, as `make test` and `make test-long` do
together. Writes the numbers of passed and left-out tests, and the reasons, into docs/seen.json.
``make generate`` puts them into the page.

    python tools/count_tests.py [ENVIRONMENT ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SEEN = ROOT / "docs" / "seen.json"
sys.path[:0] = [str(TESTS / name) for name in ("support", "environments", "ordering")]

import environments  # noqa: E402
import test_environments  # noqa: E402
import test_sync  # noqa: E402

#: Files that start the tests of other environments, or test only a stand-in.
NOT_OF_THE_CPU = (
    *("environments", "driver_calls", "level_zero_devices", "stand_ins", "sync", "two_runtimes"),
)
#: Environment -> the tests to count, as arguments of pytest.
FILES = {
    "cpu": (".", "-n", "2", *(f"--ignore-glob=*/test_{name}.py" for name in NOT_OF_THE_CPU)),
    "two_runtimes": ("environments/test_two_runtimes.py",),
    "level_zero_v1": ("environments/test_level_zero_devices.py", "-k", "level_zero_v1"),
    "level_zero_v2": ("environments/test_level_zero_devices.py", "-k", "level_zero_v2"),
}
ENVIRONMENTS = tuple(dict.fromkeys(("cpu", *environments.ALL, "two_runtimes")))


def run_files(
    name: str, scratch: Path, *, long: bool = False
) -> tuple[subprocess.CompletedProcess[Any], Path]:
    """Run the everyday or the long tests that `FILES` names."""
    junit_xml = scratch / "files.xml"
    variables = {**environments.clean_environment(), "SYCL_EXT_LONG": "1" if long else "0"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [*FILES[name], f"--junitxml={junit_xml}"]
    return subprocess.run(command, cwd=TESTS, env=variables), junit_xml


def run_environment(
    name: str, scratch: Path, tests: str | None = None
) -> tuple[subprocess.CompletedProcess[Any], Path]:
    """Run the tests that `environments.ALL` names, or those of another folder."""
    junit_xml = scratch / "environment.xml"
    return environments.run(name, scratch, "-q", f"--junitxml={junit_xml}", tests=tests), junit_xml


def runs(name: str, scratch: Path) -> Iterator[tuple[subprocess.CompletedProcess[Any], Path]]:
    """Run everything that runs in an environment, one process after the other."""
    if name in environments.REAL_DRIVERS:
        which = environments.REAL_DRIVERS[name]
        for folder in (which.folder, *which.also):
            yield run_environment(name, scratch, folder)
    elif name in environments.ENVIRONMENTS:
        yield run_environment(name, scratch)
    if name in FILES and name != "level_zero_v1":  # all of its tests are long
        yield run_files(name, scratch)
    if name in ("cpu", "level_zero_v1"):
        yield run_files(name, scratch, long=True)
    if name in test_environments.CONTEXTS:
        yield run_environment(name, scratch, "contexts")
    if name in test_sync.ENVIRONMENTS:
        for file in test_sync.FILES:
            yield test_sync.run(file, name, scratch)


def count(name: str) -> dict[str, Any]:
    """Return the entry of docs/seen.json for an environment."""
    passed, left_out = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for done, junit_xml in runs(name, Path(scratch)):
            if done.returncode != 0:
                sys.exit(f"{name}: tests failed, and nothing is written\n{done.stdout or ''}")
            report = environments.Report.read(junit_xml)
            if report.skipped:
                sys.exit(f"{name}: {report.skipped} tests were skipped, and nothing is written")
            passed += report.passed
            left_out.update(report.left_out)
    return {"passed": passed, "left_out": dict(sorted(left_out.items()))}


if __name__ == "__main__":
    names = sys.argv[1:] or ENVIRONMENTS
    if unknown := set(names) - set(ENVIRONMENTS):
        sys.exit(f"unknown environment: {', '.join(unknown)}; there are {', '.join(ENVIRONMENTS)}")
    os.environ["SYCL_EXT_REQUIRE_ALL"] = "1"
    os.environ["SYCL_EXT_LONG"] = "1"  # in another environment: everything
    for name in names:
        entry = count(name)
        print(f"{name}: {entry['passed']} passed", flush=True)
        seen = json.loads(SEEN.read_text()) if SEEN.exists() else {"environments": {}}
        entries = {**seen["environments"], name: entry}
        seen = {
            "date": datetime.now(timezone.utc).date().isoformat(),
            "environments": {each: entries[each] for each in ENVIRONMENTS if each in entries},
        }
        SEEN.write_text(json.dumps(seen, indent=2) + "\n")
