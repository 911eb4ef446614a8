# SPDX-License-Identifier: Apache-2.0
"""The library of ``docs/your_library.md`` passes the conformance kit, as the page says."""

import os
import subprocess
import sys

import environments

FOLDER = environments.ROOT / "examples" / "your_library"


def test_library_that_forwards_two_methods_passes_the_kit(tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "sycl_ext"]
    command += ["-c", os.devnull, "--pyargs", "dlpack_conformance"]
    done = subprocess.run(
        [*command, "--dlpack=fields_adapter:adapter", "-m", "must"],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert " failed" not in done.stdout
