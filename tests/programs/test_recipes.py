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


def run(page, variables, folder, *device):
    done = subprocess.run(
        [sys.executable, recipes.__file__, page, *device],
        env={**environments.clean_environment(), **variables},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_recipe(page, tmp_path):
    settings = PAGES[page]
    backend = settings.get("backend")
    gpus = environments.posing(backend) if backend else environments.level_zero(tiles=0, **settings)
    run(page, gpus, tmp_path)


@pytest.mark.parametrize("page", ["copy_in_the_background.md", "hand_over_without_waiting.md"])
def test_recipe_runs_with_another_filter_string(page, tmp_path):
    """The pages say so: on the CPU device, the host can access all memory."""
    assert "change the filter string" in (recipes.PAGES / page).read_text()
    run(page, environments.cpu(), tmp_path, "cpu")
