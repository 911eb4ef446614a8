# SPDX-License-Identifier: Apache-2.0
"""The pages of ``docs/recipes`` do what they say; `make test-interop` runs the others."""

import subprocess
import sys

import pytest

import environments
import recipes

PAGES = recipes.pages("stand-in GPU")
#: The SYCL headers take their time, and so does a copy that is held.
LONG = ("torch_xpu_allocator.md", "copy_in_the_background.md")


def marked(page):
    return pytest.param(page, marks=[pytest.mark.long] if page in LONG else [])


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_recipe(page, tmp_path):
    settings = PAGES[page]
    backend = settings.get("backend")
    gpus = environments.posing(backend) if backend else environments.level_zero(tiles=0, **settings)
    done = subprocess.run(
        [sys.executable, recipes.__file__, page],
        env={**environments.clean_environment(), **gpus},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
