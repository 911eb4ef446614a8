# SPDX-License-Identifier: Apache-2.0
"""Import in a plain environment finds the embedded CPU device; and leaves alone who has decided."""

import pytest

import environments
from sycl_ext._devices import icd

REPORT = """
import os
before = dict(os.environ)
import sycl_ext as sx
after = dict(os.environ)
changed = {name for name in before | after if before.get(name) != after.get(name)}
print(sorted(changed), [device.filter_string for device in sx.devices()])
"""
EMPTY = str(environments.NO_ICD_FILES)


def test_a_plain_environment():
    assert "['OCL_ICD_FILENAMES'] ['opencl:cpu:0'" in environments.python(REPORT, {})


def test_the_driver_is_the_one_of_this_environment():
    driver = icd.embedded_driver()
    assert driver is not None
    assert driver.name == "libintelocl.so"
    output = environments.python("import os, sycl_ext; print(os.environ['OCL_ICD_FILENAMES'])", {})
    assert output.strip() == str(driver)


def test_opting_out():
    assert environments.python(REPORT, {"SYCL_EXT_NO_ICD": "1"}).startswith("[] ")


@pytest.mark.parametrize("name", icd.DECIDED_BY)
def test_a_variable_that_is_set_to_nothing_decides_nothing(name):
    assert "['OCL_ICD_FILENAMES'] ['opencl:cpu:0'" in environments.python(REPORT, {name: ""})


@pytest.mark.parametrize("name", ["OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"])
def test_an_environment_that_has_decided(name):
    assert environments.python(REPORT, {name: EMPTY}).startswith("[] ")


def test_import_enumerates_nothing():
    """Who imports us may still change the environment."""
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


def test_a_process_without_devices():
    """A clear error where a device is needed, and none where it is not."""
    output = environments.python(
        """
import numpy as np, pytest
import sycl_ext as sx

assert sx.devices() == ()
array = np.zeros(3)
for call in (sx.device, lambda: sx.empty(3), lambda: sx.zeros(3), lambda: sx.from_dlpack(array)):
    with pytest.raises(sx.SyclError, match=r"no device.*sycl_ext\\[cpu\\]"):
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
