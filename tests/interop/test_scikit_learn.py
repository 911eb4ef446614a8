# SPDX-License-Identifier: Apache-2.0
"""The example of docs/ci.md: scikit-learn computes with dpnp where one line gives it a device.

Estimators on our memory: docs/recipes/scikit_learn.md, which test_recipes.py runs.
"""

import os
import shutil
import subprocess
import sys

from processes import PREFIXES, ROOT

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


def test_plugin_gives_a_runner_a_device(tmp_path):
    done = run_example(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_runner_without_the_driver_fails(tmp_path):
    done = run_example(tmp_path, SYCL_EXT_NO_ICD="1", OCL_ICD_VENDORS=str(tmp_path))
    assert "3 failed" in done.stdout
