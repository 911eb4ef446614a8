# SPDX-License-Identifier: Apache-2.0
"""Build the fuzz targets with libFuzzer, ASan and UBSan, and run them from the committed corpus.

    python tests/fuzz/run.py SECONDS [target ...]    each target so long, with new random inputs
    python tests/fuzz/run.py --ci                    the tests of the core, and a few seeded runs
    python tests/fuzz/run.py --merge [target ...]    what new inputs reach into the corpus

``corpus/inputs.tar.xz`` has a folder of inputs for each target.  An input whose name begins with
``finding`` once found something, and stays.  Findings are kept in build/fuzz/findings.  clang
is needed, with its sanitizer libraries.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "core" / "cpp"))

import run as core  # noqa: E402

#: Executions of each target in CI, for some seconds of each.
CI_RUNS = {"fuzz_import": 50_000, "fuzz_exchange": 30_000}
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


# ---- the corpus ----------------------------------------------------------------------------------


CORPUS = HERE / "corpus" / "inputs.tar.xz"


def unpack(target: str) -> Path:
    """A folder with the committed inputs, as libFuzzer wants them."""
    folder = FOLDER / "seeds"
    shutil.rmtree(folder / target, ignore_errors=True)
    with tarfile.open(CORPUS) as archive:
        members = [member for member in archive if member.name.startswith(f"{target}/")]
        archive.extractall(folder, members, filter="data")
    return folder / target


def merge(target: str) -> None:
    """The smallest set of inputs, old and new, that reaches what all of them reach."""
    seeds = {name_of_target: unpack(name_of_target) for name_of_target in TARGETS}
    smallest = FOLDER / "smallest" / target
    shutil.rmtree(smallest, ignore_errors=True)
    smallest.mkdir(parents=True)
    fuzz(target, "-set_cover_merge=1", str(smallest), str(seeds[target]), str(fresh(target)))
    for path in seeds[target].glob("finding*"):
        shutil.copy(path, smallest)
    seeds[target] = smallest
    with tarfile.open(CORPUS, "w:xz") as archive:
        for name_of_target, folder in seeds.items():
            for path in sorted(folder.iterdir()):
                member = tarfile.TarInfo(f"{name_of_target}/{path.name}")
                member.size = path.stat().st_size
                with path.open("rb") as data:
                    archive.addfile(member, data)
    print(f"{target}: {len(list(smallest.iterdir()))} inputs")


# ---- a run ---------------------------------------------------------------------------------------


def fresh(target: str) -> Path:
    """The folder of the inputs that this machine has found."""
    folder = FOLDER / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fuzz(target: str, *options: str) -> str:
    """Run the program of a target; returns what it says."""
    findings = FOLDER / "findings"
    findings.mkdir(exist_ok=True)
    command = [
        str(FOLDER / "tests" / "fuzz" / target),
        f"-artifact_prefix={findings}/{target}-",
        *("-max_len=512", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1"),
        *options,
    ]
    done = subprocess.run(
        command, env=core.variables(), stderr=subprocess.PIPE, text=True, errors="replace"
    )
    if done.returncode != 0:
        log = re.sub(r"(?m)^#\d+.*\n", "", done.stderr)  # the progress of the fuzzer
        sys.exit(f"{target} found something:\n{log[-8000:]}")
    return done.stderr


def run(target: str, *options: str) -> None:
    log = fuzz(target, *options, str(fresh(target)), str(unpack(target)))
    match = re.search(r"stat::number_of_executed_units: +(\d+)", log)
    print(f"{target}: {match[1] if match else 0} executions, nothing found", flush=True)


def main(what: str, *targets: str) -> int:
    if what == "--ci":
        build(*core.PROGRAMS, *TARGETS)
        if core.run_programs("asan+ubsan", FOLDER):
            return 1
        for target, executions in CI_RUNS.items():
            run(target, "-seed=1", f"-runs={executions}")
        return 0
    build(*TARGETS)
    for target in targets or TARGETS:
        if what == "--merge":
            merge(target)
        else:
            run(target, f"-max_total_time={what}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
