# SPDX-License-Identifier: Apache-2.0
"""Where the exports come from that consumers still hold, when ``SYCL_EXT_TRACE=1`` asks for it."""

import subprocess
import sys

import pytest

import environments
import sycl_ext as sx

TRACED = {**environments.cpu(), "SYCL_EXT_TRACE": "1"}


def run(tmp_path, code):
    """Run a script with tracing; its last lines of stderr that do not report an exchange."""
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**environments.clean_environment(), **TRACED, "PYTHONPATH": str(environments.HERE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if not line.endswith(" us")], str(script)


def test_untraced():
    capsule = sx.zeros(3).__dlpack__()
    with pytest.raises(RuntimeError, match="SYCL_EXT_TRACE=1"):
        sx.memory.live_exports(origins=True)
    del capsule


def test_live_exports_name_their_origins(tmp_path):
    said, _ = run(tmp_path, """
import numpy as np
import dpnp, torch
import sycl_ext as sx

tensor = sx.zeros((2, 3), "int16", usm_type="shared")
view = sx.host_view(tensor)

WAYS = {
    "legacy": lambda: tensor.__dlpack__(),
    "versioned": lambda: tensor[1:].__dlpack__(max_version=(1, 0)),
    "negotiated": lambda: tensor.__dlpack__(dl_device=(1, 0), copy=True),
    "numpy": lambda: np.from_dlpack(view),
    "torch": lambda: torch.from_dlpack(view),
    "dpnp": lambda: dpnp.from_dlpack(tensor),
    "exchange": lambda: sx.exchange(tensor, np),
}
for name, way in WAYS.items():
    before = sx.memory.live_exports(origins=True)
    line = way.__code__.co_firstlineno
    held = way()
    found = sx.memory.live_exports(origins=True)
    assert len(found) == len(before) + 1 == sx.memory.live_exports(), name
    origin = found[-1]
    assert any(f"{__file__}:{line} in <lambda>" == frame for frame in origin.stack), origin
    assert not any("sycl_ext/" in frame for frame in origin.stack), origin
    assert origin.dtype == "int16" and origin.nbytes == 2 * origin.shape[0] * 3
    if name in ("legacy", "versioned", "numpy", "torch", "dpnp"):
        assert tensor.ptr <= origin.address < tensor.ptr + tensor.nbytes
    assert origin.device == ((14, 0) if name in ("legacy", "versioned", "dpnp") else (1, 0))
    del held
    assert sx.memory.live_exports(origins=True) == before
many = sx.as_tensor(np.broadcast_to(np.float32(1), (10**6, 10**6)))
capsule = many.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
(origin,) = sx.memory.live_exports(origins=True)
assert (origin.shape, origin.nbytes) == (many.shape, 4)  # repeated elements count once
del capsule
""")  # fmt: skip
    assert said == []


def test_exports_alive_at_the_exit_are_listed(tmp_path):
    said, script = run(tmp_path, """
import sycl_ext as sx
kept = sx.zeros(3).__dlpack__()
dropped = sx.zeros(3).__dlpack__()
del dropped
""")  # fmt: skip
    assert said == [
        "exports that are alive at exit: 1",
        f"  float32, shape (3,), 12 bytes on (14, 0), from {script}:3 in <module>",
    ]


@pytest.mark.parametrize(
    "release",
    [
        "lab.delete_in_thread(address)",
        "threading.Thread(target=lab.delete_under_lock, args=(address,)).start(); lab.take_lock()",
    ],
    ids=["in a thread of C", "under a lock of C"],
)
def test_deleter_of_a_traced_export_needs_no_gil(tmp_path, release):
    """Another thread has the GIL, and waits for the one that calls the deleter."""
    said, _ = run(
        tmp_path,
        f"""
import faulthandler, threading
import sycl_ext as sx
from dlpack_conformance.structs import take
from extensions import labs
from waiting import PATIENCE

lab = labs.load("deleter_lab")
faulthandler.dump_traceback_later(PATIENCE, exit=True)
address, _ = take(sx.zeros(3).__dlpack__(max_version=(1, 0)))
{release}
assert sx.memory.live_exports(origins=True) == []
""",
    )
    assert said == []


def test_threads_and_deleters_without_the_gil(tmp_path):
    said, _ = run(tmp_path, """
import ctypes, threading
import sycl_ext as sx
from dlpack_conformance.structs import call_deleter, take

tensor = sx.zeros(3)

def work():
    for _ in range(200):
        address, versioned = take(tensor.__dlpack__())
        call_deleter(address, versioned=versioned)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert sx.memory.live_exports(origins=True) == []
""")  # fmt: skip
    assert said == []
