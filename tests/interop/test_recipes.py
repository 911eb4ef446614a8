# SPDX-License-Identifier: Apache-2.0
"""The pages that need other libraries, or a C compiler and ``dlpack.h``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import recipes
from processes import OPEN3D, kept, libusb, python_in, variables
from sycl_ext_pytest import devices

PAGES = {**recipes.pages("interop"), recipes.INTEROPERABILITY: {}}
SUPPORT = str(Path(recipes.__file__).parent)
#: It prints a warning where there is no GPU.
OPEN3D_FIRST = """
import sys, sycl_ext
sycl_ext.devices()
import open3d, recipes
sys.exit(recipes.main(sys.argv[1]))
"""


def devices_of(page):
    """Return only the CPU, which runs the kernels of dpnp, unless the page names a GPU."""
    result = variables(**PAGES[page])
    if PAGES[page] or re.search(r'"(level_zero:)?gpu', (recipes.PAGES / page).read_text()):
        return result
    return {**result, "ONEAPI_DEVICE_SELECTOR": "*:cpu"}


@pytest.mark.parametrize("page", PAGES)
def test_recipe(page, tmp_path):
    done = subprocess.run(
        [sys.executable, recipes.__file__, page],
        env=devices_of(page),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", recipes.pages("open3d"))
def test_recipe_with_open3d(page, tmp_path):
    """Where the CPU device is the only one: Open3D's numbers of devices are not DLPack's."""
    done = subprocess.run(
        [python_in(OPEN3D), "-c", OPEN3D_FIRST, page],
        env={**kept(), **devices.variables("cpu"), **libusb(), "PYTHONPATH": SUPPORT},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
