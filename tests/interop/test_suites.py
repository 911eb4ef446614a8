# SPDX-License-Identifier: Apache-2.0
"""The tests of DLPack that NumPy, dpnp and mpi4py ship, with this package in their place.

The adapters are in ``suites/``, each a plugin of pytest, and `known.py` there has the tests that
are known to fail.  docs/develop/conformance_results.md has the counts.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from install import MPI4PY_TESTS
from processes import HERE, OPEN3D, ROOT, kept, libusb, python_in
from sycl_ext_pytest import devices

SUITES_FOLDER = HERE / "suites"
PAGE = ROOT / "docs" / "develop" / "conformance_results.md"


@dataclass(frozen=True)
class Suite:
    """How pytest is started on the tests of a project."""

    tests: tuple[str, ...]
    device: str = "cpu"
    folder: Path | None = None
    python: Path = Path(sys.executable)
    more: dict[str, str] = field(default_factory=dict)


DPNP = ("--pyargs", "dpnp.tests.test_dlpack",
        "dpnp.tests.third_party.cupy.core_tests.test_dlpack")  # fmt: skip
DASK = tuple(f"dask.array.tests.test_cupy_{subject}" for subject in (
    "core", "creation", "gufunc", "linalg", "overlap", "percentile", "random", "reductions",
    "routines", "slicing",
))  # fmt: skip
SUITES = {
    "dask": Suite(("--pyargs", *DASK)),
    "numpy": Suite(("--pyargs", "numpy._core.tests.test_dlpack")),
    "dpnp": Suite(DPNP),
    "dpnp on a GPU": Suite(DPNP, "gpu"),
    "mpi4py": Suite((str(MPI4PY_TESTS / "test_msgspec.py"), "-k", "DLPack"), folder=MPI4PY_TESTS),
}
#: In no package index: only where somebody names a checkout of it.
if checkout := os.environ.get("SYCL_EXT_OPEN3D"):
    SUITES["open3d"] = Suite(
        # Its wheel has no sycl_demo.
        (str(Path(checkout) / "python" / "test" / "core"), "-k", "not sycl_demo"),
        python=python_in(OPEN3D),
        more={**libusb(), "CI": "1"},  # without it these tests leave out the CPU device
    )


def run(name: str, folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess, dict]:
    suite = SUITES[name]
    plain = name.partition(" on ")[0]
    counts = folder / "counts.json"
    seen = {
        **kept(),
        **devices.variables(suite.device),
        **suite.more,
        "PYTHONPATH": str(SUITES_FOLDER),
        "SYCL_EXT_SUITE": name,
        "SYCL_EXT_SUITE_COUNTS": str(counts),
    }
    done = subprocess.run(
        [suite.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "known",
         "-p", f"suite_{plain.replace('.', '_')}", "-c", os.devnull,
         *suite.tests, *arguments],
        env=seen, cwd=suite.folder or folder, capture_output=True, text=True,
    )  # fmt: skip
    return done, json.loads(counts.read_text()) if counts.exists() else {}


def line_of(name: str, counts: dict[str, int]) -> str:
    """The row of a suite in docs/develop/conformance_results.md."""
    shown = (counts.get(what, 0) for what in ("passed", "known", "skipped"))
    return f"| {name} | {' | '.join(map(str, shown))} |"


@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite, tmp_path):
    done, counts = run(suite, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert counts["asked"] > counts["passed"] / 4, "the adapter is not in use"
    line = line_of(suite, counts)
    assert line in PAGE.read_text(), f"docs/develop/conformance_results.md needs {line}"
