# SPDX-License-Identifier: Apache-2.0
"""Import in a plain environment finds the embedded CPU device, and keeps an explicit choice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from stand_in_build import NO_ICD_FILES
from sycl_ext._doctor import driver_checks
from sycl_ext._doctor.machine import Driver, Machine
from sycl_ext._setup import icd

REPORT = """
import os
before = dict(os.environ)
import sycl_ext as sx
after = dict(os.environ)
changed = {name for name in before | after if before.get(name) != after.get(name)}
print(sorted(changed), [device.filter_string for device in sx.devices()])
"""
EMPTY = str(NO_ICD_FILES)


def test_plain_environment_finds_the_cpu_device():
    assert "['OCL_ICD_FILENAMES'] ['opencl:cpu:0'" in environments.python(REPORT, {})


def test_driver_is_that_of_the_environment():
    driver = icd.embedded_driver()
    assert driver is not None
    assert Path(driver).name == "libintelocl.so"
    output = environments.python("import os, sycl_ext; print(os.environ['OCL_ICD_FILENAMES'])", {})
    assert output.strip() == driver


def test_opting_out():
    assert environments.python(REPORT, {"SYCL_EXT_NO_ICD": "1"}).startswith("[] ")


@pytest.mark.parametrize("name", icd.DECIDED_BY)
def test_empty_variable_decides_nothing(name):
    assert "['OCL_ICD_FILENAMES'] ['opencl:cpu:0'" in environments.python(REPORT, {name: ""})


@pytest.mark.parametrize("name", ["OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"])
def test_decided_environment_is_kept(name):
    assert environments.python(REPORT, {name: EMPTY}).startswith("[] ")


def test_import_enumerates_nothing():
    """A program may still change the environment after the import."""
    output = environments.python(
        """
import os
import sycl_ext as sx
from sycl_ext import _core
os.environ["OCL_ICD_FILENAMES"] = ""
os.environ["OCL_ICD_VENDORS"] = os.environ["EMPTY"]
print(len(sx.devices()))
""",
        {"EMPTY": EMPTY},
    )
    assert output == "0\n"


def test_process_without_devices_fails_only_where_one_is_needed():
    """A clear error where a device is needed, and none where it is not."""
    output = environments.python(
        """
import numpy as np, pytest
import sycl_ext as sx

assert sx.devices() == ()
array = np.zeros(3)
for call in (sx.device, lambda: sx.empty(3), lambda: sx.zeros(3), lambda: sx.from_dlpack(array)):
    with pytest.raises(sx.SyclError, match='no device; .*sycl_ext doctor'):
        call()
for spec in (0, (14, 0), "cpu"):
    with pytest.raises(ValueError, match="no device|no root device"):
        sx.device(spec)
view = sx.host_view(np.arange(3.0))
assert np.from_dlpack(view).tolist() == memoryview(view).tolist() == [0, 1, 2]
assert sx.host_view(np.arange(3.0), copy=True).__dlpack__()
print("alive")
""",
        {"SYCL_EXT_NO_ICD": "1", "OCL_ICD_VENDORS": EMPTY},
    )
    assert output.endswith("alive\n")


# ---- why there is no CPU device ------------------------------------------------------------------

DRIVER = "/env/lib/libintelocl.so"


@pytest.mark.parametrize(
    ("files", "early"),
    [
        ((), False),
        (("libsycl.so.9", "libur_loader.so.0"), False),
        (("libsycl.so.9", "libur_adapter_level_zero.so.0"), True),
        (("libur_adapter_opencl.so.0", "libintelocl.so"), False),
    ],
)
def test_adapters_that_are_loaded_have_listed(files, early):
    said = icd.listed_too_early(DRIVER, [f"/env/lib/{file}" for file in files])
    assert ("import sycl_ext before" in said) is early


EARLY = """
import warnings
import dpctl
dpctl.get_devices()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import sycl_ext as sx
    sx.Tensor  # loads the core
print([(w.category.__name__, w.filename, str(w.message)[:52]) for w in caught])
print(len(sx.devices()))
for call in (sx.device, lambda: sx.device("cpu"), lambda: sx.device(0), lambda: sx.zeros(3)):
    try:
        call()
    except (sx.SyclError, ValueError) as error:
        print("devices were listed before sycl_ext was imported" in str(error))
