# SPDX-License-Identifier: Apache-2.0
"""Every way that has to wait for pending work does: in all repetitions there is no stale read.

The last section takes the waits out, and the same tests see stale data.
"""

from __future__ import annotations

import signal

import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from lab import DELAY_US, DTYPE, LENGTH, REPETITIONS, Address, alone, at, of, usm

V1 = {"max_version": (1, 0)}
HOST = {**V1, "dl_device": (1, 0)}


def after(call):
    """What is at the address of the tensor, once the call has returned."""

    def look(bench, tensor):
        keep = call(tensor)
        seen = at(tensor.ptr)
        del keep
        return seen

    return look


def result(call):
    """What is in the host array that the call returns."""
    return lambda bench, tensor: of(np.asarray(call(tensor)))


def made(call):
    """What is in the USM that the call returns, seen by a queue that is ordered after nothing."""
    return lambda bench, tensor: bench.read(usm(call(bench, tensor)))


def numpy_of(**keywords):
    """The host array that NumPy makes of an export."""

    class Asks:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **numpys):
            return self.tensor.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    return lambda tensor: np.from_dlpack(Asks(tensor))


#: Ways for memory that the host can reach.
REACHABLE = {
    "__dlpack__()": after(lambda t: t.__dlpack__()),
    "__dlpack__(max_version)": after(lambda t: t.__dlpack__(**V1)),
    "__dlpack__(copy=False)": after(lambda t: t.__dlpack__(**V1, copy=False)),
    "__dlpack__(dl_device=own)": after(lambda t: t.__dlpack__(dl_device=t.__dlpack_device__())),
    "__dlpack__(dl_device=host)": after(lambda t: t.__dlpack__(**HOST)),
    "view.__dlpack__()": after(lambda t: t[1:].__dlpack__()),
    "reversed.__dlpack__()": after(lambda t: t[::-1].__dlpack__(**V1)),
    "read-only.__dlpack__()": after(lambda t: t.as_readonly().__dlpack__(**V1)),
    "numpy.from_dlpack(device=cpu)": result(lambda t: np.from_dlpack(t, device="cpu")),
    "memoryview": after(memoryview),
    "numpy.asarray": result(np.asarray),
    "to_numpy": result(lambda t: t.to_numpy()),
    "host_view.__dlpack__()": after(lambda t: sx.host_view(t).__dlpack__()),
    "memoryview(host_view)": after(lambda t: memoryview(sx.host_view(t))),
    "numpy.asarray(host_view)": result(lambda t: np.asarray(sx.host_view(t))),
    "exchange": result(lambda t: sx.exchange(t, np)),
    "host_view, taken back": result(lambda t: sx.from_dlpack(sx.host_view(t)).to_numpy()),
}

#: Ways for any memory: they copy, or hand USM on.
ANY = {
    "to_numpy(copy=True)": result(lambda t: t.to_numpy(copy=True)),
    "reversed.to_numpy(copy=True)": result(lambda t: t[::-1].to_numpy(copy=True)),
    "host_view": result(lambda t: np.from_dlpack(sx.host_view(t))),
    "host_view(copy=True)": result(lambda t: np.from_dlpack(sx.host_view(t, copy=True))),
    "exchange(copy=True)": result(lambda t: sx.exchange(t, np, copy=True)),
    "__dlpack__(dl_device=host, copy=True)": result(numpy_of(**HOST, copy=True)),
    "copy": made(lambda bench, t: t.copy()),
    "copy(order=F)": made(lambda bench, t: t.copy(order="F")),
    "reversed.copy": made(lambda bench, t: t[::-1].copy()),
    "to_device": made(lambda bench, t: t.to_device(bench.other_gpu)),
    "to_device(cpu, copy=True)": result(lambda t: t.to_device("opencl:cpu", copy=True)),
    "copy_from(it)": made(lambda bench, t: bench.tensor().copy_from(t)),
    "copy_from(it) to shared": made(lambda bench, t: bench.tensor("shared").copy_from(t)),
    "from_dlpack(copy=True)": made(lambda bench, t: sx.from_dlpack(t, copy=True)),
    "from_dlpack(device=other)": made(lambda bench, t: sx.from_dlpack(t, device=bench.other_gpu)),
    "as_tensor(copy=True)": made(lambda bench, t: sx.as_tensor(t, copy=True)),
    "capsule, taken back": result(
        lambda t: sx.from_dlpack(t.__dlpack__(stream=-1, **V1)).to_numpy(copy=True)
    ),
    "exported copy": made(
        lambda bench, t: sx.from_dlpack(t.__dlpack__(**V1, copy=True)),
    ),
    "exported to the other GPU": made(
        lambda bench, t: sx.from_dlpack(
            t.__dlpack__(**V1, dl_device=bench.other_gpu.__dlpack_device__(), copy=True)
        ),
    ),
    "__dlpack__()": lambda bench, t: (t.__dlpack__(), bench.read(usm(t)))[1],
}

