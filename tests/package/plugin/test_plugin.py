# SPDX-License-Identifier: Apache-2.0
"""``pytest -p sycl_ext --sycl-device=cpu|gpu``, in a project that knows nothing of this one."""

import subprocess
import sys

import pytest

import environments

SAMPLE = """
import sys
assert "dpctl" not in sys.modules
import dpctl

def test_devices():
    kinds = [device.device_type.name for device in dpctl.get_devices()]
    assert kinds == {kinds!r}
    assert dpctl.SyclDevice().device_type.name == kinds[-1]
"""


def session(folder, *arguments):
    """Run pytest there, without anything that names a device."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        env=environments.clean_environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("device", "kinds", "plugin"),
    [("cpu", ["cpu"], ()), ("gpu", ["cpu", "gpu"], ("-p", "sycl_ext"))],
    ids=["by entry point", "-p sycl_ext"],
)
def test_devices_of_a_session(device, kinds, plugin, tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE.format(kinds=kinds))
    done = session(tmp_path, *plugin, f"--sycl-device={device}")
    assert done.returncode == 0, done.stdout


def test_workers_see_the_same_devices(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE.format(kinds=["cpu", "gpu"]))
    done = session(tmp_path, "--sycl-device=gpu", "-n", "1")
    assert done.returncode == 0, done.stdout


def test_a_runtime_that_is_loaded_already(tmp_path):
    done = session(tmp_path, "-p", "dpctl", "--sycl-device=cpu")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "dpctl was imported before" in done.stderr


def test_a_session_that_asks_for_nothing_loads_nothing(tmp_path):
    (tmp_path / "test_sample.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    assert 'sycl_ext_pytest' in sys.modules\n"
        "    assert not {'sycl_ext', 'dpctl', 'numpy'} & set(sys.modules)\n"
    )
    done = session(tmp_path)
    assert done.returncode == 0, done.stdout
