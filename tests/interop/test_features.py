# SPDX-License-Identifier: Apache-2.0
"""The same work with other libraries: each cell of the table in docs/consumer_matrix.md is run.

test_page.py compares the page; here is what may not change unseen.
"""

import pytest

import seen

LIBRARIES = ("sycl_ext", "dpctl", "dpnp", "torch", "numpy")
#: Features of other libraries as well.
ALSO = {
    "its own arrays in a queue of `multiprocessing`": {"torch"},
    "the first of several devices that is there": {"dpctl", "dpnp"},
    "a copy to the GPU that goes on after the call": {"dpctl"},
}
FEATURES = (
    "device USM of a GPU, opened by another process",
    "an array of another library, sent to another process",
    "the one of several devices that takes no copy",
    "a copy that `await` waits for",
    "its memory on a CUDA device, as kDLCUDA",
    "kDLCUDA memory of a library, as SYCL's",
    *ALSO,
)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature, library):
    found = seen.features()[feature][library]
    has = library == "sycl_ext" or library in ALSO.get(feature, ())
    assert (found["outcome"] in ("view", "yes")) == has, found


def test_every_feature_is_looked_at():
    found = seen.features()
    assert set(found) == set(FEATURES)
    assert all(tuple(cases) == LIBRARIES for cases in found.values())
