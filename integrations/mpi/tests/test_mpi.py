# SPDX-License-Identifier: Apache-2.0
"""`check`: without MPI, and by `mpi_guard` between two ranks of one that is not GPU-aware."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import environments
import sycl_ext as sx
import sycl_ext_mpi as mpi
from waiting import eventually


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


def test_what_is_no_communicator_is_refused():
    with pytest.raises(TypeError, match="an object of type NoneType is not a communicator"):
        mpi.check(None)


@pytest.mark.timeout(300)
def test_two_ranks_find_what_their_mpi_can_do():
    environment = {**environments.clean_environment(), **environments.level_zero()}
    command = [Path(sys.executable).with_name("mpiexec"), "-n", "2", sys.executable, "-W", "error"]
    done = subprocess.run(
        [*command, Path(__file__).with_name("mpi_guard.py")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.count("all is well")) == (0, 2), done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_trial_process_dies_with_its_rank(how, tmp_path):
    """It hangs in a library that holds the GIL."""
    (tmp_path / "mpi4py.py").write_text(f"""
import os, time, ctypes
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
ctypes.PyDLL(None).sleep(1000)
""")
    code = "import types, sycl_ext_mpi as mpi; mpi._try_apart(types.SimpleNamespace(id=0))"
    variables = {**environments.clean_environment(), **environments.cpu()}
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**variables, "PYTHONPATH": str(tmp_path)}
    ) as rank:
        pid = tmp_path / "pid"
        assert eventually(lambda: pid.exists() and pid.read_text())
        rank.send_signal(how)
    assert eventually(lambda: not is_running(int(pid.read_text())))


def is_running(pid):
    """A zombie, which nobody in a container may collect, has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_example_in_the_docstring():
    code = "import doctest, sycl_ext_mpi; print(doctest.testmod(sycl_ext_mpi))"
    assert "failed=0, attempted=4" in environments.python(code)
