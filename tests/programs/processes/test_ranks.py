# SPDX-License-Identifier: Apache-2.0
"""The examples with ranks and other processes, one after the other: torchrun has one port."""

import re
import sys
from pathlib import Path

import pytest

import environments
from running import EXAMPLES, run

pytestmark = pytest.mark.timeout(300)


def test_torch_distributed():
    shown = run(sys.executable, EXAMPLES / "torch_distributed" / "run.py")
    for kind in ("shared", "host"):
        assert f"{kind} USM of 2 processes: reduced and broadcast in place" in shown


@pytest.mark.parametrize("where", ["cpu", "level_zero_v2"])
def test_two_processes_example_sends_a_small_handle(where, tmp_path):
    """A handle is some hundred bytes, whatever the array has; the other ways send it all."""
    device = "level_zero:gpu:0" if where != "cpu" else "cpu"
    script = EXAMPLES / "two_processes" / "run.py"
    variables = environments.variables_of(where, tmp_path)
    shown = run(sys.executable, script, device, 1, variables=variables)
    rows = [line.split("|")[1:-1] for line in shown.splitlines() if line.startswith("|")][2:]
    sent = {way.strip(): nbytes.split() for way, nbytes, _ in rows}
    assert len(sent) == 5, shown
    amount, unit = sent.pop("handle")
    assert (int(amount) < 1000, unit) == (True, "B")
    assert set(map(tuple, sent.values())) == {("1.0", "MB")}, shown


PROGRAMS = Path(sys.executable).parent
RING = EXAMPLES / "symmetric_ring" / "run.py"
#: The launchers of the ring of four ranks, with options that let a survivor print.
LAUNCHERS = {
    "mpiexec": [PROGRAMS / "mpiexec", "-disable-auto-cleanup", "-n", "4", sys.executable, RING],
    "torchrun": [PROGRAMS / "torchrun", "--monitor-interval=5", "--nproc-per-node=4", RING],
    "multiprocessing": [sys.executable, RING, "--ranks", "4"],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ring_of_ranks(launcher):
    shown = run(*LAUNCHERS[launcher])
    for rank in range(4):
        assert f"rank {rank} of 4: mean 10.0 by shared memory\n" in shown


def test_ring_in_which_a_rank_is_killed():
    """The others name it and end."""
    shown = run(*LAUNCHERS["multiprocessing"], "--kill", "2", status=None)
    assert shown.count("of 4 stops: rank 2 of 4 has ended") == 3, shown
    assert "mean" not in shown


def test_ring_of_torch_ends_if_a_rank_is_killed():
    """The launcher may end the job when the first of the others has left."""
    shown = run(*LAUNCHERS["torchrun"], "--kill", "2", status=None)
    assert "mean" not in shown


def test_ring_on_gpus():
    gpu = environments.level_zero()
    shown = run(*LAUNCHERS["mpiexec"], "--device", "level_zero:gpu:1", variables=gpu)
    assert shown.count("mean 10.0 by sycl") == 4


@pytest.mark.parametrize(
    ("where", "device", "mechanism"),
    [("cpu", "cpu", "shared memory"), ("level_zero_v2", "level_zero:gpu:0", "sycl")],
)
def test_shared_cache_evicts_and_survives_a_killed_worker(where, device, mechanism, tmp_path):
    variables = environments.variables_of(where, tmp_path)
    shown = run(sys.executable, EXAMPLES / "shared_cache" / "run.py", device, variables=variables)
    assert "workers ended with [-9, 0]\n" in shown
    assert f"{mechanism}: 32768 bytes for" in shown
    counts = {
        name: int(count) for count, name in re.findall(r"(\d+) (\w+)", shown.splitlines()[-1])
    }
    assert counts["hits"] + counts["misses"] == 301
    assert counts["evictions"] > 100


def mpiexec(ranks, *arguments, **how):
    command = PROGRAMS / "mpiexec"
    example = EXAMPLES / "mpi_exchange" / "run.py"
    return run(command, "-n", ranks, sys.executable, "-W", "error", example, *arguments, **how)


@pytest.mark.parametrize("ranks", [2, 3])
def test_mpi_ranks(ranks):
    shown = mpiexec(ranks)
    assert shown.count("done") == ranks
    assert "opencl:cpu:0 device sum of the broadcast: 499500.0" in shown


def test_mpi_ranks_with_a_gpu():
    gpu = environments.level_zero()
    shown = mpiexec(2, "level_zero:gpu:1", variables=gpu)
    assert shown.count("done") == 2
    for kind in ("device", "shared", "host"):
        assert f"level_zero:gpu:1 {kind} sum of the broadcast: 1000.0" in shown


def test_requests_of_two_ranks():
    gpu = environments.level_zero()
    command = Path(sys.executable).with_name("mpiexec")
    script = Path(__file__).with_name("mpi_requests.py")
    shown = run(command, "-n", 2, sys.executable, "-W", "error", script, variables=gpu)
    assert shown.count("all is well") == 2
