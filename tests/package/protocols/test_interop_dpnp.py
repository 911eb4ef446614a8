# SPDX-License-Identifier: Apache-2.0
"""dpnp takes a tensor of each kind of USM without a copy, and gives one back."""

import types
from dataclasses import replace

import dpctl
import dpnp
import numpy as np
import pytest

import samples
import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from needs import needs
from samples import values
from sycl_ext._negotiation import consumers, targets


def address(array):
    """Of the first element: the pointer of dpnp's memory, and its offset."""
    interface = array.__sycl_usm_array_interface__
    return interface["data"][0] + interface.get("offset", 0) * array.itemsize


def test_arrays_without_dimensions_stay_writable(usm_type):
    """In their capsules dpnp 0.20 says of all of them that they are read-only."""
    array = dpnp.asarray(values((2, 3)), usm_type=usm_type)
    for theirs in (dpnp.array(3, usm_type=usm_type), array[1, 2], array.max()):
        for imported in (sx.from_dlpack(theirs), sx.as_tensor(theirs), sx.host_view(theirs)):
            assert (imported.shape, imported.dtype, imported.readonly) == ((), theirs.dtype, False)
            if isinstance(imported, sx.Tensor):
                assert (imported.ptr, imported.usm_type) == (address(theirs), usm_type)
        sx.from_dlpack(theirs, copy=False).copy_from(np.array(7, theirs.dtype))
        assert int(theirs) == 7
        theirs.flags["W"] = False
        views = [sx.from_dlpack(theirs), sx.as_tensor(theirs), sx.host_view(theirs)]
        assert all(view.readonly for view in views if view.ptr == address(theirs))


def counted(dtype, usm_type, sycl_queue=None):
    """0 to 11 in an array that no kernel has made."""
    numbers = np.arange(12, dtype=dtype)
    return dpnp.asarray(numbers, usm_type=usm_type, sycl_queue=sycl_queue)


@needs("device_copies")
def test_dpnp_export_with_an_offset_is_imported(usm_type):
    array = counted("int16", usm_type)[5:]
    capsule = array.__dlpack__(max_version=(1, 0))
    assert managed_in(capsule).dl_tensor.byte_offset == 10
    reached = sx.device().host_accessible(usm_type)
    for imported in (sx.from_dlpack(capsule), *(f(array) for f in (sx.from_dlpack, sx.host_view))):
        is_view = reached or isinstance(imported, sx.Tensor)
        assert (imported.ptr == address(array)) is is_view
        assert imported.tolist() == list(range(5, 12))


def watched(array, refused=None):
    """An array as one of dpnp, whose description counts how often it is read."""

    class Array:
        __module__ = "dpnp"
        reads = 0
        sycl_queue = array.sycl_queue
        __dlpack_device__ = array.__dlpack_device__

        def __dlpack__(self, **keywords):
            if refused is not None:
                raise refused
            return array.__dlpack__(**keywords)

        @property
        def __sycl_usm_array_interface__(self):
            self.reads += 1
            return array.__sycl_usm_array_interface__

    return Array()


@needs("device_copies")
@pytest.mark.parametrize("in_order", [True, False])
def test_import_of_dpnp_does_not_wait_for_its_queue(in_order, usm_type):
    """Reading the description calls ``SyclQueue.wait()``, which two threads must not do at once."""
    queue = dpctl.SyclQueue(property=["in_order"] if in_order else [])
    array = watched(counted("float32", usm_type, sycl_queue=queue))
    for way in (sx.as_tensor, lambda x: sx.as_tensor(x, device=sx.device(), copy=False)):
        tensor = way(array)
        assert array.reads == 0
        assert (tensor.sycl_queue, tensor.base, tensor.usm_type) == (queue, array, usm_type)
        assert tensor.tolist() == list(range(12))
    sx.exchange(array, np)
    sx.host_view(array)
    sx.explain(array, np)
    sx.empty(12).copy_from(array)
    assert array.reads == 0


def test_dpnp_array_without_export_is_read_by_its_description(usm_type):
    device = dpctl.SyclDevice()
    queue = dpctl.SyclQueue(dpctl.SyclContext(device), device)
    private = dpnp.empty(12, usm_type=usm_type, sycl_queue=queue)
    refused = watched(dpnp.empty(12, usm_type=usm_type), BufferError("not today"))
    scalar = watched(dpnp.asarray(7, usm_type=usm_type))  # dpnp's capsule says read-only
    for array in (private, refused, scalar):
        tensor = sx.as_tensor(array)
        assert tensor.sycl_queue == array.sycl_queue
        assert not tensor.readonly
    assert (refused.reads, scalar.reads) == (1, 1)


