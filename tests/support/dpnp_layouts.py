# SPDX-License-Identifier: Apache-2.0
"""Arrays of dpnp in every layout, and what must be the same after they were sent."""

import numpy as np
import pytest

dpnp = pytest.importorskip("dpnp")


def numbers(usm_type="device", **how):
    return dpnp.asarray(np.arange(24, dtype="int32").reshape(4, 6), usm_type=usm_type, **how)


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "part": lambda x: x[1::2, 2:5],
    "reversed": lambda x: x[:, ::-1],
    "broadcast": lambda x: dpnp.broadcast_to(x[0], (3, 6)),
    "0-d": lambda x: x[2, 3],
    "size 0": lambda x: x[:0],
}


def assert_arrived(arrived, x):
    assert type(arrived) is dpnp.ndarray
    assert (arrived.shape, arrived.dtype) == (x.shape, x.dtype)
    assert x.size == 0 or arrived.usm_type == x.usm_type  # an empty array has no memory of a kind
    assert arrived.sycl_device == x.sycl_device
    assert dpnp.asnumpy(arrived).tolist() == dpnp.asnumpy(x).tolist()
