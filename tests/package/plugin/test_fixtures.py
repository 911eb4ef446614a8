# SPDX-License-Identifier: Apache-2.0
"""The fixtures and the marker of the pytest plugin, in a project that knows nothing of this one."""

import re
import subprocess
import sys

import pytest

import environments
from needs import needs

FILE = """
import pytest

def test_device(sycl_device, sycl_queue):
    import dpctl
    assert type(sycl_device) is dpctl.SyclDevice
    assert sycl_queue.sycl_device == sycl_device

def test_queue_is_that_of_dpnp(sycl_device, sycl_queue):
    import dpnp
    assert dpnp.empty(3, device=sycl_device).sycl_queue == sycl_queue

def test_kind(sycl_device, sycl_queue, usm_type):
    import dpnp
    assert dpnp.zeros(3, sycl_queue=sycl_queue, usm_type=usm_type).usm_type == usm_type

def test_kind_alone(usm_type):
    import sycl_ext
    assert sycl_ext.zeros(3, usm_type=usm_type).usm_type == usm_type

@pytest.mark.sycl_needs("gpu")
def test_gpu(sycl_device):
    assert sycl_device.is_gpu

@pytest.mark.sycl_needs("gpu")
def test_default_device_is_a_gpu():
    import dpctl
    assert dpctl.SyclDevice().is_gpu
"""


def outcomes(folder, text, *arguments, **variables):
    """Run pytest there; return the outcome of each test, and the output."""
    (folder / "test_sample.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--strict-markers", "-p", "sycl_ext", *arguments],
        env=environments.clean_environment() | variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    lines = re.findall(r"^test_sample\.py::(\S+) (PASSED|FAILED|SKIPPED|ERROR)", done.stdout, re.M)
    return dict(lines), done.stdout + done.stderr


@needs("dpctl")
def test_tests_run_on_each_device_with_each_kind(tmp_path):
    seen, output = outcomes(tmp_path, FILE, "--sycl-device=gpu")
    devices = ("opencl:gpu:0", "opencl:cpu:0")
    kinds = ("device", "shared", "host")
    passed = {
        *(f"{test}[{device}]" for test in ("test_device", "test_queue_is_that_of_dpnp")
          for device in devices),
        *(f"test_kind[{kind}-{device}]" for device in devices for kind in kinds),
        *(f"test_kind_alone[{kind}]" for kind in kinds),
        "test_gpu[opencl:gpu:0]",
        "test_default_device_is_a_gpu",
    }  # fmt: skip
    assert seen == {
        **dict.fromkeys(passed, "PASSED"),
        "test_gpu[opencl:cpu:0]": "SKIPPED",
    }, output
    assert "device opencl:cpu:0 lacks the SYCL aspect gpu" in output


@needs("dpctl")
def test_marker_reads_the_default_device(tmp_path):
    seen, output = outcomes(tmp_path, FILE, "--sycl-device=cpu", "-k", "default")
    assert seen == {"test_default_device_is_a_gpu": "SKIPPED"}, output


@needs("dpctl")
def test_marker_is_read_before_the_fixtures(tmp_path):
    text = """
import pytest

@pytest.fixture
def memory():
    raise AssertionError("the device was used")

@pytest.mark.sycl_needs("gpu")
def test_memory(memory): ...
"""
    seen, output = outcomes(tmp_path, text, "--sycl-device=cpu")
    assert seen == {"test_memory": "SKIPPED"}, output


@needs("dpctl")
def test_unknown_aspect_fails_the_test(tmp_path):
    text = "import pytest\n@pytest.mark.sycl_needs('float64')\ndef test_it(): ...\n"
    seen, output = outcomes(tmp_path, text, "--sycl-device=cpu")
    assert seen == {"test_it": "ERROR"}
    assert re.search(
        r"sycl_needs\('float64'\) names no aspect of SYCL; use some of .*\bfp64", output
    )


