# SPDX-License-Identifier: Apache-2.0
"""The C exchange table of DLPack 1.3, as C sees it: ours, and a producer's.

tvm_ffi and torch use it in ``interop/``; here is what they do not do.
"""

import ctypes

import pytest

import sycl_ext as sx
from dlpack_conformance.structs import (
    IS_COPIED,
    ONE_API,
    DLDataType,
    DLDevice,
    DLTensor,
    SetError,
    exchange_api,
)
from extensions import labs
from needs import needs
from producers import Producer, Table, over, with_table
from samples import values

TENSORS = sx.Tensor.__dlpack_c_exchange_api__
ours = exchange_api(sx.Tensor)


def to_object(address):
    """The object that our table makes of a managed tensor."""
    out = ctypes.c_void_p()
    assert ours.to_object(address, ctypes.byref(out)) == 0
    made = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    return made


# ---- ours ----------------------------------------------------------------------------------------


def test_failed_allocation_without_set_error_returns():
    out = ctypes.c_void_p(1)
    nobody = ctypes.cast(None, SetError)
    wanted = DLTensor(None, DLDevice(2, 0), 0, DLDataType(2, 32, 1))
    assert ours.allocate(ctypes.byref(wanted), ctypes.byref(out), None, nobody) == -1
    assert out.value is None


def test_refused_struct_is_deleted_once(root):
    managed = over(values(3), ndim=-1)
    with pytest.raises(BufferError, match="ndim is -1"):
        to_object(managed.address)
    assert managed.deleted == 1


@needs("system_usm")
def test_table_refuses_what_it_cannot_hand_out(private):
    out = ctypes.c_void_p()
    for tensor in (sx.zeros(3, device=private)[::-1], sx.as_tensor(values(3))[::-1]):
        with pytest.raises(BufferError, match="not bound to the default context"):
            ours.from_object(tensor, ctypes.byref(out))
    with pytest.raises(
        TypeError, match="a sycl_ext tensor is required, not an object of type list"
    ):
        ours.from_object([], ctypes.byref(out))
    with pytest.raises(BufferError, match="read-only"):
        ours.borrow(sx.zeros(3).as_readonly(), ctypes.byref(DLTensor()))
    assert out.value is None


def test_device_stream_is_its_queue(root):
    stream = ctypes.c_void_p()
    assert ours.stream(ONE_API, root.id, ctypes.byref(stream)) == 0
    assert sx.zeros(3).__dlpack__(stream=stream.value)
    assert ours.stream(1, 0, ctypes.byref(stream)) == 0
    assert stream.value is None
    with pytest.raises(ValueError, match="there is no device 999"):
        ours.stream(ONE_API, 999, ctypes.byref(stream))


# ---- a producer's --------------------------------------------------------------------------------


def test_table_is_taken_before_the_method(root):
    table = Table(stream=sx.zeros(1).sycl_queue.addressof_ref())
    made = with_table(table)(sx.zeros(3))
    assert sx.from_dlpack(made).shape == (3,)
    assert (len(table.made), made.calls) == (1, [])
    assert table.made[0].deleted == 1


def test_tables_of_other_versions():
    """The one before is taken when it can be read; a chain that comes back to itself has none."""
    old, circle = Table(), Table(major=2)
    circle.struct.previous = ctypes.addressof(circle.struct)
    for table, calls in ((Table(major=2, previous=old), 0), (Table(major=2), 1), (circle, 1)):
        made = with_table(table)(values(3))
        assert (sx.from_dlpack(made).shape, len(made.calls)) == ((3,), calls)
    assert len(old.made) == 1


@pytest.mark.parametrize("wrong", [{"fails": True}, {"stream_fails": True}, {}])
def test_failing_table_falls_back_to_the_method(wrong):
    """The method does it: a view that nothing orders behind earlier work is read too early."""
    table = Table(**wrong)
    made = with_table(table)(sx.zeros(3))
    assert sx.from_dlpack(made).shape == (3,)
    assert [call["stream"] is None for call in made.calls] == [False]
    assert [managed.deleted for managed in table.made] == [1] * len(table.made)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["from_object", "stream"])
def test_table_that_leaves_an_exception_has_failed(name, error):
    """It has failed, whatever it returned."""
    stream = sx.zeros(1).sycl_queue.addressof_ref()
    table, kept = Table(stream=stream), Table(stream=stream)
    lab = ctypes.CDLL(labs.load("allocator_lab").__file__)
    ctypes.c_void_p.in_dll(lab, "exception").value = id(error)
    ctypes.c_void_p.in_dll(lab, "kept").value = ctypes.addressof(kept.struct)
    setattr(table.struct, name, type(getattr(ours, name))((f"leaving_{name}", lab)))
    made = with_table(table)(sx.zeros(3))
    if error is ValueError:
        assert sx.from_dlpack(made).shape == (3,)
    else:
        with pytest.raises(error):
            sx.from_dlpack(made)
    (managed,) = table.made + kept.made
    assert (len(made.calls), managed.deleted) == (error is ValueError, 1)


@pytest.mark.parametrize("module", ["of_anybody", "jaxlib.of_immutable_arrays"])
def test_copying_table_falls_back_to_the_method_with_copy_false(module):
    """It has no way to be told copy=False; the method has."""
    table = Table()
    cls = with_table(table)
    cls.__module__ = module
    made = cls(values(3), flags=IS_COPIED)
    with pytest.raises(
        sx.CopyRefusedError, match="WithTable can only be exported as a copy; pass copy=None"
    ):
        sx.from_dlpack(made, copy=False)
    assert [call["copy"] for call in made.calls] == [False]
    assert (table.made[0].deleted, made.deleted) == (1, [1])
    assert sx.from_dlpack(made).shape == (3,)
    assert len(made.calls) == 1


@pytest.mark.parametrize("name", ["requires_grad", "is_conj"])
def test_recursion_is_no_answer(name):
    """Another question at every level, and an endless recursion would not end."""
    calls = []

    def again(made, *_, **__):
        calls.append(made)
        return sx.from_dlpack(made)

    cls = with_table(Table())
    cls.__dlpack__ = again
    setattr(cls, name, property(again) if name == "requires_grad" else again)
    with pytest.raises(RecursionError):
        sx.from_dlpack(cls(values(3)))
    assert len(calls) < 10_000


def test_table_of_another_type_is_not_used():
    """The table of this package raises for an object that is not its tensor."""
    made = type("Thief", (Producer,), {"__dlpack_c_exchange_api__": TENSORS})(values(3))
    assert sx.from_dlpack(made).shape == (3,)
    assert len(made.calls) == 1


def test_own_method_is_taken_before_an_inherited_table():
    table = Table()

    class Own(with_table(table)):
        def __dlpack__(self, **keywords):
            return Producer.__dlpack__(self, **keywords)

    made = Own(values(3))
    assert sx.from_dlpack(made).shape == (3,)
    assert (table.made, len(made.calls)) == ([], 1)


def test_table_stream_that_is_no_queue_is_refused():
    nothing = ctypes.create_string_buffer(64)
    table = Table(stream=ctypes.addressof(nothing))
    with pytest.raises(ValueError, match="there is no sycl::queue"):
        sx.from_dlpack(with_table(table)(sx.zeros(3)))
    assert table.made[0].deleted == 1
