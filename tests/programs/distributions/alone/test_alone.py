# SPDX-License-Identifier: Apache-2.0
"""The package without its integrations, where Dask, xarray and dpnp are installed as well.

`make distributions` runs this in such an environment.
"""

import subprocess
import sys
from importlib.metadata import distribution, distributions
from importlib.util import find_spec

import numpy as np

import environments
import sycl_ext as sx


def test_environment_has_no_integration():
    names = {distribution.metadata["Name"] for distribution in distributions()}
    assert {"sycl_ext", "distributed", "dpnp", "xarray"} <= names
    assert not [name for name in names if name.startswith("sycl-ext-")]
    assert find_spec("sycl_ext_dask") is None


def test_entry_points_are_those_of_commands_pytest_and_pyinstaller():
    groups = {point.group for point in distribution("sycl_ext").entry_points}
    assert groups == {"console_scripts", "pyinstaller40", "pytest11"}


def test_process_with_dask_has_nothing_of_this_package():
    """No module, no import hook, no method of dpnp's arrays, and no pickles of them."""
    shown = environments.python("""
import copyreg, sys
import dask.array, dask.sizeof, distributed, xarray
import dpnp
print(sorted(name for name in sys.modules if name.startswith("sycl_ext")))
print([finder for finder in sys.meta_path if type(finder).__module__.startswith("sycl_ext")])
print(dpnp.ndarray.__array_ufunc__, hasattr(dpnp.ndarray, "__array_function__"))
print(dpnp.ndarray in copyreg.dispatch_table)
""")
    assert shown.splitlines() == ["[]", "[]", "None False", "False"]


def test_exchange_of_shared_usm_is_a_view():
    tensor = sx.zeros((2, 3), "float32", usm_type="shared")
    assert sx.exchange(tensor, np, copy=False).tolist() == [[0, 0, 0]] * 2


def test_missing_demo_says_in_one_line_where_it_is():
    command = [sys.executable, "-m", "sycl_ext", "demo", "--output", "somewhere"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the demo is in the repository of sycl_ext")


def test_demo_of_the_clone_runs_with_an_installed_package():
    program = environments.ROOT / "examples" / "demo" / "run.py"
    command = [sys.executable, program, "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "before.png" in done.stdout
