# SPDX-License-Identifier: Apache-2.0
"""The generated tests of the Python side, with one seed after another: ``python.py SECONDS``.

Ends at the first seed that fails, and names it: ``pytest --hypothesis-seed=N`` runs it again.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("test_stateful.py", "test_generated_input.py")


def run(seed: int) -> bool:
    """Run every test with this seed; True when all pass."""
    command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "-x"]
    options = ["-p", "no:cacheprovider", "--timeout=1200", f"--hypothesis-seed={seed}"]
    done = subprocess.run(
        [*command, *options, *(str(HERE / name) for name in FILES)],
        env={**os.environ, "SYCL_EXT_FUZZ": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        how = f"exit status {done.returncode}, SYCL_EXT_FUZZ=1 {' '.join(options)}"
        print(f"{done.stdout}{done.stderr}\nseed {seed}: {how}")
    return done.returncode == 0


def main() -> int:
    """Go on for as long as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    end = time.monotonic() + parser.parse_args().seconds
    rounds = 0
    while time.monotonic() < end:
        if not run(random.randrange(2**32)):
            return 1
        rounds += 1
    print(f"{rounds} seeds passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
