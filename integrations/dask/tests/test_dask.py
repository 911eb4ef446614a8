# SPDX-License-Identifier: Apache-2.0
"""How Dask sends and measures tensors.  On a cluster: ``test_cluster.py``."""

import pickle

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import LAYOUTS, assert_equal
from sycl_ext_dask import tensors

protocol = pytest.importorskip("distributed.protocol")


def sent(obj):
    """As between two workers: through msgpack, in frames."""
    serialized = protocol.dumps({"x": protocol.to_serialize(obj)})
    return protocol.loads([bytes(frame) for frame in serialized])["x"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_survives_sending(layout, usm_type):
    tensor, array = LAYOUTS[layout].tensor("bfloat16", usm_type)
    arrived = sent(tensor.as_readonly())
    assert_equal(arrived, array)
    assert (arrived.usm_type, arrived.readonly) == (usm_type, True)


def test_bytes_are_sent_without_a_copy():
    tensor = sx.zeros(1000, "float64")
    header, frames = protocol.serialize(tensor)
    assert header["serializer"] == "dask"
    (frame,) = frames
    assert np.frombuffer(frame, np.uint8).__array_interface__["data"][0] == tensor.ptr


def test_frame_without_bytes_may_be_lost(usm_type):
    header, frames = tensors.serialize(sx.zeros((0, 3), "int16", usm_type=usm_type))
    for arrived in (tensors.deserialize(header, frames), tensors.deserialize(header, [])):
        assert (arrived.shape, arrived.dtype, arrived.usm_type) == ((0, 3), "int16", usm_type)


def test_sizeof_is_that_of_the_elements():
    from dask.sizeof import sizeof

    assert sizeof(sx.zeros(1 << 20, "uint8")) == 1 << 20
    assert sizeof([sx.zeros(1 << 20, "uint8")]) > 1 << 20


def windows():
    """501 windows of 500 numbers, in the memory of 1000."""
    memory = np.arange(1000.0)
    return memory, np.lib.stride_tricks.sliding_window_view(memory, 500)


#: Array -> the bytes of memory that its elements take up.
SIZES = {
    "a broadcast number": (lambda: np.broadcast_to(np.float32(1), (10**6, 10**6)), 4),
    "a broadcast row": (lambda: np.broadcast_to(np.zeros(3, "int16"), (10**9, 3)), 6),
    "a broadcast column": (lambda: np.broadcast_to(np.zeros((3, 1)), (3, 10**9)), 24),
    "a number": (lambda: np.array(1.0), 8),
    "nothing": (lambda: np.broadcast_to(np.zeros((0, 1)), (0, 10**9)), 0),
    "reversed": (lambda: np.zeros((4, 5))[::-1, ::-1], 160),
    "with gaps": (lambda: np.zeros(100, "int8")[::10], 10),
    "windows": (lambda: windows()[1], 501 * 500 * 8),
}


@pytest.mark.parametrize("name", SIZES)
def test_repeated_elements_count_once(name):
    from dask.sizeof import sizeof

    make, size = SIZES[name]
    array = make()
    tensor = sx.as_tensor(array, copy=False)
    assert tensor.nbytes == array.nbytes
    assert sizeof(tensor) == sizeof(sx.host_view(array)) == size
    if array.ndim and array.size:
        assert sizeof(tensor) == sizeof(array)


def test_repeated_elements_of_dpnp_count_once():
    from dask.sizeof import sizeof

    dpnp = pytest.importorskip("dpnp")
    row = dpnp.ones(3, dtype="float32")
    assert sizeof(dpnp.broadcast_to(row[:1], (10**6, 10**6))) == 4
    assert sizeof(dpnp.broadcast_to(row, (10**9, 3))) == 12
    assert sizeof(dpnp.ones((4, 5), dtype="int16")[::2, ::-1]) == 20
    assert sizeof(dpnp.ones((0, 3))) == 0


def test_broadcast_tensor_is_sent_without_its_repetitions():
    row = sx.as_tensor(np.broadcast_to(np.arange(3, dtype="int16"), (10**9, 3)), copy=False)
    _, frames = protocol.serialize(row)
    assert sum(memoryview(frame).nbytes for frame in frames) == 6
    assert (sent(row).shape, sent(row).strides) == ((10**9, 3), (0, 1))


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


def test_import_does_not_load_dask():
    assert (
        environments.python("import sys, sycl_ext; print('dask' in sys.modules)").strip() == "False"
    )


@pytest.mark.parametrize("junk", [{}, {"sycl_ext": []}, {"sycl_ext": [1] * 7}, {"sycl_ext": None}])
def test_foreign_header_is_refused(junk):
    with pytest.raises((KeyError, TypeError, pickle.UnpicklingError)):
        tensors.deserialize(junk, [b""])
