# SPDX-License-Identifier: Apache-2.0
"""The first extension of docs/extension.md, built with setuptools in place of CMake."""

import sys
from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

import sycl_ext

prefix = Path(sys.prefix)  # where intel-sycl-rt has put the SYCL headers and libsycl.so
clear = Pybind11Extension(
    "clear",
    ["clear.cpp"],
    include_dirs=[sycl_ext.get_include(), str(prefix / "include")],
    library_dirs=[str(prefix / "lib")],
    runtime_library_dirs=[str(prefix / "lib")],
    libraries=["sycl"],
    cxx_std=17,
)
setup(name="clear", version="0.1", ext_modules=[clear])
