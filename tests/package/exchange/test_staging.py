# SPDX-License-Identifier: Apache-2.0
"""`staged`, and requests of MPI.  Of a GPU: ``environments/stand_in_gpu``."""

import signal
from unittest.mock import Mock

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from samples import LAYOUTS, USM_TYPES, assert_equal, bits
from sycl_ext import _core
from sycl_ext._exchange import staging

#: The host reaches the device USM of some devices.
REACHED = [usm_type for usm_type in USM_TYPES if sx.device().host_accessible(usm_type)]


@pytest.mark.parametrize("layout", ["C", "0-d", "size 0"])
@pytest.mark.parametrize("mode", ["r", "w", "rw"])
@pytest.mark.parametrize("usm_type", REACHED)
def test_memory_that_the_host_reaches_stands_for_itself(mode, layout, usm_type):
    tensor, array = LAYOUTS[layout].tensor("float32", usm_type)
    with sx.staged(tensor, mode) as memory:
        assert not memory.is_copy
        assert memory.ptr == tensor.ptr
        assert memory.readonly == (mode == "r")
        assert bits(np.from_dlpack(memory)) == bits(array)


@needs("device_copies")
@pytest.mark.parametrize("direct", [None, False, True])
@pytest.mark.parametrize("usm_type", USM_TYPES)
def test_elements_are_in_c_order_whatever_the_device_and_the_strides(usm_type, direct):
    tensor, array = LAYOUTS["F"].tensor("int32", usm_type)
    with sx.staged(tensor, direct=direct) as memory:
        assert memoryview(memory).tobytes() == array.tobytes("C")
        np.from_dlpack(memory)[...] += 1
    assert_equal(tensor, array + 1)


@needs("device_copies")
@pytest.mark.parametrize("layout", ["sliced", "F"])
def test_memory_with_gaps_is_staged(layout):
    tensor, array = LAYOUTS[layout].tensor("int32")
    with sx.staged(tensor) as memory:
        assert memory.c_contiguous
        host = np.from_dlpack(memory)
        assert bits(host) == bits(array)
        host += 1
        assert_equal(tensor, array)
    assert_equal(tensor, array + 1)


@needs("device_copies")
def test_staged_memory_for_reading_is_not_written_back():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(tensor, "r") as memory:
        assert memory.readonly
    assert_equal(tensor, array)


@needs("device_copies")
def test_exception_leaves_the_tensor_as_it_was():
    tensor, array = LAYOUTS["sliced"].tensor("int32")

    def fails():
        with sx.staged(tensor) as memory:
            np.from_dlpack(memory)[:] = 0
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert_equal(tensor, array)


@needs("device_copies")
def test_read_only_memory():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(tensor.as_readonly(), "r") as memory:
        assert bits(memory.__array__()) == bits(array)
    for mode in ("w", "rw"):
        with pytest.raises(BufferError, match="stage it with mode 'r'"):
            sx.staged(tensor.as_readonly(), mode).__enter__()
    with pytest.raises(ValueError, match="mode is 'x'"):
        sx.staged(tensor, "x").__enter__()


READONLY = np.zeros((4, 3), "int32")
READONLY.flags.writeable = False
UNFIT = {
    "read-only": (READONLY, "readonly=True"),
    "reversed": (np.zeros((4, 3), "int32")[::-1], r"strides \(-3, 1\)"),
}


@needs("device_copies")
@pytest.mark.parametrize("mode", ["r", "w", "rw"])
@pytest.mark.parametrize("name", UNFIT)
def test_memory_that_cannot_stand_in_for_the_tensor_is_refused(name, mode):
    tensor, (memory, found) = sx.full((4, 3), 7, "int32"), UNFIT[name]
    with pytest.raises(BufferError, match=rf"memory is .*{found}.*; it must be writable, without"):
        sx.staged(tensor, mode, memory=memory).__enter__()
    assert not memory.any()
    assert tensor.tolist() == [[7] * 3] * 4


@pytest.mark.parametrize("mode", ["r", "w", "rw"])
def test_memory_whose_elements_overlap_is_refused(mode):
    memory = np.lib.stride_tricks.as_strided(np.zeros(6, "int32"), (4, 3), (4, 4))
    with pytest.raises(BufferError, match="memory is .*its elements may overlap"):
        sx.staged(sx.full((4, 3), 7, "int32"), mode, memory=memory).__enter__()
    assert not memory.any()


@needs("device_copies")
def test_memory_that_stands_in_for_the_tensor_keeps_its_strides():
    tensor, memory = sx.full((4, 3), 7, "int32"), np.zeros((3, 4), "int32")
    with sx.staged(tensor, memory=memory.T) as staged:
        assert (memory == 7).all()
        np.from_dlpack(staged)[0] = 1
    assert memory.T.tolist()[0] == tensor.tolist()[0] == [1] * 3


