# SPDX-License-Identifier: Apache-2.0
"""Exports: capsules, every field in them, and every answer to ``__dlpack__``'s keywords."""

import functools
import inspect

import dpctl
import numpy as np
import pytest

import samples
import sycl_ext as sx
from dlpack_conformance.structs import IS_COPIED, READ_ONLY, capsule_name
from needs import needs
from producers import check_export, read
from samples import LAYOUTS, bits, values

VERSIONED = {"max_version": (1, 0)}
HOST = {"dl_device": (1, 0), **VERSIONED}


def content(capsule):
    """The bytes behind a capsule, as this package reads it."""
    return bits(sx.from_dlpack(capsule).to_numpy())


# ---- the contract --------------------------------------------------------------------------------


def test_contract(usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, _ = layout.tensor(dtype, usm_type)
            check_export(tensor)
            check_export(tensor.as_readonly())


def test_contract_of_host_views(usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, array = layout.tensor(dtype, usm_type)
            for source in (tensor, tensor.as_readonly(), array):
                check_export(sx.host_view(source))


@needs("device_copies")
@pytest.mark.parametrize("properties", [[], ["in_order"]])
def test_export_for_a_queue_runs_no_python_of_ours(usm_type, properties):
    """As one without a queue: consumers pass theirs in each exchange."""
    tensor = sx.zeros(3, "int32", usm_type=usm_type)
    queue = dpctl.SyclQueue(tensor.sycl_queue.sycl_device, property=properties)
    for stream in (None, queue, tensor.sycl_queue):
        export = functools.partial(tensor.__dlpack__, stream=stream, **VERSIONED)
        export()  # the first use of a device asks Python for its queue
        assert samples.frames_of_ours(export) == []
        assert content(export()) == bits(np.zeros(3, "int32"))


@pytest.mark.parametrize("stream", [dpctl.SyclQueue().sycl_device, "queue"])
def test_stream_that_is_no_queue_is_refused(stream):
    with pytest.raises(TypeError, match="not a SYCL queue"):
        sx.zeros(3).__dlpack__(stream=stream)


def test_host_view_refuses_a_queue():
    view = sx.host_view(sx.zeros(3, usm_type="shared"))
    with pytest.raises(BufferError, match="requires stream=None"):
        view.__dlpack__(stream=dpctl.SyclQueue())


def test_signature():
    with pytest.raises(TypeError, match="takes at most 0 positional"):
        sx.zeros(3).__dlpack__(None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'strem'"):
        sx.zeros(3).__dlpack__(strem=None)
    parameters = inspect.signature(sx.Tensor.__dlpack__).parameters
    assert list(parameters) == ["self", "stream", "max_version", "dl_device", "copy"]
    with pytest.raises(TypeError):
        sx.zeros(3).__dlpack_device__(1)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 99), "dltensor_versioned"),
        ((2, 0), "dltensor_versioned"),
        ((10**30, 0), "dltensor_versioned"),
        ([1, 0], "dltensor_versioned"),
        (np.array([1, 0]), "dltensor_versioned"),
    ],
)
def test_versions(version, name):
    assert capsule_name(sx.zeros(3).__dlpack__(max_version=version)) == name


@pytest.mark.parametrize("version", [(1,), (1, 0, 0), 1, "1.0", (None, 0), True])
def test_invalid_max_version_is_refused(version):
    with pytest.raises(TypeError, match="max_version"):
        sx.zeros(3).__dlpack__(max_version=version)


# ---- the export table (R1) -----------------------------------------------------------------------


@needs("system_usm")
def test_system_memory():
    array = values((2, 3))
    tensor = sx.from_dlpack(array)
    assert tensor.usm_type == "system"
    assert tensor.__dlpack_device__() == (14, 0)
    for device in (None, (14, 0)):
        for copy in (None, True):
            capsule = tensor.__dlpack__(dl_device=device, copy=copy, **VERSIONED)
            assert read(capsule)[:2] == ((14, 0), IS_COPIED)
            taken = sx.from_dlpack(capsule)
            assert taken.usm_type in samples.USM_TYPES
            assert bits(taken.to_numpy()) == bits(array)
        with pytest.raises(BufferError, match="copy=False"):
            tensor.__dlpack__(dl_device=device, copy=False, **VERSIONED)
    assert read(tensor.__dlpack__(**HOST)) == ((1, 0), 0, tensor.ptr)


