# SPDX-License-Identifier: Apache-2.0
"""The notebooks of ``docs/notebooks``, as a user runs them.

``environments/opencl_gpu/test_first_examples.py`` runs them on a GPU.
"""

import json

import pytest

import environments
from documents import run_notebook

NOTEBOOKS = environments.ROOT / "docs" / "notebooks"
VIEW = "a host view of the same memory: the host can access the memory"


@pytest.fixture(autouse=True)
def kernel():
    for library in ("dpnp", "ipykernel", "nbclient"):
        pytest.importorskip(library)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_in_the_repository_has_no_outputs(path):
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_tour_shows_what_its_words_say():
    devices, tensor, plan, array, plans, writeable, moved = run_notebook(NOTEBOOKS / "tour.ipynb")
    assert devices.startswith("(<Device 0: ")
    assert tensor.startswith("Tensor([[1., 1., 1.],")
    assert plan == VIEW
    assert array.startswith("array([[7., 7., 7.],")
    assert plans == f"({VIEW},\n {VIEW})"
    assert writeable == "False"
    assert moved.startswith("Tensor([0., 0., 0.], shape=(3,)")


def test_notebook_with_torch_shows_a_plot():
    for library in ("torch", "matplotlib"):
        pytest.importorskip(library)
    shown = run_notebook(NOTEBOOKS / "torch_and_plots.ipynb")
    assert shown[1] == VIEW
    assert shown[-1] == "image/png"
