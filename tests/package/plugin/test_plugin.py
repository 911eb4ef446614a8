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


#: What is missing -> code that makes it so, the device, and what is said.
MISSING = {
    "the wheel": (
        "def gone(name): raise devices.PackageNotFoundError(name)\ndevices.distribution = gone",
        "cpu",
        "there is no CPU device; install it: pip install",
    ),
    "its files": ("devices.DRIVER = devices.re.compile('none')", "cpu", "have 0 of the 1 drivers"),
    "one of two drivers": (
        "all = devices.drivers\ndevices.drivers = lambda: all()[:1]",
        "gpu",
        "have 1 of the 2 drivers that 'gpu' needs",
    ),
    "the layer": ("devices.LAYER = 'none.so'", "gpu", "none.so is not installed"),
}


@pytest.mark.parametrize("missing", MISSING)
def test_missing_driver_is_one_line(missing):
    change, device, said = MISSING[missing]
    done = subprocess.run(
        [sys.executable, "-c", "import runpy, sys\nfrom sycl_ext_pytest import devices\n"
         f"{change}\nsys.argv[1:] = [{device!r}]\n"
         "runpy.run_module('sycl_ext_pytest', run_name='__main__')"],
        env=environments.clean_environment(), capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"python -m sycl_ext_pytest {device}: ")
    assert said in done.stderr


def test_ci_example_is_a_project_of_its_own():
    """In a checkout as well, whose options of pytest need plugins that a user does not have."""
    folder = environments.ROOT / "examples" / "ci"
    done = session(folder, "-p", "no:timeout", "-p", "sycl_ext", "--collect-only")
    assert f"rootdir: {folder}\n" in done.stdout
    assert "Unknown config option" not in done.stdout + done.stderr


def test_workers_see_the_same_devices(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE.format(kinds=["cpu", "gpu"]))
    done = session(tmp_path, "--sycl-device=gpu", "-n", "1")
    assert done.returncode == 0, done.stdout


def test_runtime_loaded_before_the_plugin_is_an_error(tmp_path):
    done = session(tmp_path, "-p", "dpctl", "--sycl-device=cpu")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "dpctl was imported before" in done.stderr


def test_session_without_options_does_not_load_the_package(tmp_path):
    (tmp_path / "test_sample.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    assert 'sycl_ext_pytest' in sys.modules\n"
        "    assert not {'sycl_ext', 'dpctl', 'numpy'} & set(sys.modules)\n"
    )
    done = session(tmp_path)
    assert done.returncode == 0, done.stdout