def test_negative_strides_are_copied_for_the_host():
    """torch 2.13 ends the process when it meets one."""
    tensor = sx.empty((3, 4), "int32", usm_type="shared").copy_from(values((3, 4), "int32"))
    capsule = tensor[::-1].__dlpack__(**HOST)
    assert read(capsule)[:2] == ((1, 0), IS_COPIED)
    assert content(capsule) == bits(values((3, 4), "int32")[::-1])
    with pytest.raises(BufferError, match="negative stride"):
        tensor[::-1].__dlpack__(copy=False, **HOST)
    assert read(tensor[:1][::-1].__dlpack__(copy=False, **HOST))[2] == tensor.ptr


@pytest.mark.parametrize(
    "device", [(14, 1_000_000), (14, -1), (2, 0), (0, 0), (13, 0), (14, 2**40)]
)
@pytest.mark.parametrize("copy", [None, True, False])
def test_unknown_dl_device_is_refused(device, copy):
    for tensor in (sx.zeros(3), sx.host_view(np.zeros(3))):
        with pytest.raises(BufferError, match=rf"\({device[0]}, {device[1]}\)"):
            tensor.__dlpack__(dl_device=device, copy=copy, **VERSIONED)


@pytest.mark.parametrize("device", [14, "cpu", (14,), (14, 0, 0), ("a", "b"), (None, 0)])
def test_malformed_dl_device_is_refused(device):
    with pytest.raises(TypeError, match="pair"):
        sx.zeros(3).__dlpack__(dl_device=device, **VERSIONED)


@needs("device_copies")
def test_export_under_a_usm_device_is_usm(private, halves):
    """A third-party consumer takes memory under (14, id) for USM of that entry, and so may we."""
    array = values((2, 3))
    sources = [
        sx.zeros((2, 3), device=where).copy_from(array) for where in (None, private, *halves)
    ] + [sx.from_dlpack(array), sx.host_view(array), sx.host_view(sx.from_dlpack(array).copy())]
    for source in sources:
        for entry in (
            candidate for candidate in sx.devices() if candidate.root_id == sx.device().id
        ):
            for copy in (None, True):
                capsule = source.__dlpack__(dl_device=(14, entry.id), copy=copy, **VERSIONED)
                taken = sx.from_dlpack(capsule)
                # memory of a tile is its own, also as a view under the id of its card
                is_tile = taken.device in halves and taken.ptr == source.ptr
                assert taken.device is entry or (is_tile and entry.kind == "root")
                assert taken.usm_type in samples.USM_TYPES
                assert bits(taken.to_numpy()) == bits(array)


# ---- read-only -----------------------------------------------------------------------------------


@needs("device_copies")
def test_read_only_memory():
    tensor = sx.zeros(3, usm_type="shared").as_readonly()
    for asked in (VERSIONED, HOST, {**VERSIONED, "copy": False}):
        assert read(tensor.__dlpack__(**asked))[1] == READ_ONLY
    for asked in ({}, {"max_version": (0, 8)}, {"dl_device": (1, 0)}, {"copy": False}):
        with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\).*copy=True"):
            tensor.__dlpack__(**asked)


# ---- deleters ------------------------------------------------------------------------------------


def test_live_exports():
    live = sx.memory.live_exports()
    tensor = sx.zeros(3)
    view = sx.host_view(tensor)
    capsules = [tensor.__dlpack__(**VERSIONED), tensor.__dlpack__(), tensor.__dlpack__(**HOST)]
    assert sx.memory.live_exports() == live + 3
    arrays = [np.from_dlpack(view), np.from_dlpack(view)]
    assert sx.memory.live_exports() == live + 5
    del capsules[1], tensor, view
    assert sx.memory.live_exports() == live + 4
    arrays.pop()
    assert sx.memory.live_exports() == live + 3
    del capsules, arrays
    assert sx.memory.live_exports() == live
