# SPDX-License-Identifier: Apache-2.0
"""`usm_view` arguments on a GPU, which cannot use the memory of a NumPy array in place."""

import numpy as np
import pytest

import sycl_ext as sx
from extensions import labs


@pytest.fixture(scope="module", params=["views_pybind11", "views_nanobind"])
def views(request):
    return labs.load(request.param)


@pytest.mark.parametrize(
    ("dtype", "overload"), [("float32", "const float32"), ("complex128", "complex128")]
)
def test_array_of_the_host_reaches_the_overload_that_may_copy(views, dtype, overload):
    """The first overload writes float32."""
    assert views.which(np.zeros(3, dtype)) == overload
    assert views.which(sx.zeros(3)) == "float32"


def test_array_of_the_host_that_a_function_writes(views):
    with pytest.raises(
        sx.CopyRefusedError, match=r"writes .* numpy.ndarray in place; .*as_tensor\(x\)"
    ):
        views.doubled_alone(np.zeros(3, "float32"), out=np.zeros(3, "float32"))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        views.doubled(np.zeros(3, "float32"), np.zeros(3, "float32"))