#: (way, kind of USM)
WAYS = [(name, "shared") for name in REACHABLE]
WAYS += [(name, kind) for kind in ("device", "shared") for name in ANY]
WAYS += [("__dlpack__(max_version)", "host"), ("memoryview", "host"), ("copy", "host")]


def look_of(way, usm_type):
    return REACHABLE[way] if usm_type != "device" and way in REACHABLE else ANY[way]


@pytest.mark.parametrize(("way", "usm_type"), WAYS)
def test_way(bench, way, usm_type):
    """The work is the user's, on the queue that the tensor itself names."""
    tensor = bench.tensor(usm_type)
    memory, queue, look = usm(tensor), tensor.sycl_queue, look_of(way, usm_type)

    def repeat(value):
        bench.write(queue, memory, value)
        return look(bench, tensor)

    assert bench.stale(repeat) == []


@pytest.mark.parametrize("properties", [(), ("in_order",)], ids=["out-of-order", "in-order"])
@pytest.mark.parametrize("where", ["default context", "private context"])
@pytest.mark.parametrize(
    ("way", "usm_type"),
    [
        ("__dlpack__()", "shared"),
        ("memoryview", "shared"),
        ("to_numpy", "shared"),
        ("to_numpy(copy=True)", "device"),
        ("host_view", "device"),
        ("copy", "device"),
        ("exported copy", "device"),
        ("__dlpack__(dl_device=host, copy=True)", "device"),
    ],
)
def test_tensor_with_a_queue_of_its_own(bench, where, properties, way, usm_type):
    """``device=queue``: the work that this queue has been given is waited for."""
    make = bench.queue if where == "default context" else bench.private_queue
    queue = make(*properties)
    tensor = bench.tensor(usm_type, device=queue)
    memory, look = usm(tensor), look_of(way, usm_type)
    assert tensor.sycl_queue == queue

    def repeat(value):
        bench.write(queue, memory, value)
        return look(bench, tensor)

    if where == "private context" and way == "__dlpack__()":
        look = made(lambda bench, t: sx.from_dlpack(t.__dlpack__(**V1)))  # it takes a copy
    assert bench.stale(repeat) == []


# ---- a host view that is older than the work -----------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        after(lambda view: view.__dlpack__()),
        after(memoryview),
        result(np.from_dlpack),
        result(np.asarray),
    ],
    ids=["__dlpack__", "memoryview", "numpy.from_dlpack", "numpy.asarray"],
)
def test_host_view_made_before_the_work(bench, look):
    tensor = bench.tensor("shared")
    view, memory, queue = sx.host_view(tensor), usm(tensor), tensor.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value)
        return look(bench, view)

    assert bench.stale(repeat) == []


def test_host_copy_is_made_with_the_view(bench):
    tensor = bench.tensor("device")
    memory, queue = usm(tensor), tensor.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value)
        view = sx.host_view(tensor)
        bench.write(queue, memory, 0)
        queue.wait()
        return of(np.from_dlpack(view))

    assert bench.stale(repeat) == []


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


def as_int64(array):
    return np.asarray(array).view(DTYPE)


def later_work(call):
    """What the next command of the tensor's own queue finds in it."""

    def look(bench, x):
        tensor = call(x)
        return bench.read(usm(tensor), queue=tensor.sycl_queue)

    return look


