# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries in pickles and in Dask: they arrive as what they were."""

import pickle

import numpy as np
import pytest

import environments
import sycl_ext as sx
from test_dask import sent

dpnp = pytest.importorskip("dpnp")


@pytest.fixture(autouse=True)
def registered():
    sx.pickling.register("dpnp")


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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_layout_survives_the_pickle(layout, protocol, usm_type):
    x = LAYOUTS[layout](numbers(usm_type))
    assert_arrived(pickle.loads(pickle.dumps(x, protocol)), x)


def test_unpickling_needs_no_registration():
    data = pickle.dumps(numbers())
    shown = environments.python(
        f"import pickle; x = pickle.loads({data!r}); print(type(x).__name__, int(x.sum()))"
    )
    assert shown.strip() == f"dpnp_array {sum(range(24))}"


def test_unknown_library_is_refused():
    with pytest.raises(ValueError, match="library is 'numpie'; use one of 'dpnp'"):
        sx.pickling.register("dpnp", "numpie")


def test_import_registers_no_pickles():
    shown = environments.python("""
import pickle, dpnp, sycl_ext
try:
    pickle.dumps(dpnp.zeros(3))
except TypeError as error:
    print(error)
""")
    assert "__reduce__" in shown


# ---- Dask ----------------------------------------------------------------------------------------

protocol = pytest.importorskip("distributed.protocol")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dask_sends_them(layout, usm_type):
    x = LAYOUTS[layout](numbers(usm_type))
    assert_arrived(sent(x), x)


def test_dask_is_told_by_itself():
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