@pytest.mark.parametrize(
    "array", [sx.zeros(3, usm_type="shared"), np.zeros(3)], ids=["USM", "host"]
)
def test_host_view_needs_no_staging(array):
    view = sx.host_view(array)
    with pytest.raises(TypeError, match="already host memory; use it directly"):
        sx.staged(view).__enter__()
    with pytest.raises(TypeError, match="already host memory; use it directly"):
        sx.mpi.staged_request(view, "r", lambda memory: None)
    with pytest.raises(
        TypeError, match=r"an object of type ndarray is not a Tensor; pass as_tensor"
    ):
        sx.staged(np.zeros(3)).__enter__()


@needs("device_copies")
def test_library_that_handles_device_memory_gets_the_tensor():
    tensor, _ = LAYOUTS["C"].tensor("float32")
    with sx.staged(tensor, "r", direct=True) as memory:
        assert type(memory) is sx.Tensor
        assert (memory.ptr, memory.readonly) == (tensor.ptr, True)
    sliced, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(sliced, direct=True) as memory:  # MPI takes no gaps
        assert type(memory) is sx.HostView
        assert bits(np.from_dlpack(memory)) == bits(array)


def test_library_that_mistakes_pinned_memory_gets_plain_memory():
    tensor, array = LAYOUTS["C"].tensor("float32", "host")
    with sx.staged(tensor, direct=False) as memory:
        assert memory.ptr != tensor.ptr
        assert _core.as_usm(memory).entry_id is None
        np.from_dlpack(memory)[:] += 1
    assert_equal(tensor, array + 1)


# ---- requests; with MPI: ``programs/processes/mpi_requests.py`` ------------------------


class Request:
    """Of an MPI that is done when the test says so."""

    def __init__(self, memory):
        self.memory, self.done = memory, False

    def Test(self):  # noqa: N802
        return self.done

    def Wait(self):  # noqa: N802
        if not self.done:
            raise RuntimeError("a message was too long")
        return True


@needs("device_copies")
def test_wait_that_returns_nothing():
    """That it returns says that the request is done."""

    class ReturnsNothing(Request):
        def Wait(self):  # noqa: N802
            np.asarray(self.memory)[:] = 5

    tensor = sx.zeros(4, "int32")
    request = sx.mpi.staged_request(tensor, "w", ReturnsNothing, direct=False)
    request.wait()
    assert tensor.tolist() == [5] * 4
    assert request.test()


@needs("device_copies")
def test_request_is_copied_back_when_it_is_done():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    request = sx.mpi.staged_request(tensor, "w", Request)
    np.asarray(request.request.memory)[:] = array + 1
    assert not request.test()
    assert_equal(tensor, array)
    request.request.done = True
    assert request.test()
    assert_equal(tensor, array + 1)
    tensor.copy_from(array)
    request.wait()  # not once more
    assert request.test()
    assert_equal(tensor, array)


@needs("device_copies")
def test_failed_request_is_given_up():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    request = sx.mpi.staged_request(tensor, "w", Request)
    np.asarray(request.request.memory)[:] = 0
    with pytest.raises(RuntimeError, match="too long"):
        request.wait()
    assert request.test()
    assert_equal(tensor, array)


@needs("device_copies")
@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
def test_signal_during_a_wait_loses_no_data(raised):
    """Python runs the handler when ``Wait`` has returned, and the request is done."""
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    request = sx.mpi.staged_request(tensor, "w", Request)
    np.asarray(request.request.memory)[:] = array + 1

    def interrupted():
        request.request.done = True
        del request.request.Wait
        raise raised

    request.request.Wait = interrupted
    with pytest.raises(raised):
        request.wait()
    request.wait()
    assert_equal(tensor, array + 1)


@needs("device_copies")
def test_request_that_is_never_made_keeps_no_memory():
    tensor, _ = LAYOUTS["sliced"].tensor("int32")
    with pytest.raises(ValueError, match="of MPI"):
        sx.mpi.staged_request(tensor, "r", Mock(side_effect=ValueError("of MPI")))
    with pytest.raises(KeyboardInterrupt):  # MPI may have started, and write to the memory
        sx.mpi.staged_request(tensor, "r", Mock(side_effect=KeyboardInterrupt))
    assert [staging.pending_requests.pop()._memory.shape, *staging.pending_requests] == [
        tensor.shape
    ]

    with pytest.raises(TypeError, match="start returned None; it must return the request"):
        sx.mpi.staged_request(tensor, "r", lambda memory: None)  # which MPI may use from now on
    assert staging.pending_requests.pop()._memory.shape == tensor.shape

    def late(_number, _frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    with pytest.raises(TimeoutError):
        sx.mpi.staged_request(tensor, "r", lambda _: signal.raise_signal(signal.SIGALRM))
    signal.signal(signal.SIGALRM, before)
    assert [staging.pending_requests.pop()._memory.shape, *staging.pending_requests] == [
        tensor.shape
    ]
    with pytest.raises(BufferError, match="stage it with mode 'r'"):
        sx.mpi.staged_request(tensor.as_readonly(), "w", Request)
