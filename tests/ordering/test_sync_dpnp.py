# SPDX-License-Identifier: Apache-2.0
"""dpnp computes while its arrays are imported: an import always has the result.

dpnp 0.20 itself does not wait: its own ``from_dlpack(x, copy=True)`` copies unfinished data.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
import ways
from needs import needs
from ways import WAYS

LENGTH = 200_000


def test_last_reference_may_go_while_the_queue_works():
    """dpctl drops a kernel's arguments on a thread of the runtime, which the queue waits for."""
    for _ in range(30):
        tensor = sx.zeros(1 << 18)
        memory = dpctl.memory.as_usm_memory(tensor)
        array = dpnp.ndarray(1 << 18, dtype="float32", buffer=memory)
        result = dpnp.cos(dpnp.sin(array))
        del tensor, memory, array
    assert (result.asnumpy() == 1).all()


# ---- dpnp writes into a view of a tensor ---------------------------------------------------------

#: How dpnp gets the memory of a tensor.
VIEWS = {
    "exchange": lambda t: sx.exchange(t, dpnp),
    "from_dlpack": dpnp.from_dlpack,
    "interface": lambda t: dpnp.asarray(dpnp.tensor.asarray(t)),
    "a view of a view": lambda t: sx.exchange(sx.from_dlpack(sx.exchange(t, dpnp)), dpnp),
    "over NumPy": lambda t: sx.exchange(sx.as_tensor(sx.exchange(t, np)), dpnp),
}

WRITES = {
    "assignment": lambda d, x: d.__setitem__(..., x + 1),
    "out=": lambda d, x: dpnp.add(x, 1, out=d),
    "in place": lambda d, x: d.__iadd__(x + 1),
}


#: Some reads of the tensor; `test_pending.py` has all of them.
READS = (
    "Tensor.to_numpy", "Tensor.to_numpy(copy=True)", "Tensor.to_numpy(wait=False)",
    "Tensor.__array__", "Tensor.__buffer__", "Tensor.__dlpack__, np.from_dlpack", "Tensor.copy",
    "Tensor.copy_from, of it", "Tensor.copy_from(wait=False), of it", "host_view",
    "exchange(numpy)", "exchange(torch)", "as_tensor(copy=True)", "Tensor.__reduce_ex__", "staged",
)  # fmt: skip


def read(name, tensor):
    return ways.content(WAYS[name].call(tensor))


def pending_ones():
    """An array that becomes all ones some milliseconds after it was returned."""
    x = dpnp.full(1 << 18, 0.5, dtype="float32")
    for _ in range(3):
        x = dpnp.maximum(dpnp.sin(x), 1)
    return x


@needs("sub_groups", "exchange-in place-device", "exchange-in place-shared")
@pytest.mark.parametrize("usm_type", ["shared", "device"])
@pytest.mark.parametrize(
    ("view", "write"),
    [*((view, "assignment") for view in VIEWS), ("exchange", "out="), ("exchange", "in place")],
)
def test_writes_of_dpnp_are_read(view, write, usm_type):
    for name in READS:
        tensor = sx.zeros(1 << 18, "float32", usm_type=usm_type)
        reached = tensor.device.host_accessible(usm_type)
        if not reached and (view == "over NumPy" or WAYS[name].host):
            continue
        array = VIEWS[view](tensor)
        WRITES[write](array, pending_ones())
        if write == "out=":
            del array  # the work goes on
        assert (read(name, tensor) == 2).all(), name


@needs("sub_groups")
@pytest.mark.parametrize("view", ["exchange", "interface"])
def test_reads_after_the_gil_was_held(view):
    """oneMKL multiplies in host tasks on a CPU, and what comes after them is held back by libsycl.

    dpctl's own host tasks, which want the GIL, are all still pending then.
    """
    matrix = dpnp.full((512, 512), 1 / 512)
    on_cpu = matrix.sycl_device.is_cpu  # oneMKL knows no GPU of the tests
    for number, name in enumerate(READS, 2):
        tensor = sx.zeros(64, "int64", usm_type="shared")
        array, product = VIEWS[view](tensor), dpnp.full((512, 512), float(number))
        for _ in range(6):
            product = product @ matrix if on_cpu else dpnp.sqrt(product * product)
        array[...] = product[0, :64]
        del array, product
        sorted(range(300_000, 0, -1))
        assert (read(name, tensor) == number).all(), name


@needs("sub_groups")
def test_reads_while_threads_submit():
    """dpnp waits with the GIL held for an assignment of a number, and its host tasks want it."""
    row = dpnp.ones(64, dtype="int64")
    tensors = [sx.zeros(64, "int64", usm_type="shared") for _ in range(4)]
    arrays = [sx.exchange(tensor, dpnp) for tensor in tensors]
    for array in arrays:  # each function is used for the first time in one thread
        array[...] = row + row
        array[...] = 1

    def are_read(tensor, array):
        for value in range(1000):
            array[...] = row + row
            array[...] = value
            if not (tensor.to_numpy(copy=True) == value).all():
                return False
        return True

    with ThreadPoolExecutor(len(tensors)) as pool:
        assert all(pool.map(are_read, tensors, arrays))


@needs("sub_groups")
def test_eight_threads_share_arrays_with_dpnp():
    """dpnp computes under a lock, which it needs; our reads need none."""
    lock = threading.Lock()

    def is_read(value):
        tensor = sx.zeros(LENGTH, "float32", usm_type="shared")
        with lock:
            array = sx.exchange(tensor, dpnp)
            array[...] = dpnp.maximum(dpnp.full(LENGTH, value, dtype="float32"), value) + 1
        views = (tensor.to_numpy(), np.asarray(sx.host_view(tensor)), tensor.copy().to_numpy())
        return all((view == value + 1).all() for view in views)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(is_read, range(64)))
