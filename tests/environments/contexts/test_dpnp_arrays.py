# SPDX-License-Identifier: Apache-2.0
"""dpnp arrays on tiles and in private contexts: dpnp by itself, and dpnp with this package."""

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from producers import over

VALUES = np.arange(6, dtype="float32")
SOURCES = pytest.mark.parametrize("source", ["root", "sub-device", "private"])


def dpnp_on(device):
    return dpnp.asarray(VALUES, sycl_queue=device.sycl_queue)


def pointer(array):
    return array.__sycl_usm_array_interface__["data"][0]


def read(array):
    return dpnp.asnumpy(array).tolist()


# ---- dpnp by itself ------------------------------------------------------------------------------


def as_dpnp_users_do(places, source):
    """An array on a queue that dpctl makes: on a tile, that queue has a context of its own."""
    device, context = places.sources[source].sycl_device, places.private.sycl_context
    arguments = (device,) if source == "sub-device" else (context, device)
    return dpnp.asarray(VALUES, sycl_queue=dpctl.SyclQueue(*arguments))


@SOURCES
@pytest.mark.parametrize("properties", [[], ["in_order"]])
def test_imported_dpnp_array_keeps_its_queue(places, source, properties):
    """Level Zero has tiles in the default context, and dpnp names their card in its capsules."""
    device = places.sources[source]
    queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property=properties)
    tensor = sx.as_tensor(dpnp.tensor.empty(6, sycl_queue=queue))
    assert (tensor.device, tensor.sycl_queue) == (device, queue)


@pytest.mark.parametrize("source", ["sub-device", "private"])
def test_dpnp_takes_our_tensor_as_its_own_array(places, source):
    array = as_dpnp_users_do(places, source)
    tensor = sx.as_tensor(array)
    assert tensor.ptr == pointer(array)
    assert tensor.sycl_context == array.sycl_context
    for take in (lambda: dpnp.from_dlpack(tensor), lambda: sx.exchange(array, dpnp)):
        with places.to_the_default_context(source):
            again = take()
            assert again.sycl_device == places.root.sycl_device
            assert again.sycl_context == places.root.sycl_context
            assert read(again) == VALUES.tolist()
    assert np.from_dlpack(sx.host_view(array)).tolist() == VALUES.tolist()


# ---- dpnp to us ----------------------------------------------------------------------------------


@SOURCES
@pytest.mark.parametrize("way", [sx.as_tensor, sx.from_dlpack])
@pytest.mark.parametrize("arguments", [{}, {"copy": False}, {"device": "same", "copy": False}])
def test_dpnp_array_comes_in_as_a_view(places, source, way, arguments):
    device = places.sources[source]
    array = dpnp_on(device)
    if "device" in arguments:
        arguments = {**arguments, "device": device}
    tensor = way(array, **arguments)
    assert tensor.ptr == pointer(array)
    assert tensor.device is device
    assert tensor.sycl_context == array.sycl_context
    assert tensor.to_numpy().tolist() == VALUES.tolist()
    tensor.copy_from(VALUES + 1)
    assert read(array) == (VALUES + 1).tolist()


def test_rows_are_registered_on_the_way(places):
    """A queue of dpctl's own on a tile has a context of its own; nobody has to register it."""
    sub_device = places.tile.sycl_device
    array = dpnp.asarray(VALUES, sycl_queue=dpctl.SyclQueue(sub_device))
    count = len(sx.devices())
    tensor = sx.from_dlpack(array)
    assert len(sx.devices()) == count + 1
    assert tensor.device is sx.devices()[-1]
    assert tensor.device.kind == "context"
    assert tensor.device.parent is places.tile
    assert tensor.device.root_id == places.root.id
    assert tensor.device.sycl_context == array.sycl_context
    assert sx.as_tensor(array).device is tensor.device
    assert len(sx.devices()) == count + 1


# ---- us to dpnp ----------------------------------------------------------------------------------


@SOURCES
def test_dpnp_takes_a_tensor(places, source):
    tensor = sx.empty(6, device=places.sources[source]).copy_from(VALUES)
    with places.to_the_default_context(source) as refused:
        array = dpnp.from_dlpack(tensor)
    if refused:
        return
    shareable = source == "root" or (
        source == "sub-device" and places.tiles_use_the_default_context
    )
    assert (pointer(array) == tensor.ptr) == shareable
    # A view of a tile's memory runs where the tile is.
    assert array.sycl_device in (places.root.sycl_device, places.sources[source].sycl_device)
    assert array.sycl_context.get_devices() == places.root.sycl_context.get_devices()
    assert read(array) == VALUES.tolist()


@SOURCES
def test_dpnp_takes_a_tensor_where_it_is(places, source):
    """By the other protocol, dpnp computes on the tile and in the context of the tensor."""
    tensor = sx.empty(6, device=places.sources[source]).copy_from(VALUES)
    array = dpnp.asarray(tensor)
    assert array.sycl_context == tensor.sycl_context
    assert array.sycl_device == tensor.device.sycl_device
    assert read(array) == VALUES.tolist()


# ---- whose pointer is it -------------------------------------------------------------------------


def test_memory_of_a_private_context_under_a_root_id(places):
    """OpenCL tells, and the error names both contexts and the way out.  Level Zero cannot tell."""
    tensor = sx.empty(6, usm_type="shared", device=places.private).copy_from(VALUES)
    managed = over(tensor, device=(14, places.root.id))
    if places.tiles_use_the_default_context:  # Level Zero: only the producer knows it
        assert sx.from_dlpack(managed.capsule()).device is places.root
        return
    with pytest.raises(BufferError) as caught:
        sx.from_dlpack(managed.capsule())
    assert managed.deleted == 1
    message = str(caught.value)
    assert f"not USM of the default context of device (14, {places.root.id})" in message
    assert f"'shared' USM of the private context of device (14, {places.private.id})" in message
    assert "__sycl_usm_array_interface__" in message


def test_memory_of_the_root_under_a_private_context(places):
    tensor = sx.empty(6, usm_type="shared", device=places.root).copy_from(VALUES)
    described = dict(tensor.__sycl_usm_array_interface__, syclobj=places.private.sycl_context)

    class Confused:
        __sycl_usm_array_interface__ = described

    if places.tiles_use_the_default_context:
        assert sx.as_tensor(Confused()).device is places.private
        return
    with pytest.raises(BufferError) as caught:
        sx.as_tensor(Confused())
    message = str(caught.value)
    assert f"private context of device (14, {places.private.id})" in message
    assert f"default context of device (14, {places.root.id})" in message
