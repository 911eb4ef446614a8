# SPDX-License-Identifier: Apache-2.0
"""With ``SYCL_EXT_REQUIRE_ALL=1``, as in CI, a test or an environment that is left out fails."""

import os
import subprocess
import sys

import pytest

import environments

SKIPPED = {
    "test": "def test_it():\n    pytest.skip('no such thing here')\n",
    "mark": "@pytest.mark.skip('no such thing here')\ndef test_it():\n    pass\n",
    "module": "pytest.importorskip('no_such_thing_here')\ndef test_it():\n    pass\n",
}


def run(*arguments, required, **how):
    paths = [str(environments.TESTS), str(environments.HERE)]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        env={
            **environments.clean_environment(),
            "SYCL_EXT_REQUIRE_ALL": required,
            "SYCL_EXT_POCL": os.devnull,
            "PYTHONPATH": os.pathsep.join(paths),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **how,
    )


def test_skip_is_a_failure_where_all_is_required(tmp_path):
    for name, code in SKIPPED.items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{code}")
    options = ("-p", "conftest", "--rootdir=.")
    done = run(*options, required="0", cwd=tmp_path)
    assert "failed" not in done.stdout, done.stdout
    done = run(*options, required="1", cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "1 failed, 1 skipped" in done.stdout
    assert "1 error" in done.stdout  # of the mark
    assert "test_module.py" in done.stdout.rpartition("=1, and these were skipped")[2]
