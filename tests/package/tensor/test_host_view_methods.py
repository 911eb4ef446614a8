# SPDX-License-Identifier: Apache-2.0
"""A `HostView` has the methods of a `Tensor`, except those of a SYCL device."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx

#: Members of a tensor that belong to a SYCL device.
OF_A_DEVICE = {"device", "sycl_queue", "sycl_context", "__sycl_usm_array_interface__"}


def views() -> list[tuple[Any, np.ndarray]]:
    """Host views of host memory and of USM, and what NumPy says of the same elements."""
    array = np.arange(6, dtype="int32").reshape(2, 3)
    shared = sx.zeros((2, 3), "int32", usm_type="shared").copy_from(array)
    sources = [array.copy(), shared, sx.host_view(array, copy=True)]
    return [(sx.host_view(source), array) for source in sources]


def test_host_view_has_what_a_tensor_has() -> None:
    public = {name for name in dir(sx.Tensor) if not name.startswith("_")}
    assert public - OF_A_DEVICE <= {*dir(sx.HostView)}
    special = {"__len__", "__iter__", "__getitem__", "__copy__", "__deepcopy__", "__reduce_ex__"}
    assert special <= {name for base in sx.HostView.__mro__[:-1] for name in vars(base)}


VIEWS = {
    "[1]": lambda x: x[1],
    "[::-1, 1:]": lambda x: x[::-1, 1:],
    "[None, ..., 0]": lambda x: x[None, ..., 0],
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(1, 0),
    "squeeze": lambda x: x[None].squeeze(),
    "reshape": lambda x: x.reshape(3, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_of_a_host_view_is_a_host_view(name: str) -> None:
    for view, array in views():
        seen, expected = VIEWS[name](view), VIEWS[name](array)
        assert type(seen) is sx.HostView
        assert seen.__dlpack_device__() == (1, 0)
        assert seen.tolist() == expected.tolist()
        if seen.ptr == view.ptr:
            seen.copy_from(np.int32(9))
            assert view.tolist() == np.where(True, view.to_numpy(), 0).tolist()
            assert np.all(seen.to_numpy() == 9)


def test_length_and_iteration() -> None:
    for view, array in views():
        assert len(view) == 2
        assert [row.tolist() for row in view] == array.tolist()
        with pytest.raises(TypeError, match="no length"):
            len(view[0, 0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_copy_is_host_memory_of_its_own(order: str) -> None:
    for view, array in views():
        copied = view.copy(order)
        assert type(copied) is sx.HostView
        assert copied.is_copy
        assert (copied.c_contiguous, copied.f_contiguous) == (order == "C", order == "F")
        copied[0].copy_from(np.int32(9))
        assert view.tolist() == array.tolist()
    with pytest.raises(ValueError, match="order is 'K'"):
        view.copy("K")


def test_copies_of_the_standard_library() -> None:
    for view, array in views():
        for x in (view, view.T, view.as_readonly()):
            for copied in (copy.copy(x), copy.deepcopy(x)):
                assert type(copied) is sx.HostView
                assert copied.is_copy
                assert not copied.readonly
                assert copied.tolist() == x.tolist()
                assert copied.strides == x.strides
        assert view.tolist() == array.tolist()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_is_a_host_view(protocol: int) -> None:
    for view, _ in views():
        for x in (view, view.T, view.as_readonly(), view[:0], view[0, 0]):
            again = pickle.loads(pickle.dumps(x, protocol))
            assert type(again) is sx.HostView
            assert (again.tolist(), again.readonly) == (x.tolist(), x.readonly)
            assert again.dtype == x.dtype


def test_copy_from_writes_to_the_memory() -> None:
    array = np.zeros(3, "int32")
    view = sx.host_view(array)
    view.wait()
    assert view.copy_from(sx.zeros(3, "int32").copy_from(np.ones(3, "int32"))) is view
    assert array.tolist() == [1, 1, 1]
    assert view.copy_from(np.full(3, 2, "int32"), wait=False).result() is view
    assert array.tolist() == [2, 2, 2]
    with pytest.raises(BufferError, match="read-only"):
        view.as_readonly().copy_from(array)


def test_host_view_goes_to_a_device() -> None:
    for view, array in views():
        moved = view.to_device(0, copy=True)
        assert type(moved) is sx.Tensor
        assert moved.tolist() == array.tolist()
    shared = sx.zeros(3, usm_type="shared")
    assert sx.host_view(shared).to_device(shared.device, copy=False).ptr == shared.ptr


def test_device_of_a_host_view_names_what_there_is() -> None:
    view, _ = views()[0]
    with pytest.raises(AttributeError, match="the host is not a SYCL device") as refused:
        _ = view.device
    advice = str(refused.value).partition("; ")[2].partition(" is (1, 0)")[0]
    assert eval(advice, {"x": view}) == (1, 0)
    for name in ("sycl_queue", "sycl_context", "__sycl_usm_array_interface__"):
        assert not hasattr(view, name)


def test_refused_assignment_names_calls_that_work() -> None:
    for view, _ in views():
        with pytest.raises(TypeError, match="item assignment") as refused:
            view[0] = 1
        advice = str(refused.value).partition("through the view: ")[2].partition(",")[0]
        eval(advice, {"x": view, "key": 0, "array": np.full(3, 7, "int32"), "numpy": np})
        assert view.tolist()[0] == [7, 7, 7]


# ---- to_device -----------------------------------------------------------------------------------


def test_to_device_takes_a_stream() -> None:
    tensor = sx.zeros(3)
    queue = sx.device().sycl_queue
    for stream in (None, -1, queue, queue._get_capsule(), queue.addressof_ref()):
        assert tensor.to_device(tensor.device, stream=stream).ptr == tensor.ptr
        assert tensor.to_device(tensor.device, stream=stream, copy=True).ptr != tensor.ptr
    for stream in ("queue", 1.5, [queue], True):
        with pytest.raises(TypeError, match="is not a SYCL queue"):
            tensor.to_device(tensor.device, stream=stream)


def test_to_device_has_the_signature_of_the_array_api() -> None:
    """As ``array_api_compat.to_device`` calls it."""
    tensor = sx.zeros(3)
    assert tensor.to_device(tensor.device, stream=None) is not None
    with pytest.raises(TypeError):
        tensor.to_device(0, True)
    with pytest.raises(TypeError):
        tensor.to_device(device=0)


@pytest.mark.parametrize(
    "version",
    [("1", "0"), (1, "0"), (1.0, 0), (True, 0), (1, None), (1,), (1, 0, 0), 1, "10", {1: 0}],
)
def test_wrong_max_version_is_a_type_error(version: object) -> None:
    for x in (sx.zeros(3), sx.host_view(np.zeros(3)), sx.as_tensor(np.zeros(3))):
        with pytest.raises(TypeError, match="max_version is"):
            x.__dlpack__(max_version=version)


FORMS = [None, (0, 8), (1, 0), (1, 3), (2, 0), [1, 0], np.ones(2, int)]


@pytest.mark.parametrize("version", FORMS, ids=str)
def test_max_version_in_any_form_of_two_ints(version: Any) -> None:
    assert type(sx.zeros(3).__dlpack__(max_version=version)).__name__ == "PyCapsule"
