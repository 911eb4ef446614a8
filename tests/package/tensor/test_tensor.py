# SPDX-License-Identifier: Apache-2.0
"""`Tensor`: making it, looking at it, viewing it and copying it."""

import inspect
import weakref

import dpctl
import numpy as np
import pytest

import samples
import sycl_ext as sx
from producers import check_export
from samples import LAYOUTS, assert_equal, numbered, values

# ---- making --------------------------------------------------------------------------------------


def test_empty(usm_type):
    tensor = sx.empty((2, 3), "float64", usm_type=usm_type)
    assert tensor.shape == (2, 3)
    assert tensor.strides == (3, 1)
    assert tensor.dtype == np.dtype("float64")
    assert (tensor.ndim, tensor.size, tensor.itemsize, tensor.nbytes) == (2, 6, 8, 48)
    assert tensor.usm_type == usm_type
    assert tensor.device is sx.device()
    assert tensor.ptr != 0
    assert not tensor.readonly
    assert tensor.base is None
    assert tensor[1:].base is tensor[1:][:, 1:].base is tensor
    check_export(tensor)


def test_defaults():
    tensor = sx.empty(3)
    assert (tensor.dtype, tensor.usm_type, tensor.strides) == ("float32", "device", (1,))
    assert sx.empty(3, None).dtype == sx.zeros(3, dtype=None).dtype == "float32"


class DLPackDType:
    """A dtype object of a library that NumPy does not know."""

    def __init__(self, *described):
        self.described = described

    def __dlpack_data_type__(self):
        return self.described


def test_dtype_described_in_dlpack_is_taken():
    for described, name in {
        (2, 16, 1): "float16",
        (0, 64, 1): "int64",
        (4, 16, 1): "bfloat16",
        (6, 8, 1): "bool",
        (5, 128, 1): "complex128",
        (np.uint8(1), 8, 1): "uint8",
    }.items():
        assert sx.zeros(3, DLPackDType(*described)).dtype_name == name
        assert sx.empty_like(np.zeros(2), DLPackDType(*described)).dtype_name == name
    for described in ((2, 16, 4), (2, 80, 1), (99, 8, 1), (-1, 8, 1), (0, 1, 1), (2**40, 8, 1)):
        with pytest.raises(ValueError, match=rf"code {described[0]}, .*not supported"):
            sx.zeros(3, DLPackDType(*described))
    for described in ((), (2, 16), ("f", 2, 1), (2, 16, 1, 1)):
        with pytest.raises(TypeError, match="must be three integers: code, bits, lanes"):
            sx.zeros(3, DLPackDType(*described))
    with pytest.raises(ValueError, match="dtype object is not supported"):
        sx.zeros(3, DLPackDType)  # the class


def test_tensor_attributes_are_read_only():
    tensor = sx.empty((2, 3))
    members = {name: inspect.getattr_static(sx.Tensor, name) for name in dir(sx.Tensor)}
    names = {name for name, member in members.items() if inspect.isdatadescriptor(member)}
    assert {"shape", "ptr", "readonly", "device", "base", "T"} <= names
    for name in names - {"__class__"}:
        before = getattr(tensor, name)
        with pytest.raises(AttributeError) as caught:
            setattr(tensor, name, None)
        assert "TensorBase" not in str(caught.value)
        assert before is None or getattr(tensor, name) is not None, name
    with pytest.raises(AttributeError, match=r"shape of a Tensor is not writable; reshape\(\)"):
        tensor.shape = (3, 2)
    with pytest.raises(AttributeError):
        tensor.nickname = "x"


def test_public_names_have_docstrings():
    for name in sx.__all__:
        thing = getattr(sx, name)
        if callable(thing):
            assert inspect.getdoc(thing), name
    for cls in (sx.Tensor, sx.HostView, sx.Device):
        for name in dir(cls):
            if not name.startswith("_") and hasattr(cls, name):
                assert inspect.getdoc(getattr(cls, name)), f"{cls.__name__}.{name}"


# ---- like another ---


@pytest.mark.parametrize("make", [sx.empty_like, sx.zeros_like])
def test_like_a_tensor(make, usm_type):
    queue = dpctl.SyclQueue()
    tensor = sx.empty((2, 3), "int16", usm_type=usm_type, device=queue)
    for x in (tensor, tensor.as_readonly(), tensor.T.T):
        like = make(x)
        assert (like.shape, like.dtype, like.usm_type) == ((2, 3), np.dtype("int16"), usm_type)
        assert like.device is tensor.device
        assert like.sycl_queue == queue
        assert not like.readonly
        assert like.ptr != tensor.ptr
    assert make(tensor.T).strides == (2, 1)
    assert make(tensor, order="F").strides == (1, 2)
    other = make(tensor, "float64", usm_type="host")
    assert (other.dtype_name, other.usm_type) == ("float64", "host")
    assert make(tensor, device=0).sycl_queue == sx.device(0).sycl_queue


