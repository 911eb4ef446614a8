# SPDX-License-Identifier: Apache-2.0
"""A process of this package dies with the one that has started it, also when that is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from sycl_ext._doctor import processes
from waiting import eventually

#: A library that never returns, with the GIL held as `ctypes.PyDLL` holds it.
SPINS = "[[gnu::constructor]] static void load() { for (volatile int i = 0;; i = 1) {} }\n"
#: What each program starts; a child that is found hangs in a library, or in an import.
STARTS = {
    "doctor": "from sycl_ext._cli import main\nmain(['doctor', '--quick'])",
    "second process": """
import os, sys, types
from sycl_ext._doctor import self_test
self_test.PEER = "import ctypes; ctypes.PyDLL(%r)"
import sycl_ext as sx
self_test.second_process(sx.device("cpu"))
""",
}


@pytest.fixture(scope="module")
def spins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spins")
    library = folder / "libspins.so"
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(library)]
    subprocess.run(command, input=SPINS, text=True, check=True)
    return library


def children(process):
    processes = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(process_id) for process_id in processes if is_spinning(int(process_id))]


def is_spinning(process):
    """Whether it has loaded the library, so that nothing in Python can end it."""
    try:
        return "libspins.so" in Path(f"/proc/{process}/maps").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("name", STARTS)
def test_child_dies_with_a_killed_parent(name, how, spins):
    program = STARTS[name].replace("%r", repr(str(spins)))
    variables = dict(environments.cpu(), PYTHONPATH=str(spins.parent))
    if name == "doctor":
        variables["OCL_ICD_FILENAMES"] = str(spins)
    environment = {**environments.clean_environment(), **variables}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: children(process.pid))
            (spinning,) = children(process.pid)
        finally:
            process.send_signal(how)
    try:
        assert eventually(lambda: not is_spinning(spinning))
    finally:
        if is_spinning(spinning):
            os.kill(spinning, signal.SIGKILL)


def test_child_of_an_ended_parent_does_nothing():
    """It is the child of another process by then."""
    command = processes.command("print('it runs')")
    assert subprocess.run(command, capture_output=True, text=True).stdout == "it runs\n"
    by_another = f"import subprocess; subprocess.run({command!r})"
    done = subprocess.run([sys.executable, "-c", by_another], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