"""


def test_devices_that_were_listed_before_the_import():
    said = environments.python(EARLY, {"OCL_ICD_VENDORS": ""}).splitlines()
    if said[1] != "0":
        pytest.skip("an OpenCL driver of the machine has a device")
    assert said[0] == (
        "[('RuntimeWarning', '<string>', 'devices were listed before sycl_ext was imported, so')]"
    )
    assert said[2:] == ["True"] * 4


@pytest.fixture
def spaced_driver(tmp_path):
    """The driver in a folder whose name has a space; the files next to it are links."""
    folder = tmp_path / "a space"
    folder.mkdir()
    driver = Path(icd.embedded_driver())
    for file in driver.parent.glob("*"):
        if file.name != driver.name:
            (folder / file.name).symlink_to(file)
    shutil.copy(driver, folder)
    yield folder / driver.name
    shutil.rmtree(folder)


def test_space_in_a_path_is_seen_through_a_link(tmp_path):
    (tmp_path / "a space").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a space")
    for folder in ("a space", "link"):
        named = str(tmp_path / folder / icd.DRIVER)
        assert icd.cut_driver({"OCL_ICD_FILENAMES": f"/b.so:{named}"}) == named
    for named in ("/a/libintelocl.so", "/a space/libother.so"):
        assert icd.cut_driver({"OCL_ICD_FILENAMES": named}) == ""


def test_colon_in_the_path_of_the_driver_is_told_with_a_cure(tmp_path, monkeypatch):
    """`OCL_ICD_FILENAMES` cannot name such a driver, so it is not set."""
    driver = str(tmp_path / "a:b" / icd.DRIVER)
    monkeypatch.setattr(icd, "embedded_driver", lambda: driver)
    for name in icd.DECIDED_BY:
        monkeypatch.delenv(name, raising=False)
    assert icd.add_embedded_cpu() is None
    assert "OCL_ICD_FILENAMES" not in os.environ
    reason = icd.trouble(None, ())
    assert f"a colon, at which the OpenCL loader truncates it: {driver!r}" in reason
    machine = Machine(environment={}, drivers=(Driver(driver, "sycl_ext"),), devices=())
    (finding,) = driver_checks.space(machine)
    assert "at a path with a colon" in finding.problem
    assert "export OCL_ICD_FILENAMES=" in finding.cure


def test_deleted_working_directory_is_the_reason_in_the_error(tmp_path):
    """The process ends by `os._exit`, because the runtime hangs at its end there."""
    program = """
import os, pathlib, sys
os.chdir(sys.argv[1])
pathlib.Path(sys.argv[1]).rmdir()
import sycl_ext as sx
try:
    sx.zeros(3)
except sx.SyclError as error:
    print(error, flush=True)
os._exit(0)
"""
    (tmp_path / "gone").mkdir()
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "gone")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "the working directory was deleted" in done.stdout


def test_space_in_the_path_of_the_driver_is_told_with_a_cure(spaced_driver, tmp_path):
    """The error says so, and the advice of the doctor works."""
    program = """
import sycl_ext as sx
try:
    print(sx.devices())
except sx.SyclError as error:
    print(error)
"""
    environment = {"OCL_ICD_FILENAMES": str(spaced_driver), "PYTHONWARNINGS": "ignore"}
    printed = environments.python(program, environment)
    assert "contains a space, at which the driver truncates it" in printed
    machine = Machine(drivers=(Driver(str(spaced_driver), "OCL_ICD_FILENAMES"),))
    (finding,) = driver_checks.space(machine)
    cure = f'{finding.cure} && printf %s "$OCL_ICD_FILENAMES"'
    home = {**os.environ, "HOME": str(tmp_path)}
    exported = subprocess.run(["sh", "-c", cure], check=True, env=home, capture_output=True)
    environment = {"OCL_ICD_FILENAMES": exported.stdout.decode()}
    assert "opencl:cpu:0" in environments.python(program, environment)
    shutil.rmtree(tmp_path / ".intel-opencl")


def test_advice_without_a_device_names_the_next_step():
    assert icd.no_device_advice("listed before", DRIVER) == "listed before"
    assert icd.no_device_advice("", DRIVER) == "`python -m sycl_ext doctor` explains why"
    assert icd.INSTALL_CPU in icd.no_device_advice("", None)


def test_library_that_the_driver_does_not_work_with_is_named(tmp_path):
    """It is in the process already, as with OpenVINO's."""
    other = tmp_path / "libtbb.so.12"
    compiler = ["g++", "-shared", "-Wl,-soname,libtbb.so.12", "-x", "c++", os.devnull, "-o", other]
    subprocess.run(compiler, check=True)
    program = f"""
import ctypes
ctypes.CDLL({str(other)!r}, ctypes.RTLD_GLOBAL)
import sycl_ext as sx
for ask in (sx.device, lambda: sx.device("opencl:cpu")):
    try:
        ask()
    except (sx.SyclError, ValueError) as error:
        print(error)
    else:
        raise AssertionError
"""
    for line in environments.python(program).splitlines():
        assert "cannot be loaded into this process" in line
        assert "undefined symbol" in line
        assert "call sycl_ext.devices() before that import" in line


@pytest.mark.parametrize(
    ("letters", "variables"),
    [
        ("ü", {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}),
        ("ü", {"PYTHONUTF8": "1"}),
        (b"\xfc", {"PYTHONUTF8": "1"}),
    ],
)
def test_path_beyond_the_locale_is_told(tmp_path, letters, variables):
    driver = tmp_path / os.fsdecode(letters) / "lib" / icd.DRIVER
    driver.parent.mkdir(parents=True)
    driver.write_bytes(b"no library")
    said = environments.python(
        f"""
import os, sys
sys.prefix = os.fsdecode({os.fsencode(driver.parents[1])!r})
import sycl_ext as sx
try:
    sx.zeros(3)
except sx.SyclError as error:
    print(ascii(str(error)))
""",
        # No GPU: a driver of the system, such as PoCL, would bring a device.
        {**variables, "ONEAPI_DEVICE_SELECTOR": "opencl:gpu"},
    )
    assert f"{icd.DRIVER}: file too short" in said
