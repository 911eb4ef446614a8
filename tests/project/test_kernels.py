# SPDX-License-Identifier: Apache-2.0
"""The SPIR-V in the repository is that of `src/tensor/strided.cl`."""

import shutil

import pytest

from repository import tool


def test_spirv_is_that_of_the_source():
    kernels = tool("kernels")
    for program in (kernels.CLANG, kernels.TRANSLATOR):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: install {program}, or set PATH")
    assert kernels.HEADER.read_text() == kernels.header()
