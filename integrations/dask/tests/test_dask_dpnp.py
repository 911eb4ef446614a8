# SPDX-License-Identifier: Apache-2.0
"""How Dask sends and measures arrays of dpnp, without a registration."""

import pytest

import environments
from dpnp_layouts import LAYOUTS, assert_arrived, numbers
from test_dask import sent


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_arrives_as_it_was(layout, usm_type):
    x = LAYOUTS[layout](numbers(usm_type))
    assert_arrived(sent(x), x)


def test_dask_knows_arrays_without_a_registration():
    shown = environments.python("""
import dpnp, distributed
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from distributed.protocol.pickle import dumps, loads
x = dpnp.arange(5, dtype="float32")
header, frames = serialize(x)
print(header["serializer"], type(deserialize(header, frames)).__name__, sizeof(x))
def function(a, b=x): return a + b
print(loads(dumps((function, x)))[0](x).sum())
""")
    assert shown.splitlines() == ["dask dpnp_array 20", "20."]
