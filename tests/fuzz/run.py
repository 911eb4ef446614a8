# SPDX-License-Identifier: Apache-2.0
"""Build the fuzz targets with libFuzzer, ASan and UBSan, and run them over the committed corpus.

    python tests/fuzz/run.py SECONDS [target ...]    each target so long, with new random inputs
    python tests/fuzz/run.py --ci                    the tests of the core, and a few seeded runs
    python tests/fuzz/run.py --merge                 new inputs of build/fuzz into the corpus

What is found is kept in build/fuzz/findings.  clang is needed, with its sanitizer libraries.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "core"))

import run as core  # noqa: E402

#: Executions of each target in CI, for some seconds of each.
CI_RUNS = {
    "fuzz_import": 50_000,
    "fuzz_exchange": 30_000,
    "fuzz_layout": 100_000,
    "fuzz_copy": 20_000,
    "fuzz_address": 30_000,
}
TARGETS = tuple(CI_RUNS)
FOLDER = core.ROOT / "build" / "fuzz"
FLAGS = (
    "-fsanitize=fuzzer-no-link,address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
)


def build(*targets: str) -> None:
    core.configure(
        FOLDER,
        "-DSYCL_EXT_FUZZ=ON",
        "-DSYCL_EXT_CORE_TESTS=ON",
        f"-DCMAKE_CXX_COMPILER={core.tool('clang++')}",
        f"-DCMAKE_CXX_FLAGS={' '.join(FLAGS)}",
    )
    core.build(FOLDER, *targets)


def run(target: str, *options: str) -> int:
    """Run one target; returns the number of its executions."""
    fresh, findings = FOLDER / "corpus" / target, FOLDER / "findings"
    fresh.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    command = [
        str(FOLDER / "tests" / "fuzz" / target),
        f"-artifact_prefix={findings}/{target}-",
        *("-max_len=512", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1"),
        *options,
        *(() if "-merge=1" in options else (str(fresh),)),
        str(HERE / "corpus" / target),
        *((str(fresh),) if "-merge=1" in options else ()),
    ]
    done = subprocess.run(command, env=core.environment(), text=True, stderr=subprocess.PIPE)
    if done.returncode != 0:
        log = re.sub(r"(?m)^#\d+.*\n", "", done.stderr)  # the progress of the fuzzer
        sys.exit(f"{target} found something:\n{log[-8000:]}")
    found = re.search(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    return int(found[1]) if found else 0


def report(target: str, executions: int) -> None:
    print(f"{target}: {executions} executions, nothing found", flush=True)


def main(what: str, *targets: str) -> int:
    if what == "--ci":
        build(*core.PROGRAMS, *TARGETS)
        if core.run_programs("asan+ubsan", FOLDER):
            return 1
        for target in TARGETS:
            report(target, run(target, "-seed=1", f"-runs={CI_RUNS[target]}"))
        return 0
    build(*TARGETS)
    for target in targets or TARGETS:
        if what == "--merge":
            run(target, "-merge=1")
        else:
            report(target, run(target, f"-max_total_time={what}"))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