@pytest.mark.parametrize("make", [sx.empty_like, sx.zeros_like])
def test_like_host_memory(make):
    for x in (np.ones((2, 3), "int16")[:, ::-1], sx.host_view(np.ones((2, 3), "int16"))):
        like = make(x)
        assert (like.shape, like.dtype_name, like.usm_type) == ((2, 3), "int16", "device")
        assert like.device is sx.device()
    with pytest.raises(TypeError, match="exports no memory"):
        make([1, 2])


# ---- looking -------------------------------------------------------------------------------------


def test_weak_references():
    tensor = sx.empty(3)
    view = tensor[1:]
    reference = weakref.ref(tensor)
    assert reference() is tensor
    del tensor
    assert reference() is not None
    del view
    assert reference() is None


# ---- views ---------------------------------------------------------------------------------------


def test_item_assignment_names_copy_from():
    """Writing goes through `copy_from`, or through the views of other libraries."""
    tensor = sx.zeros((2, 2), "int8")
    with pytest.raises(TypeError, match=r"does not support item assignment.*copy_from"):
        tensor[0] = 1
    tensor[0].copy_from(np.asarray(1, tensor.dtype))  # as the message says
    assert tensor.tolist() == [[1, 1], [0, 0]]


def test_reshape_is_a_view_wherever_numpys_is():
    for layout in LAYOUTS.values():
        tensor, array = layout.tensor("int8")
        for target in (
            array.shape,
            (-1,) if array.size else (0,),
            (1, *array.shape),
            (array.size, 1),
        ):
            wanted = array.reshape(target)
            result = tensor.reshape(target)
            assert_equal(result, wanted)
            if array.size:
                assert (result.ptr == tensor.ptr) == np.shares_memory(wanted, array)


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_copy(name, order, usm_type):
    tensor, array = LAYOUTS[name].tensor("int16", usm_type)
    copy = tensor.copy(order)
    assert_equal(copy, array)
    assert copy.strides == sx.empty(array.shape, order=order).strides
    assert (copy.usm_type, copy.device, copy.base) == (usm_type, tensor.device, None)
    if array.size:
        assert copy.ptr != tensor.ptr
        copy.copy_from(values(array.shape, "int16", seed=2))
        assert_equal(tensor, array)


def test_copy_of_system_memory_is_usm():
    copy = sx.as_tensor(np.arange(3)).copy()
    assert copy.usm_type in samples.USM_TYPES
    assert copy.to_numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 4, 1), (1, 2, 3, 4), (0,)])
def test_copy_from_shapes_that_do_not_fit(shape):
    with pytest.raises(ValueError, match=rf"shape \({shape[0]}.*\(2, 3, 4\)"):
        sx.zeros((2, 3, 4)).copy_from(np.zeros(shape, "float32"))


@pytest.mark.parametrize(
    ("to", "source"),
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, -1), slice(None)),
        (slice(0, 10, 2), slice(5, 10)),
        (slice(None), slice(None)),
    ],
)
def test_copy_from_overlapping_memory(to, source, usm_type):
    tensor, array = numbered(20, usm_type=usm_type)
    array[to] = array[source].copy()
    tensor[to].copy_from(tensor[source])
    assert_equal(tensor, array)


@pytest.mark.parametrize(
    ("to", "source"),
    [
        ((), (1, slice(None, None, -1))),  # the source in the middle of the target
        ((slice(2), slice(None)), (1, slice(None, None, -1))),  # at its end
        ((slice(1, None), slice(None)), (1, slice(None, None, -1))),  # at its start
        ((slice(1, 3), slice(None)), (slice(None, None, 3), slice(None, None, -1))),  # around it
    ],
)
def test_copy_from_a_part_of_itself_that_is_repeated(to, source, usm_type):
    """The two sides are of different extent: each end of either may be the inner one."""
    tensor, array = numbered((4, 5), usm_type=usm_type)
    array[to] = array[source].copy()
    tensor[to].copy_from(tensor[source])
    assert_equal(tensor, array)