@needs("device_copies")
@pytest.mark.parametrize("of", [lambda array: array, lambda array: type(array)()])
@pytest.mark.parametrize("way", [sx.as_tensor, sx.from_dlpack, sx.host_view])
def test_dlpack_may_be_made_of_the_description(way, of, usm_type):
    """Of the array, or of a view: as a subclass of dpnp's may do that wants our exports."""
    array = counted("float32", usm_type)

    class Base:
        __module__ = "dpnp"
        __dlpack_device__ = __dlpack__ = None

    class Array(Base):
        sycl_queue = array.sycl_queue

        def __dlpack_device__(self):
            return sx.as_tensor(of(self)).__dlpack_device__()

        def __dlpack__(self, **keywords):
            return sx.as_tensor(of(self)).__dlpack__(**keywords)

        @property
        def __sycl_usm_array_interface__(self):
            return array.__sycl_usm_array_interface__

    assert way(Array()).tolist() == list(range(12))


@needs("device_copies")
@needs("halves")
def test_dpnp_asarray_gets_the_memory_of_the_sub_device(usm_type):
    """``dpnp.asarray`` computes on the sub-device, which a copy for an export would leave."""
    sub_device = samples.halves()[0]
    tensor = sx.zeros(6, device=sub_device, usm_type=usm_type)
    assert sx.exchange(tensor, dpnp.asarray).sycl_device == sub_device.sycl_device
    assert dpnp.asnumpy(sx.exchange(np.ones(6), dpnp.asarray)).tolist() == [1] * 6


@pytest.mark.parametrize("way", [sx.from_dlpack, sx.as_tensor])
def test_import_of_dpnp_runs_no_python_of_ours(way):
    """The core finds the queue of the array, and takes its capsule."""
    array = dpnp.ones(3)
    way(array)
    assert samples.frames_of_ours(way, array) == []


def own_queue():
    """On a queue of the user's."""
    return sx.zeros((2, 3), device=dpctl.SyclQueue(sx.device().sycl_device))


#: The argument of dpnp, and whether it is a description, which is faster.
HANDED = {
    "plain": (lambda: sx.zeros((2, 3)), True),
    "host": (lambda: np.zeros((2, 3), "float32"), True),
    "read-only": (lambda: sx.zeros((2, 3)).as_readonly(), False),
    "strided": (lambda: sx.zeros((2, 6))[:, ::2], False),
    "empty": (lambda: sx.zeros((0, 3)), False),
    "a queue of its own": (own_queue, False),
    "sub-device": (lambda: sx.zeros((2, 3), device=samples.halves()[0]), False),
}


@needs("device_copies")
@needs("halves", "sub-device")
@pytest.mark.parametrize("name", HANDED)
def test_direct_dpnp_construction_gives_what_from_dlpack_gives(monkeypatch, name):
    make, is_described = HANDED[name]
    x, called = make(), []
    plain = sx.exchange(x, dpnp.from_dlpack)  # a function is called as it is
    taken = consumers.dpnp_by_usm_interface(dpnp.from_dlpack)
    row = consumers.consumer_for("dpnp", dpnp.__version__)
    counted = replace(row, usm_interface_importer=lambda _: lambda x: called.append(x) or taken(x))
    monkeypatch.setattr(targets, "consumer_for", lambda *_: counted)
    library = types.ModuleType("dpnp")  # for which no decision is kept
    library.from_dlpack = dpnp.from_dlpack
    result = sx.exchange(x, library)
    assert len(called) == is_described
    for attribute in ("shape", "strides", "dtype", "usm_type", "sycl_queue"):
        assert getattr(result, attribute) == getattr(plain, attribute), attribute
    assert result.flags.writable == plain.flags.writable
    assert dpnp.asnumpy(result).tolist() == dpnp.asnumpy(plain).tolist()


def test_dpnp_without_direct_construction_is_supported(monkeypatch):
    monkeypatch.delattr(dpnp.ndarray, "_create_from_usm_ndarray")
    assert consumers.dpnp_by_usm_interface(dpnp.from_dlpack) is None
