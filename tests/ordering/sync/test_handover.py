# SPDX-License-Identifier: Apache-2.0
"""The meaning of ``stream``, shown without timing: the GPUs are held, and then released.

Held, no command is carried out: a call that returns has not waited, and a call that waits blocks.
"""

from __future__ import annotations

import sys
import types
from unittest import mock

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
import ways
from lab import DTYPE, LENGTH, NBYTES, Address, at, of, usm
from stream_forms import FORMS, Stream
from waiting import eventually

V1 = {"max_version": (1, 0)}
PENDING = {dpctl.event_status_type.submitted, dpctl.event_status_type.running}

in_order = pytest.mark.parametrize(
    "properties", [(), ("in_order",)], ids=["out-of-order", "in-order"]
)


def is_pending(event):
    return event.execution_status in PENDING


# ---- an event dependency: the call returns, and the data is right --------------------------------


@pytest.mark.parametrize("producer", [None, (), ("in_order",)], ids=["device", "out", "in"])
@pytest.mark.parametrize("form", FORMS)
def test_in_order_queue_gets_an_event_dependency(bench, form, producer):
    """A barrier in an out-of-order queue of the producer stands for all its work."""
    tensor = bench.tensor(device=None if producer is None else bench.queue(*producer))
    consumer = bench.queue("in_order")
    memory, landing = usm(tensor), usm(bench.tensor("host"))
    with bench.held():
        work = bench.write(tensor.sycl_queue, memory, 7)
        capsule = tensor.__dlpack__(stream=FORMS[form](consumer), **V1)
        assert is_pending(work)  # the producer still works, and the call has returned
        later = consumer.memcpy_async(landing, memory, memory.nbytes)
    later.wait()
    assert at(landing._pointer) == {7}
    del capsule


def test_view_legacy_and_copy_false_do_not_wait_either(bench):
    tensor, consumer = bench.tensor(), bench.queue("in_order")
    memory = usm(tensor)
    with bench.held():
        work = bench.write(tensor.sycl_queue, memory, 7)
        tensor.__dlpack__(stream=consumer)
        tensor[1:].__dlpack__(stream=consumer, **V1)
        tensor.__dlpack__(stream=consumer, copy=False)
        tensor.__dlpack__(stream=consumer, dl_device=tensor.__dlpack_device__())
        assert is_pending(work)


def test_stream_of_the_producers_queue_makes_no_call(bench):
    tensor = bench.tensor(device=bench.queue("in_order"))
    queue, memory = tensor.sycl_queue, usm(tensor)
    with bench.held():
        work = bench.write(queue, memory, 7)
        calls = bench.control.fakegpu_calls()
        tensor.__dlpack__(stream=queue, **V1)
        assert is_pending(work)
        assert bench.control.fakegpu_calls() == calls


def test_idle_queues_need_nothing(bench):
    tensor, memory = bench.tensor(), usm(bench.tensor())
    bench.write(tensor.sycl_queue, memory, 7).wait()
    tensor.sycl_queue.wait()
    streams = [bench.queue("in_order"), bench.queue(), bench.private_queue("in_order")]
    calls = bench.control.fakegpu_calls()
    for stream in (None, -1, *streams):
        tensor.__dlpack__(stream=stream, **V1)
    assert bench.control.fakegpu_calls() == calls


# ---- no synchronisation --------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{}, V1, {**V1, "copy": False}, {"dl_device": "own"}])
def test_minus_one_does_not_wait(bench, keywords):
    tensor = bench.tensor("shared")
    if "dl_device" in keywords:
        keywords = {"dl_device": tensor.__dlpack_device__()}
    memory = usm(tensor)
    with bench.held():
        work = bench.write(tensor.sycl_queue, memory, 7)
        calls = bench.control.fakegpu_calls()
        tensor.__dlpack__(stream=-1, **keywords)
        assert is_pending(work)
        assert bench.control.fakegpu_calls() == calls
        assert at(tensor.ptr) == {0}


# ---- a wait on the host --------------------------------------------------------------------------