#: Ways that take an array of dpnp with work in flight on its queue.
FROM_DPNP = {
    "as_tensor": later_work(sx.as_tensor),
    "as_tensor, to_numpy": result(lambda x: sx.as_tensor(x).to_numpy()),
    "as_tensor, __dlpack__": lambda bench, x: (sx.as_tensor(x).__dlpack__(), bench.read(usm(x)))[1],
    "as_tensor(copy=True)": made(lambda bench, x: sx.as_tensor(x, copy=True)),
    "as_tensor(device=other)": made(lambda bench, x: sx.as_tensor(x, device=bench.other_gpu)),
    "host_view": result(lambda x: np.from_dlpack(sx.host_view(x))),
    "host_view(copy=True)": result(lambda x: np.from_dlpack(sx.host_view(x, copy=True))),
    "exchange": result(lambda x: sx.exchange(x, np)),
    "copy_from(it)": made(lambda bench, x: bench.tensor().copy_from(x)),
}
#: By DLPack: dpnp searches for the device each time, some 20 ms where there are other devices.
DLPACK_FROM_DPNP = {
    "from_dlpack": later_work(sx.from_dlpack),
    "from_dlpack(copy=True)": made(lambda bench, x: sx.from_dlpack(x, copy=True)),
}


@pytest.mark.parametrize(
    ("way", "usm_type"),
    [(way, kind) for way in FROM_DPNP for kind in ("device", "shared")]
    + [(way, "device") for way in DLPACK_FROM_DPNP],
)
def test_dpnp_with_work_in_flight(bench, way, usm_type):
    array = dpnp_array(bench, usm_type)
    memory, queue, look = usm(array), array.sycl_queue, {**FROM_DPNP, **DLPACK_FROM_DPNP}[way]

    def repeat(value):
        bench.write(queue, memory, value)
        return look(bench, array)

    assert bench.stale(repeat) == []


@pytest.mark.parametrize("properties", [(), ("in_order",)], ids=["out-of-order", "in-order"])
@pytest.mark.parametrize(
    "look",
    [
        result(lambda x: as_int64(sx.as_tensor(x).to_numpy())),
        result(lambda x: as_int64(sx.host_view(x))),
        made(lambda bench, x: sx.as_tensor(x, copy=True)),
    ],
    ids=["to_numpy", "host_view", "as_tensor(copy=True)"],
)
def test_dpctl_memory_with_work_in_flight(bench, look, properties):
    memory = dpctl_memory(bench, "device", bench.queue(*properties))

    def repeat(value):
        bench.write(memory.sycl_queue, memory, value)
        return look(bench, memory)

    assert bench.stale(repeat) == []


# ---- freeing -------------------------------------------------------------------------------------

#: Ways to hold the last reference to memory: (what holds it, the queue for its work, its address).
OWNERS = {
    "tensor": lambda bench, t: (t, t.sycl_queue, t.ptr),
    "view": lambda bench, t: (t[1:], t.sycl_queue, t.ptr),
    "capsule": lambda bench, t: (t.__dlpack__(stream=-1, **V1), t.sycl_queue, t.ptr),
    "imported": lambda bench, t: (sx.from_dlpack(t.__dlpack__(**V1)), t.sycl_queue, t.ptr),
    "device=queue": lambda bench, t: _with_own_queue(bench, t.usm_type),
}


def _with_own_queue(bench, usm_type):
    queue = bench.queue()
    tensor = bench.tensor(usm_type, device=queue)
    return tensor, queue, tensor.ptr


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("owner", OWNERS)
def test_memory_is_not_freed_under_work(bench, owner, usm_type):
    """The adapter ends the process when memory is freed before a command that uses it."""
    bench.control.fakegpu_set_delay_us(DELAY_US)
    for value in range(1, REPETITIONS + 1):
        held, queue, address = OWNERS[owner](bench, bench.tensor(usm_type))
        bench.write(queue, usm(Address(address, queue)), value)
        del held
    queue.wait()


def test_memory_freed_under_work_ends_the_process():
    """Why the test above can fail: memory of dpctl is freed at once."""
    done = alone(
        """
        import dpctl.memory, lab
        bench = lab.Bench()
        queue = bench.queue()
        memory = dpctl.memory.MemoryUSMDevice(lab.NBYTES, queue=queue)
        with bench.held():
            event = bench.write(queue, memory, 1)
            del memory
        event.wait()
        """
    )
    assert done.returncode == -signal.SIGABRT
    assert "freed before a command" in done.stderr


# ---- the same tests, with the waits taken out ----------------------------------------------------

WITHOUT_WAITS = {
    "__dlpack__(stream=-1)": ("shared", after(lambda t: t.__dlpack__(stream=-1, **V1))),
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


def test_without_the_wait_dpnp_is_stale(bench):
    array = dpnp_array(bench, "device")
    memory, queue = usm(array), array.sycl_queue

    def repeat(value):
        bench.write(queue, memory, value)
        seen = bench.read(memory)
        queue.wait()
        return seen

    assert bench.is_stale(repeat)
