# SPDX-License-Identifier: Apache-2.0
"""Arrays in `multiprocessing`.  On GPUs: ``environments/stand_in_gpu/test_gpu_processes.py``."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "pools.py"


def run(how, device="cpu"):
    """Run a function of the script; a process that hangs fails the test."""
    command = [sys.executable, str(SCRIPT), how, device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_results_of_a_pool_are_arguments_of_the_next():
    shown, warned = run("results_of_a_pool_are_arguments_of_the_next")
    assert (shown, warned) == (["[[[1, 1, 1], [2, 2, 2]]]", "handle shared memory"], "")


def test_results_of_an_executor_are_arguments_of_the_next():
    assert run("results_of_an_executor") == (["[[1, 1, 1]]"], "")


def test_worker_of_one_task_ends_when_its_result_has_arrived():
    expected = str([[i] * 3 for i in range(5)])
    assert run("workers_of_one_task") == ([expected], "")


def test_sender_waits_at_its_end_for_the_receiver():
    assert run("received_after_a_while") == (["True [[4, 4, 4]]"], "")


def test_sender_ends_without_a_receiver_and_both_say_so():
    (error,), warned = run("never_received")
    assert re.search("it has ended.*; keep it until the memory is opened, or send a copy", error)
    assert "1 of the arrays that it sent were not received within 0.2 s" in warned
