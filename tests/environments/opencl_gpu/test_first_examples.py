# SPDX-License-Identifier: Apache-2.0
"""The first examples that users see show the same on a GPU as on the CPU (``test_docs.py``)."""

import pytest

import environments
import sycl_ext as sx
from documents import run_examples


@pytest.mark.parametrize("name", ["README.md", "docs/get_started.md"])
def test_examples_are_true_on_a_gpu(name):
    for library in ("dpnp", "torch"):
        pytest.importorskip(library)
    assert sx.device().device_type == "gpu"
    assert not sx.device().host_accessible("device")
    run_examples(environments.ROOT / name)
