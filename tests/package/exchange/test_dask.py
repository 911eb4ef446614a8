# SPDX-License-Identifier: Apache-2.0
"""How Dask sends and measures tensors.  On a cluster: ``processes/``."""

import pickle

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import LAYOUTS, assert_equal
from sycl_ext._exchange import dask

protocol = pytest.importorskip("distributed.protocol")


def sent(obj):
    """As between two workers: through msgpack, in frames."""
    serialized = protocol.dumps({"x": protocol.to_serialize(obj)})
    return protocol.loads([bytes(frame) for frame in serialized])["x"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout, usm_type):
    tensor, array = LAYOUTS[layout].tensor("bfloat16", usm_type)
    arrived = sent(tensor.as_readonly())
    assert_equal(arrived, array)
    assert (arrived.usm_type, arrived.readonly) == (usm_type, True)


def test_the_bytes_are_sent_from_where_they_are():
    tensor = sx.zeros(1000, "float64")
    header, frames = protocol.serialize(tensor)
    assert header["serializer"] == "dask"
    (frame,) = frames
    assert np.frombuffer(frame, np.uint8).__array_interface__["data"][0] == tensor.ptr


def test_a_frame_without_bytes_may_be_lost(usm_type):
    header, frames = dask.serialize(sx.zeros((0, 3), "int16", usm_type=usm_type))
    for arrived in (dask.deserialize(header, frames), dask.deserialize(header, [])):
        assert (arrived.shape, arrived.dtype, arrived.usm_type) == ((0, 3), "int16", usm_type)


def test_the_size_is_that_of_the_elements():
    from dask.sizeof import sizeof

    assert sizeof(sx.zeros(1 << 20, "uint8")) == 1 << 20
    assert sizeof([sx.zeros(1 << 20, "uint8")]) > 1 << 20


ORDERS = {
    "dask first": "import distributed, sycl_ext as sx",
    "dask last": "import sycl_ext as sx, distributed",
    "dask before, distributed after": "import dask; import sycl_ext as sx; import distributed",
}


@pytest.mark.parametrize("order", ORDERS)
def test_tensors_are_known_whatever_is_imported_first(order):
    """Also by a process that only receives, before it has sent or measured one."""
    header, frames = protocol.serialize(sx.zeros(5))
    shown = environments.python(
        f"{ORDERS[order]}\n"
        "from dask.sizeof import sizeof\n"
        "from distributed.protocol import deserialize, serialize\n"
        f"received = deserialize({header!r}, {[bytes(frame) for frame in frames]!r})\n"
        "header, frames = serialize(received)\n"
        "print(header['serializer'], deserialize(header, frames).shape, sizeof(received))"
    )
    assert shown.strip() == "dask (5,) 20"


def test_dask_does_not_load_the_runtime():
    """Our entry point is called in every process that imports Dask."""
    shown = environments.python(
        "import sys, dask, distributed\n"
        "print('sycl_ext_dask' in sys.modules, 'sycl_ext' in sys.modules, 'dpctl' in sys.modules,"
        " [f.name for f in sys.meta_path if type(f).__module__ == 'sycl_ext_dask'])"
    )
    assert shown.strip() == "True False False ['dask.array']"


def test_the_runtime_does_not_load_dask():
    assert (
        environments.python("import sys, sycl_ext; print('dask' in sys.modules)").strip() == "False"
    )


@pytest.mark.parametrize("junk", [{}, {"sycl_ext": []}, {"sycl_ext": [1] * 7}, {"sycl_ext": None}])
def test_a_header_that_is_not_ours(junk):
    with pytest.raises((KeyError, TypeError, pickle.UnpicklingError)):
        dask.deserialize(junk, [b""])
