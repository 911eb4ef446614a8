# SPDX-License-Identifier: Apache-2.0
"""`ipc.open` in the process that made the handle: a view of the block, on every backend.

A driver may refuse to open a handle of its own process, as that of CUDA does.
"""

import os
import pickle
from dataclasses import replace

import dpctl
import pytest

import sycl_ext as sx
from generated import alive
from samples import bits, values
from sycl_ext._ipc import records

NUMBERS = values((4, 6), "int32")


pytestmark = pytest.mark.usefixtures("with_ipc")


def shared_numbers(device):
    return sx.ipc.empty((4, 6), "int32", device=device).copy_from(NUMBERS)


VIEWS = {
    "all": lambda t: t,
    "rows": lambda t: t[1:3],
    "turned": lambda t: t.T[::-2, ::-1],
    "one element": lambda t: t[2, 3],
    "read-only": lambda t: t.as_readonly(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_own_handle_is_a_view_of_its_array(gpus, name):
    t = shared_numbers(gpus[1])
    array = VIEWS[name](t)
    handle = sx.ipc.handle(array)
    for arrived in (handle, pickle.loads(pickle.dumps(handle))):
        view = sx.ipc.open(arrived)
        assert (view.ptr, view.shape, view.strides) == (array.ptr, array.shape, array.strides)
        assert (view.dtype, view.usm_type, view.device) == (array.dtype, "device", gpus[1])
        assert view.readonly == array.readonly
        assert bits(view.to_numpy()) == bits(array.to_numpy())
    if not array.readonly:
        view.copy_from(view.to_numpy() + 1)
        assert bits(array.to_numpy()) == bits(VIEWS[name](NUMBERS) + 1)


def test_own_view_of_a_readonly_array_is_not_written(gpu):
    view = sx.ipc.open(sx.ipc.handle(shared_numbers(gpu).as_readonly()))
    with pytest.raises(BufferError, match="read-only"):
        view.copy_from(NUMBERS)


def test_own_view_outlives_array_and_handle(gpu):
    before = alive()
    t = shared_numbers(gpu)
    handle = sx.ipc.handle(t)
    pickled, address = pickle.dumps(handle), t.ptr
    view = sx.ipc.open(handle)
    del t, handle
    assert sx.ipc.empty((4, 6), "int32", device=gpu).ptr != address
    assert bits(view.to_numpy()) == bits(NUMBERS)
    with pytest.raises(BufferError, match="has released it|no longer shares this memory"):
        sx.ipc.open(pickle.loads(pickled))
    assert records.waiting() == 0  # the view is in this process
    del view
    assert alive() == before


def test_own_view_sees_pending_work_of_the_array(gpu, hold):
    """It is the same block: readers of one wait for what a queue writes to the other."""
    t = shared_numbers(gpu)
    view = sx.ipc.open(sx.ipc.handle(t))
    with hold() as held:
        source = sx.zeros((4, 6), "int32", usm_type="host", device=gpu)
        t.copy_from(source, wait=False)
        held.release()
    assert not view.to_numpy().any()


def test_own_bytes_are_a_view_as_well(gpus):
    t = shared_numbers(gpus[0])
    handle = sx.ipc.handle(t[1:])
    data = handle.to_bytes()
    view = sx.ipc.open(data, device=gpus[0], shape=(3, 6), dtype="int32")
    assert (view.ptr, view.readonly) == (t[1:].ptr, False)
    whole = sx.ipc.open(data, device=gpus[0], shape=72)
    assert whole.ptr == view.ptr
    assert bits(whole.to_numpy().view("int32").reshape(3, 6)) == bits(NUMBERS[1:])
    with pytest.raises(BufferError, match="cannot be opened on"):
        sx.ipc.open(data, device=gpus[1], shape=72)
    with pytest.raises(BufferError, match="were requested"):
        sx.ipc.open(data, device=gpus[0], shape=1 << 40)
    readonly = sx.ipc.handle(t[2:].as_readonly())
    assert sx.ipc.open(readonly.to_bytes(), device=gpus[0], shape=12).readonly


def test_own_handle_of_a_private_context(gpu):
    private = sx.register_context(dpctl.SyclContext([gpu.sycl_device]))
    t = shared_numbers(private)
    handle = sx.ipc.handle(t)
    view = sx.ipc.open(handle, device=gpu)
    assert (view.ptr, view.device) == (t.ptr, private)
    assert sx.ipc.open(handle.to_bytes(), device=private, shape=96).ptr == t.ptr


@pytest.mark.parametrize(
    "wrong",
    [{"shape": (5, 6)}, {"_offset": 8}, {"dtype": "float64"}, {"_strides": (6, 7)}],
)
def test_own_handle_whose_fields_leave_the_array_is_refused(gpu, wrong):
    """Also where the block goes on: `ipc.empty` rounds its blocks up."""
    handle = replace(sx.ipc.handle(shared_numbers(gpu)), **wrong)
    with pytest.raises(BufferError, match="exceed the block"):
        sx.ipc.open(handle)


def test_tensor_that_was_sent_to_its_own_process_is_a_view(gpu):
    """As a queue of `multiprocessing` does that is read where it is written."""
    from multiprocessing.reduction import ForkingPickler

    sx.ipc.register_multiprocessing()
    t = shared_numbers(gpu)
    back = pickle.loads(ForkingPickler.dumps(t))
    assert back.ptr == t.ptr
    assert records.waiting() == 0


def test_child_of_a_fork_takes_no_handle_of_its_parent_for_its_own(gpu):
    """It cannot use the device, and says so instead of a view of a block that is not its own."""
    t = shared_numbers(gpu)
    data = sx.ipc.handle(t)
    kept = data.to_bytes()
    if (child := os.fork()) == 0:
        os._exit(0 if not records.own_arrays(kept) else 1)
    assert os.waitpid(child, 0)[1] == 0
