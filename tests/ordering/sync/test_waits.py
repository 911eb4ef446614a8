# SPDX-License-Identifier: Apache-2.0
"""Every way that has to wait for pending work does: in all repetitions there is no stale read.

The last section takes the waits out, and the same tests see stale data.
"""

from __future__ import annotations

import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
import ways
from lab import DTYPE, LENGTH, at, of, usm
from ways import WAYS, Tag

#: Ways to elements, but for those with commands of a library that has waits of its own.
READING = ways.select(
    *(ways.VIEW, ways.HOST, ways.COPY, ways.EITHER),
    without={Tag.KERNELS, Tag.SUB_DEVICE},
    dtype="int64",
)


def seen_by(name):
    """The result of a way; dpctl's memory is bytes."""
    return lambda x: of(np.ascontiguousarray(ways.content(WAYS[name].call(x))).view(DTYPE))


def stale(bench, look, x, queue=None):
    """The wrong elements after work on the queue of an object, in all repetitions."""
    memory, queue = usm(x), queue or x.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value)
        return look(x)

    return bench.stale(repeat)


@pytest.mark.parametrize("name", READING)
def test_way(bench, name):
    """The work is the user's, on the queue that the tensor itself names."""
    way = READING[name]
    kinds = ["shared"] if way.host else ["device"]
    for kind in [*kinds, "shared"] if way.gives == ways.HOST else kinds:
        assert stale(bench, seen_by(name), bench.tensor(kind)) == [], kind


# ---- pending work on the target ------------------------------------------------------------------


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_copy_from_comes_after_pending_writes(bench, usm_type):
    target = bench.tensor(usm_type)
    memory, queue = usm(target), target.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value - 1)
        target.copy_from(np.full(LENGTH, value, DTYPE))
        queue.wait()
        return bench.read(memory)

    assert bench.stale(repeat) == []


# ---- arrays of others ----------------------------------------------------------------------------


def dpnp_array(bench, usm_type, queue=None):
    queue = queue or bench.queue()
    return dpnp.empty(LENGTH, dtype=DTYPE, usm_type=usm_type, sycl_queue=queue)


def dpctl_memory(bench, usm_type, queue=None):
    kind = getattr(dpctl.memory, f"MemoryUSM{usm_type.title()}")
    return kind(LENGTH * DTYPE.itemsize, queue=queue or bench.queue())


#: By DLPack, dpnp searches for the device each time, some 20 ms where there are other devices.
OF_DPNP = [
    *("as_tensor(copy=True)", "host_view", "host_view(copy=True)", "exchange(numpy)"),
    *("Tensor.copy_from, of anything", "from_dlpack(copy=True)"),
]


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_dpnp_with_work_in_flight(bench, usm_type):
    array = dpnp_array(bench, usm_type)
    for name in OF_DPNP:
        assert stale(bench, seen_by(name), array) == [], name
    for look in (
        lambda x: bench.read(usm(t := sx.as_tensor(x)), queue=t.sycl_queue),  # its next command
        lambda x: bench.read(usm(t := sx.from_dlpack(x)), queue=t.sycl_queue),
        lambda x: (sx.as_tensor(x).__dlpack__(), bench.read(usm(x)))[1],
        lambda x: of(sx.as_tensor(x, device=bench.other_gpu).to_numpy()),
    ):
        assert stale(bench, look, array) == []


@pytest.mark.parametrize("properties", [(), ("in_order",)], ids=["out-of-order", "in-order"])
def test_dpctl_memory_with_work_in_flight(bench, properties):
    memory = dpctl_memory(bench, "device", bench.queue(*properties))
    for name in ("as_tensor", "host_view", "as_tensor(copy=True)"):
        assert stale(bench, seen_by(name), memory) == [], name


# ---- the same tests, with the waits taken out ----------------------------------------------------

WITHOUT_WAITS = {
    "__dlpack__(stream=-1)": ("shared", lambda bench, t: (t.__dlpack__(stream=-1), at(t.ptr))[1]),
    "address": ("shared", lambda bench, t: at(t.ptr)),
    "command of another queue": ("device", lambda bench, t: bench.read(usm(t))),
}


@pytest.mark.parametrize("way", WITHOUT_WAITS)
def test_without_the_wait_data_is_stale(bench, way):
    usm_type, look = WITHOUT_WAITS[way]
    tensor = bench.tensor(usm_type, device=bench.queue("in_order"))
    memory, queue = usm(tensor), tensor.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value)
        seen = look(bench, tensor)
        queue.wait()
        return seen

    assert bench.is_stale(repeat), "the tests above could not fail"
