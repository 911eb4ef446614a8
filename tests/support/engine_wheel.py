# SPDX-License-Identifier: Apache-2.0
"""Fetch the wheel of an engine, and print the folder with its Python files.

    python tests/support/engine_wheel.py vllm==0.33.0
    python tests/support/engine_wheel.py vllm            # the newest one

Nothing that the engine requires is fetched, and nothing is installed.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "engines"


def fetch(requirement: str) -> Path:
    """Fetch a wheel, unless it is there, and unzip it into a folder named by the release."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
    ]
    subprocess.run(
        [*command, "--dest", str(FOLDER), "--find-links", str(FOLDER), requirement],
        check=True,
        stdout=sys.stderr,
    )
    name = requirement.partition("==")[0]
    wheel = max(FOLDER.glob(f"{name}-*.whl"), key=lambda path: path.stat().st_atime_ns)
    target = FOLDER / "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target, [file for file in archive.namelist() if file.endswith(".py")])
    return target


if __name__ == "__main__":
    print(fetch(sys.argv[1]))
