# SPDX-License-Identifier: Apache-2.0
"""With ``SYCL_EXT_REQUIRE_ALL=1``, as in CI, a test or an environment that is left out fails."""

import os
import subprocess
import sys

import pytest

import environments

SKIPPED = {
    "a test": "def test_it():\n    pytest.skip('no such thing here')\n",
    "a mark": "@pytest.mark.skip('no such thing here')\ndef test_it():\n    pass\n",
    "a module": "pytest.importorskip('no_such_thing_here')\ndef test_it():\n    pass\n",
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


@pytest.mark.parametrize("code", SKIPPED.values(), ids=SKIPPED.keys())
def test_a_skip_is_a_failure_where_all_is_required(code, tmp_path):
    (tmp_path / "test_skipped.py").write_text(f"import pytest\n{code}")
    options = ("-p", "conftest", "--rootdir=.", "test_skipped.py")
    done = run(*options, required="1", cwd=tmp_path)
    assert done.returncode != pytest.ExitCode.OK, done.stdout
    assert "SYCL_EXT_REQUIRE_ALL=1, and" in done.stdout
    done = run(*options, required="0", cwd=tmp_path)
    assert "failed" not in done.stdout, done.stdout


def test_an_environment_that_is_missing_is_a_failure():
    path = environments.TESTS / "environments" / "test_environments.py::test_environment[no_usm]"
    done = run(str(path), required="1", cwd=environments.HERE)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert f"no {os.devnull}: install libpocl2" in done.stdout
    assert "1 failed" in done.stdout
