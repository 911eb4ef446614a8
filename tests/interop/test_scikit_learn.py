# SPDX-License-Identifier: Apache-2.0
"""scikit-learn computes with dpnp and torch on our memory, and finds what it finds with NumPy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processes import PREFIXES, ROOT, variables

ESTIMATORS = [
    "PCA",
    "StandardScaler",
    "MinMaxScaler",
    "Normalizer",
    "Ridge",
    "LinearDiscriminantAnalysis",
]


@pytest.fixture(scope="module")
def seen():
    worker = Path(__file__).with_name("scikit_learn_worker.py")
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(worker)],
        env=variables(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("library", ["dpnp", "torch"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_computes_on_our_memory(seen, library, estimator):
    found = seen[library][estimator]
    assert found["view"], "the samples were copied on their way"
    assert found["kind"] == library, "the result is of another library"
    assert found["dtype"]
    assert found["error"] < 1e-4


def test_every_estimator_is_looked_at(seen):
    assert all(list(found) == ESTIMATORS for found in seen.values())


# ---- docs/ci.md ----------------------------------------------------------------------------------

EXAMPLE = ROOT / "examples" / "ci" / "test_estimators.py"


def run_example(folder, **more):
    """The one line of docs/ci.md, in an environment that names no driver."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith(PREFIXES)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "sycl_ext", shutil.copy(EXAMPLE, folder)],
        env={**plain, "SCIPY_ARRAY_API": "1", **more},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_one_line_gives_a_runner_a_device(tmp_path):
    done = run_example(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_it_is_that_line_which_does_it(tmp_path):
    done = run_example(tmp_path, SYCL_EXT_NO_ICD="1", OCL_ICD_VENDORS=str(tmp_path))
    assert "3 failed" in done.stdout