#: Queues that cannot be ordered behind an event.
HOST_WAITS = {
    "out-of-order": lambda bench, tensor: bench.queue(),
    "the producer's own": lambda bench, tensor: tensor.sycl_queue,
    "other context": lambda bench, tensor: bench.private_queue(),
    "other context, in-order": lambda bench, tensor: bench.private_queue("in_order"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("consumer", HOST_WAITS)
def test_stream_of_another_context_takes_a_host_wait(bench, consumer, form):
    """A barrier on another context's event would end the process on some drivers."""
    tensor = bench.tensor(device=bench.queue())
    queue, memory = HOST_WAITS[consumer](bench, tensor), usm(tensor)
    with bench.held():
        work = bench.write(tensor.sycl_queue, memory, 7)
        with bench.blocked(lambda: tensor.__dlpack__(stream=FORMS[form](queue), **V1)):
            assert is_pending(work)
        assert not is_pending(work)
        assert bench.read(memory) == {7}


def test_queue_of_the_cpu_device_takes_a_host_wait(bench):
    tensor, consumer = bench.tensor("host"), bench.cpu.sycl_queue
    memory = usm(tensor)
    with bench.held():
        bench.write(tensor.sycl_queue, memory, 7)
        with bench.blocked(lambda: tensor.__dlpack__(stream=consumer, **V1)):
            pass
        assert at(tensor.ptr) == {7}


# ---- as a consumer -------------------------------------------------------------------------------


def test_import_of_dpnp_does_not_wait(bench):
    """Its queue is the tensor's from then on."""
    array = dpnp.empty(LENGTH, dtype=DTYPE, sycl_queue=bench.queue("in_order"))
    memory, landing = usm(array), usm(bench.tensor("host"))
    with bench.held():
        work = bench.write(array.sycl_queue, memory, 7)
        tensor = sx.from_dlpack(array)
        assert is_pending(work)
        assert tensor.sycl_queue == array.sycl_queue
        later = tensor.sycl_queue.memcpy_async(landing, memory, memory.nbytes)
    later.wait()
    assert at(landing._pointer) == {7}


@pytest.mark.parametrize("current", [0, 1])
def test_import_of_torch_is_ordered_after_its_current_stream(bench, monkeypatch, current):
    """A tensor on XPU waits for nothing itself, whatever it is given as ``stream``.

    It is exported in the guard of its device, as pytorch#195721 asks for.
    """
    tensor, queue = bench.tensor(), bench.queue("in_order")
    xpu = types.SimpleNamespace(current_stream=lambda device: Stream(queue))
    xpu.device = lambda device: mock.patch.object(xpu, "current", device.index)
    xpu.current = current

    class Tensor:
        device = types.SimpleNamespace(type="xpu", index=0)
        is_neg = staticmethod(lambda: False)
        __dlpack_device__ = tensor.__dlpack_device__

        def __dlpack__(self, *, stream, max_version):
            if type(stream) is not int:
                raise TypeError("stream must be int or None")
            if xpu.current != 0:
                raise BufferError("Can't export tensors on a different XPU device index")
            return tensor.__dlpack__(stream=-1, max_version=max_version)

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, xpu=xpu))
    memory, landing = usm(tensor), usm(bench.tensor("host"))
    with bench.held():
        work = bench.write(queue, memory, 7)
        imported = sx.from_dlpack(Tensor())
        assert is_pending(work)
        assert xpu.current == current
        later = imported.sycl_queue.memcpy_async(landing, memory, memory.nbytes)
    later.wait()
    assert at(landing._pointer) == {7}


def test_as_tensor_does_not_wait_and_keeps_the_queue(bench):
    """Memory of dpctl; an array of dpnp waits by itself when it is asked for its interface."""
    memory = dpctl.memory.MemoryUSMDevice(NBYTES, queue=bench.queue())
    with bench.held():
        work = bench.write(memory.sycl_queue, memory, 7)
        tensor = sx.as_tensor(memory)
        assert is_pending(work)
        assert tensor.sycl_queue == memory.sycl_queue
        with bench.blocked(tensor.to_numpy) as results:
            assert is_pending(work)
        assert of(results[0].view(DTYPE)) == {7}


