# SPDX-License-Identifier: Apache-2.0
"""The first examples that users see show the same on a GPU as on the CPU (``test_docs.py``)."""

import pytest

import environments
import sycl_ext as sx
from documents import run_examples, run_notebook


@pytest.mark.parametrize("name", ["README.md", "docs/get_started.md"])
def test_examples_are_true_on_a_gpu(name):
    for library in ("dpnp", "torch"):
        pytest.importorskip(library)
    assert sx.device().device_type == "gpu"
    assert not sx.device().host_accessible("device")
    run_examples(environments.ROOT / name)


def test_tour_shows_the_copy_of_a_gpu():
    for library in ("dpnp", "ipykernel", "nbclient"):
        pytest.importorskip(library)
    shown = run_notebook(environments.ROOT / "docs" / "notebooks" / "tour.ipynb")
    assert shown[2].startswith("a host view of the same memory")
    copied, refused = shown[4].strip("()").split(",\n ")
    assert copied.startswith("one copy to the host")
    assert refused.startswith("refused")


def test_notebook_with_torch_runs_on_a_gpu():
    for library in ("dpnp", "ipykernel", "matplotlib", "nbclient", "torch"):
        pytest.importorskip(library)
    shown = run_notebook(environments.ROOT / "docs" / "notebooks" / "torch_and_plots.ipynb")
    assert shown[1].startswith("a host view of the same memory")
