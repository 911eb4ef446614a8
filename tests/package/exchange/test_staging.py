# SPDX-License-Identifier: Apache-2.0
"""`staged`, and requests of MPI.  Of a GPU: ``environments/stand_in_gpu``."""

import re
import signal
import subprocess
from unittest.mock import Mock

import numpy as np
import pytest

import sycl_ext as sx
from samples import LAYOUTS, USM_TYPES, assert_equal, bits
from sycl_ext._exchange import mpi, staging

#: The host reaches the device USM of some devices.
REACHED = [usm_type for usm_type in USM_TYPES if sx.device().host_accessible(usm_type)]


@pytest.mark.parametrize("layout", ["C", "F", "0-d", "size 0"])
@pytest.mark.parametrize("mode", ["r", "w", "rw"])
@pytest.mark.parametrize("usm_type", REACHED)
def test_memory_that_the_host_reaches_stands_for_itself(mode, layout, usm_type):
    tensor, array = LAYOUTS[layout].tensor("float32", usm_type)
    with sx.staged(tensor, mode) as memory:
        assert not memory.is_copy
        assert memory.ptr == tensor.ptr
        assert memory.readonly == (mode == "r")
        assert bits(np.from_dlpack(memory)) == bits(array)


def test_memory_with_gaps_is_staged():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(tensor) as memory:
        assert memory.c_contiguous
        host = np.from_dlpack(memory)
        assert bits(host) == bits(array)
        host += 1
        assert_equal(tensor, array)
    assert_equal(tensor, array + 1)


def test_staged_memory_for_reading_is_not_written_back():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(tensor, "r") as memory:
        assert memory.readonly
    assert_equal(tensor, array)


def test_exception_leaves_the_tensor_as_it_was():
    tensor, array = LAYOUTS["sliced"].tensor("int32")

    def fails():
        with sx.staged(tensor) as memory:
            np.from_dlpack(memory)[:] = 0
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert_equal(tensor, array)


def test_read_only_memory():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    with sx.staged(tensor.as_readonly(), "r") as memory:
        assert bits(memory.__array__()) == bits(array)
    for mode in ("w", "rw"):
        with pytest.raises(BufferError, match="stage it with mode 'r'"):
            sx.staged(tensor.as_readonly(), mode).__enter__()
    with pytest.raises(ValueError, match="mode is 'x'"):
        sx.staged(tensor, "x").__enter__()


@pytest.mark.parametrize(
    "array", [sx.zeros(3, usm_type="shared"), np.zeros(3)], ids=["USM", "host"]
)
def test_host_view_needs_no_staging(array):
    view = sx.host_view(array)
    with pytest.raises(TypeError, match="host memory already: use it as it is"):
        sx.staged(view).__enter__()
    with pytest.raises(TypeError, match="host memory already: use it as it is"):
        sx.mpi.staged_request(view, "r", lambda memory: None)
    with pytest.raises(TypeError, match=r"an object of type ndarray is not a Tensor; pass as_tensor"):
        sx.staged(np.zeros(3)).__enter__()


def test_trial_process_does_not_see_the_launcher_of_mpi(monkeypatch):
    """It would take itself for a rank, and wait for the others."""
    started = []

    def run(command, env, **_):
        started.append(env)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(mpi.subprocess, "run", run)
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OF_THE_USER", "1")
    assert mpi._try_apart(sx.device()) == ""
    (environment,) = started
    assert environment["OF_THE_USER"] == "1"
    assert not [name for name in environment if name.startswith(("PMI", "OMPI_"))]


@pytest.mark.parametrize(
    ("backend", "offload", "claimed"),
    [("level_zero", "0", False), ("level_zero", "1", True), ("cuda", "1", False)],
)
def test_intel_mpi_claims_level_zero_by_a_variable(monkeypatch, backend, offload, claimed):
    monkeypatch.setenv("I_MPI_OFFLOAD", offload)
    comm = Mock(**{"Get_info.return_value.Get.return_value": None})
    assert (mpi._claim(comm, Mock(backend=backend)) == "") is claimed


def test_rank_with_a_reason_is_named():
    comm = Mock(**{"allgather.return_value": ["", "lost", "gone"]})
    assert mpi._agreed(comm, "") == "rank 1: lost"


def test_trial_process_that_fails_tells_its_last_words(monkeypatch):
    monkeypatch.setattr(mpi.sys, "executable", "/bin/sh")  # which does not read Python
    assert re.search(r"failed: exit code \d+: \S", mpi._try_apart(sx.device()))


# ---- requests; with MPI and its lies: ``programs/processes/mpi_guard.py`` ------------------------


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


def test_failed_request_is_given_up():
    tensor, array = LAYOUTS["sliced"].tensor("int32")
    request = sx.mpi.staged_request(tensor, "w", Request)
    np.asarray(request.request.memory)[:] = 0
    with pytest.raises(RuntimeError, match="too long"):
        request.wait()
    assert request.test()
    assert_equal(tensor, array)


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


def test_request_that_is_never_made_keeps_no_memory():
    tensor, _ = LAYOUTS["sliced"].tensor("int32")
    with pytest.raises(ZeroDivisionError):
        sx.mpi.staged_request(tensor, "r", lambda _: 1 // 0)
    with pytest.raises(KeyboardInterrupt):  # MPI may have started, and write to the memory
        sx.mpi.staged_request(tensor, "r", Mock(side_effect=KeyboardInterrupt))
    assert [staging._pending.pop()._memory.shape, *staging._pending] == [tensor.shape]

    def late(_number, _frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    with pytest.raises(TimeoutError):
        sx.mpi.staged_request(tensor, "r", lambda _: signal.raise_signal(signal.SIGALRM))
    signal.signal(signal.SIGALRM, before)
    assert [staging._pending.pop()._memory.shape, *staging._pending] == [tensor.shape]
    with pytest.raises(BufferError, match="stage it with mode 'r'"):
        sx.mpi.staged_request(tensor.as_readonly(), "w", Request)


def test_other_ranks_are_told_of_an_error_without_a_text():
    """They would take "" for the answer that nothing is wrong, and wait in the next step."""

    class Spec:
        @property
        def sycl_queue(self):
            raise ValueError

    comm = Mock()
    comm.Is_inter.return_value = False
    comm.allgather.side_effect = lambda reason: [reason]
    with pytest.raises(ValueError, match="^$"):
        mpi.check(comm, Spec())
    comm.allgather.assert_called_once_with("ValueError")
