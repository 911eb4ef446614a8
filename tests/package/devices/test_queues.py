# SPDX-License-Identifier: Apache-2.0
"""A queue given as ``device=`` becomes the tensor's, also of memory that is there already."""

import weakref

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
import ways
from needs import needs

SOURCES = {
    "a tensor": lambda: sx.zeros((2, 3), "int32"),
    "a tensor of a queue": lambda: sx.zeros((2, 3), "int32", device=new_queue()),
    "a part of a tensor": lambda: sx.zeros((4, 6), "int32")[1:3, ::-2],
    "a read-only tensor": lambda: sx.zeros((2, 3), "int32").as_readonly(),
    "a host view": lambda: sx.host_view(sx.zeros((2, 3), "int32", usm_type="shared")),
    "an array of no elements": lambda: sx.zeros((0, 3), "int32"),
    "dpnp": lambda: dpnp.zeros((2, 3), dtype="int32"),
    "another producer": lambda: ways.HandedOn(sx.zeros((2, 3), "int32")),
    "a description": lambda: ways.described(sx.zeros((2, 3), "int32")),
    "dpctl.memory": lambda: dpctl.memory.MemoryUSMShared(24),
    "host memory": lambda: np.zeros((2, 3), "int32"),
}


def new_queue(*properties):
    return dpctl.SyclQueue(property=list(properties))


TAKES = {
    "as_tensor": lambda x, queue: sx.as_tensor(x, device=queue),
    "from_dlpack": lambda x, queue: sx.from_dlpack(x, device=queue),
    "one device of a list": lambda x, queue: sx.as_tensor(x, device=[queue, 0]),
    "to_device": lambda x, queue: sx.as_tensor(x).to_device(queue),
    "an object with sycl_queue": lambda x, queue: sx.as_tensor(
        x, device=dpnp.ones(1, sycl_queue=queue)
    ),
}
WITHOUT_DLPACK = ("a description", "dpctl.memory")
FACTS = ("ptr", "shape", "strides", "dtype", "usm_type", "readonly", "device")


@needs("system_usm", "host memory")
@pytest.mark.parametrize("properties", [(), ("in_order",)], ids=["out-of-order", "in-order"])
@pytest.mark.parametrize(
    ("name", "take"),
    [
        (name, take)
        for name in SOURCES
        for take in TAKES
        if take != "from_dlpack" or name not in WITHOUT_DLPACK
    ],
)
def test_view_has_the_given_queue(name, take, properties):
    source, queue = SOURCES[name](), new_queue(*properties)
    as_it_is = sx.as_tensor(source)
    view = TAKES[take](source, queue)
    assert {fact: getattr(view, fact) for fact in FACTS} == {
        fact: getattr(as_it_is, fact) for fact in FACTS
    }
    for tensor in (view, view[:1], view.T, sx.as_tensor(view)):
        assert tensor.sycl_queue == queue
    assert view.__sycl_usm_array_interface__["syclobj"] == queue
    assert as_it_is.sycl_queue != queue


def test_to_device_with_its_own_queue_is_the_tensor():
    """The tensor itself, as for its own device."""
    queue = new_queue("in_order")
    for tensor in (sx.zeros(3), sx.zeros(3, device=queue)):
        assert tensor.to_device(tensor.sycl_queue) is tensor
    tensor = sx.zeros(3, device=queue)
    back = tensor.to_device(tensor.device.sycl_queue)
    assert back.sycl_queue == tensor.device.sycl_queue
    assert back.ptr == tensor.ptr


def test_from_queue_to_queue():
    """Each keeps the first tensor, and none of those between."""
    queues = [new_queue("in_order") for _ in range(3)]
    first = tensor = sx.zeros(100, "int32")
    between = []
    for i in range(3000):
        tensor = tensor.to_device(queues[i % 3])
        between.append(weakref.ref(tensor))
    assert [ref for ref in between if ref() is not None] == between[-1:]
    assert tensor.base is first
    assert tensor.sycl_queue == queues[2]
    view = tensor[50:].to_device(queues[0])
    assert (view.base, view.ptr, view.size) == (first, first.ptr + 200, 50)


def test_queue_of_a_private_context_takes_a_copy(private):
    """Where the memory is not is a copy, on that queue."""
    queue = dpctl.SyclQueue(private.sycl_context, private.sycl_device, property="in_order")
    theirs = sx.zeros(3, "int32", device=private)
    view = theirs.to_device(queue)
    assert (view.sycl_queue, view.ptr, view.device) == (queue, theirs.ptr, private)
    ours = sx.zeros(3, "int32")
    copy = sx.as_tensor(ours, device=queue)
    assert (copy.sycl_queue, copy.device) == (queue, private)
    assert copy.ptr != ours.ptr
    with pytest.raises(sx.CopyRefusedError):
        sx.as_tensor(ours, device=queue, copy=False)


def test_device_none_of_to_device_is_the_default_device(private):
    t = sx.zeros(3, device=private)
    assert t.to_device(None).device is sx.device() is not private
    assert t.to_device(private).ptr == t.ptr
