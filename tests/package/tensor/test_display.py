# SPDX-License-Identifier: Apache-2.0
"""Tensors as text: with elements where the host reads them, and never with a wait."""

import numpy as np
import pytest

import environments
import sycl_ext as sx
from kernels import Kernels
from needs import needs
from samples import LAYOUTS


def facts(usm_type, shape="(2, 3)", dtype="int8", more=""):
    where = f"usm_type='{usm_type}', device={sx.device().id}"
    return f"shape={shape}, dtype={dtype}, {where}{more}"


def test_repr(usm_type):
    tensor = sx.zeros((2, 3), "int8", usm_type=usm_type)
    if not tensor.device.host_accessible(usm_type):
        assert repr(tensor) == f"Tensor({facts(usm_type)})"
        return
    elements = "Tensor([[0, 0, 0],\n        [0, 0, 0]],\n       "
    assert repr(tensor) == elements + facts(usm_type) + ")"
    assert repr(tensor.as_readonly()) == elements + facts(usm_type, more=", readonly=True") + ")"
    assert repr(tensor[0, 1]) == f"Tensor(0, {facts(usm_type, '()')})"
    assert repr(tensor[:0]) == f"Tensor([], {facts(usm_type, '(0, 3)')})"


@pytest.mark.parametrize("name", LAYOUTS)
def test_elements_are_shown_as_by_numpy(name):
    tensor, array = LAYOUTS[name].tensor("int16", "shared")
    tensor.wait()
    assert np.array2string(array, separator=", ", prefix=" " * 7) in repr(tensor)


def test_print_threshold_is_that_of_numpy():
    """NumPy shortens arrays of more than 1,000 elements, unless told otherwise."""
    tensor = sx.zeros(1001, "int8", usm_type="shared")
    assert repr(tensor).startswith("Tensor([0, 0, 0, ..., 0, 0, 0], shape=(1001,)")
    with np.printoptions(threshold=2000):
        assert "..." not in repr(tensor)


def test_host_view_shows_its_tensor():
    view = sx.host_view(sx.zeros(2, "int8", usm_type="host"))
    of = "Tensor(" + facts("host", "(2,)") + ")"
    assert repr(view) == f"HostView(shape=(2,), dtype=int8, view of {of})"


@needs("kernels")
def test_pending_work_is_not_waited_for():
    tensor = sx.zeros(4, "int64", usm_type="shared")
    queue = tensor.sycl_queue
    kernels = Kernels(queue)
    with kernels.gate() as gate:
        kernels.fill(queue, gate, tensor.ptr, tensor.nbytes, 7)
        shown = "pending: call .wait() to see the elements"
        assert repr(tensor) == f"Tensor({shown}, {facts('shared', '(4,)', 'int64')})"
        assert str(tensor) == repr(tensor)
    tensor.wait()
    assert repr(tensor).startswith("Tensor([7, 7, 7, 7], ")


def test_without_ml_dtypes_there_are_no_elements():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import sycl_ext as sx
print(sx.zeros(2, "bfloat16", usm_type="shared"))
"""
    shown = "Tensor(" + facts("shared", "(2,)", "bfloat16") + ")\n"
    assert environments.python(code, inherit=True) == shown
