# SPDX-License-Identifier: Apache-2.0
"""The pages that need other libraries, or a C compiler and ``dlpack.h``."""

import subprocess
import sys

import pytest

import recipes
from processes import variables

PAGES = {**recipes.pages("interop"), recipes.INTEROPERABILITY: {}}


@pytest.mark.parametrize("page", PAGES)
def test_recipe(page, tmp_path):
    done = subprocess.run(
        [sys.executable, recipes.__file__, page],
        env=variables(**PAGES[page]),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