# ---- a queue of ours as the stream of a producer that shows none ---------------------------------


class OnTheStream:
    """A producer whose data is there when the work on `stream` is done."""

    def __init__(self, bench, tensor, keep=lambda stream: None):
        self.bench, self.tensor, self.keep = bench, tensor, keep
        queue = dpctl.SyclQueue(tensor.sycl_context, tensor.device.sycl_device)
        self.memory = usm(Address(tensor.ptr, queue))  # the queue of its entry stays unseen

    def __dlpack_device__(self):
        return (14, self.tensor.device.id)

    def __dlpack__(self, *, stream, max_version):
        self.bench.write(stream, self.memory, 7)
        self.kept = self.keep(stream)
        here = self.__dlpack_device__()
        return self.tensor.__dlpack__(stream=-1, dl_device=here, max_version=max_version)


def unused_entry(bench):
    """One whose queue nobody has ever seen."""
    return sx.register_context(bench.private_queue().sycl_context)


def test_work_submitted_to_the_stream_is_waited_for(bench):
    producer = OnTheStream(bench, bench.tensor(device=unused_entry(bench)))
    with bench.held():
        imported = sx.from_dlpack(producer)
        with bench.blocked(lambda: imported.__dlpack__(dl_device=(14, imported.device.id))):
            pass
    assert of(imported.to_numpy()) == {7}


@pytest.mark.parametrize(
    "keep",
    [lambda stream: stream, lambda stream: dpctl.SyclQueue(stream._get_capsule())],
    ids=["the object", "a copy of the sycl::queue"],
)
def test_later_work_on_a_kept_stream_is_waited_for(bench, keep):
    producer = OnTheStream(bench, bench.tensor(device=unused_entry(bench)), keep)
    imported = sx.from_dlpack(producer)
    assert of(imported.to_numpy()) == {7}
    with bench.held():
        bench.write(producer.kept, producer.memory, 8)
        with bench.blocked(lambda: imported.__dlpack__(dl_device=(14, imported.device.id))):
            pass
    assert of(imported.to_numpy()) == {8}


# ---- freeing -------------------------------------------------------------------------------------


def test_borrowed_memory_goes_back_when_the_work_on_it_is_done(bench):
    """Its owner may free it then; nobody waits for that."""
    memory = dpctl.memory.MemoryUSMDevice(NBYTES, queue=bench.queue())
    before = sys.getrefcount(memory)
    tensor = sx.as_tensor(memory)
    queue, address = tensor.sycl_queue, tensor.ptr
    with bench.held():
        work = bench.write(queue, usm(Address(address, queue)), 7)
        del tensor
        assert is_pending(work)
        assert sys.getrefcount(memory) == before + 1
    assert eventually(lambda: sys.getrefcount(memory) == before)
    assert not is_pending(work)


# ---- whose work is looked for --------------------------------------------------------------------


def dpnp_reads(tensor):
    dpnp.from_dlpack(tensor)
    np.asarray(tensor)  # the queues are seen idle


#: Operations on a tensor before work that is not on its memory, for which no read waits.
UNCONCERNED = {
    "nothing": lambda t: None,
    "an export that nobody took": lambda t: [t.__dlpack__(), t.__dlpack__(**V1)].clear(),
    "a consumer that has gone": lambda t: (ways.from_table(t), t.to_numpy())[1],
    "an array of dpnp that has gone": dpnp_reads,
    "views of the host": lambda t: (
        sx.host_view(t),
        memoryview(t),
        np.from_dlpack(t, device="cpu"),
        np.from_dlpack(sx.host_view(t)),
    ),
}


@pytest.mark.parametrize("before", UNCONCERNED)
def test_memory_that_nobody_else_writes_to_is_not_asked_about(bench, before):
    tensor, other = bench.tensor("shared"), bench.tensor()
    queue, memory = other.sycl_queue, usm(other)
    queue.wait()
    keep = UNCONCERNED[before](tensor)
    with bench.held():
        work = bench.write(queue, memory, 7)
        assert of(tensor.to_numpy()) == {0}
        assert is_pending(work)
    del keep