def test_session_without_a_device_skips_with_the_reason(tmp_path):
    text = FILE
    seen, output = outcomes(tmp_path, text, ONEAPI_DEVICE_SELECTOR="level_zero:0")
    assert set(seen.values()) == {"SKIPPED"}, output
    assert "there is no SYCL device; `python -m sycl_ext doctor` explains why" in output


def test_fixtures_of_a_project_win(tmp_path):
    (tmp_path / "conftest.py").write_text("""
import pytest

@pytest.fixture
def sycl_device():
    return "mine"

@pytest.fixture
def usm_type():
    return "any"
""")
    text = "def test_it(sycl_device, usm_type): assert (sycl_device, usm_type) == ('mine', 'any')\n"
    seen, output = outcomes(tmp_path, text)
    assert seen == {"test_it": "PASSED"}, output


@pytest.mark.parametrize(
    ("params", "gives"),
    [
        ("dpctl.get_devices()", "request.param"),
        ("['opencl:gpu:0', 'opencl:cpu:0']", "dpctl.SyclDevice(request.param)"),
    ],
)
def test_devices_of_a_project_are_read(params, gives, tmp_path):
    (tmp_path / "conftest.py").write_text(f"""
import dpctl, pytest, sycl_ext

@pytest.fixture(params={params}, ids=["one", "other"])
def sycl_device(request):
    return {gives}
""")
    text = """
import pytest

@pytest.mark.sycl_needs("gpu")
def test_marked(sycl_device): assert sycl_device.is_gpu

def test_kind(sycl_device, usm_type): ...
"""
    seen, output = outcomes(tmp_path, text, "--sycl-device=gpu")
    marked = [seen.pop(f"test_marked[{name}]") for name in ("one", "other")]
    assert sorted(marked) == ["PASSED", "SKIPPED"], output
    assert len(seen) == 6
    assert set(seen.values()) == {"PASSED"}, output


@needs("dpctl")
@pytest.mark.parametrize("params", ["['a name', 7]", "[None, object()]", "[Closed(), Closed()]"])
def test_parameters_that_name_no_device_are_not_read(params, tmp_path):
    text = f"""
import pytest

class Closed:
    @property
    def filter_string(self): raise RuntimeError("closed")

@pytest.mark.sycl_needs("cpu")
@pytest.mark.parametrize("sycl_device", {params}, ids=["one", "other"])
def test_it(sycl_device, usm_type): ...
"""
    seen, output = outcomes(tmp_path, text, "--sycl-device=cpu")
    assert len(seen) == 6
    assert set(seen.values()) == {"PASSED"}, output


@needs("dpctl")
def test_wrong_ways_are_errors_that_help(tmp_path):
    text = """
import pytest

@pytest.mark.sycl_needs(aspects=["fp64"])
def test_keyword(): ...

def test_late(request): request.getfixturevalue("sycl_device")
"""
    seen, output = outcomes(tmp_path, text, "--sycl-device=cpu")
    assert seen == {"test_keyword": "ERROR", "test_late": "FAILED"}
    assert "sycl_needs('aspects') names no aspect of SYCL; use some of" in output
    assert "name sycl_device among the arguments of the test" in output


@pytest.mark.parametrize("arguments", [(), ("--markers",), ("--fixtures",)])
def test_fixtures_load_no_runtime(arguments, tmp_path):
    (tmp_path / "test_sample.py").write_text(
        "import atexit, sys\n"
        "def test_modules():\n"
        "    assert not {'sycl_ext', 'dpctl', 'numpy'} & set(sys.modules)\n"
    )
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    print('loaded:', {'sycl_ext', 'dpctl', 'numpy'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", *arguments],
        env=environments.clean_environment(), cwd=tmp_path, capture_output=True, text=True,
        timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "loaded: set()" in done.stdout
    if arguments == ("--markers",):
        assert "@pytest.mark.sycl_needs(*aspects): skip the test" in done.stdout
    if arguments == ("--fixtures",):
        assert all(name in done.stdout for name in ("sycl_device", "sycl_queue", "usm_type"))
