# SPDX-License-Identifier: Apache-2.0
"""The calls of an exchange to the adapter: the table of docs/develop/scaling.md, counted.

``SYCL_UR_TRACE=2`` makes the SYCL runtime print each call into the Unified Runtime.
"""

import re
import subprocess
import sys
from collections import Counter
from functools import reduce

import pytest

import environments

#: Columns of the table.
PLACES = ("level_zero_v1", "level_zero_v2", "cpu")
PROGRAM = """
import os, sys, time
import dpctl.memory, numpy as np
import sycl_ext as sx

device = sx.devices()[-1]
tensor, handed = sx.zeros((4, 4), device=device), sx.zeros((4, 4), device=device)
large = sx.zeros(64 << 20, "u1", device=device)
memory = dpctl.memory.MemoryUSMDevice(64, queue=dpctl.SyclQueue(device.sycl_device))
few, many = np.zeros((4, 4), "f4"), np.zeros(64 << 20, "u1")

class Producer:
    def __dlpack_device__(self):
        return handed.__dlpack_device__()
    def __dlpack__(self, **keywords):
        return handed.__dlpack__(**keywords)

WORK = {
    "export": lambda: tensor.__dlpack__(max_version=(1, 3)),
    "import of a tensor": lambda: sx.from_dlpack(tensor),
    "import of a capsule of ours": lambda: sx.from_dlpack(Producer()),
    "export after that import": lambda: handed.__dlpack__(max_version=(1, 3)),
    "import of `dpctl.memory`": lambda: sx.as_tensor(memory),
    "host view of a NumPy array": lambda: sx.host_view(few),
    "`to_numpy(copy=True)`, 64 B": lambda: tensor.to_numpy(copy=True),
    "`copy_from`, 64 B": lambda: tensor.copy_from(few),
    "`to_numpy(copy=True)`, 64 MiB": lambda: large.to_numpy(copy=True),
    "`copy_from`, 64 MiB": lambda: large.copy_from(many),
}
for name, work in WORK.items():
    for _ in range(5):  # the first time makes the cached objects
        while sx._core._test.deferred_frees():  # by a thread with calls of its own
            time.sleep(0.001)
        sys.stdout.flush()
        os.write(1, f"\\n@ {name}\\n".encode())
        result = work()
        os.write(1, b"\\n@\\n")
        del result
"""
#: Calls that only give back what another call has made; a thread in the background has some.
RELEASE = re.compile("Release|Free")
#: Whether a queue is idle, or a command over: asked until it is, where commands were submitted; and
#: what a longer wait begins with.
POLLS = ("QueueGetInfo", "EventGetInfo", "QueueFlush")


def counted(place, tmp_path):
    """Return the calls of each line of the program: of each call, the fewest of all runs."""
    variables = {
        **environments.clean_environment(),
        **environments.variables_of(place, tmp_path),
        "SYCL_UR_TRACE": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    runs, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("@"):
            current = Counter()
            runs.setdefault(line[2:], []).append(current)
        elif current is not None and (call := re.search(r"<--- ur(\w+)", line)):
            current[call[1]] += not RELEASE.search(call[1])
    runs.pop("")  # between two runs
    counts = {name: reduce(Counter.__and__, calls) for name, calls in runs.items()}
    for calls in counts.values():
        if calls["EnqueueUSMMemcpy"]:
            for poll in POLLS:
                calls.pop(poll, None)
    return counts


def in_words(calls):
    """Return a cell of the table."""
    return ", ".join(f"{count} {name}" for name, count in sorted(calls.items()) if count) or "none"


@pytest.mark.parametrize("place", PLACES)
def test_counted_calls_are_those_of_the_page(place, tmp_path):
    page = (environments.ROOT / "docs" / "develop" / "scaling.md").read_text()
    column = 1 + PLACES.index(place)
    rows = [row.strip("| \n").split(" | ") for row in page.splitlines() if row.startswith("| ")]
    said = {row[0]: row[column] for row in rows if len(row) == 1 + len(PLACES)}
    for name, calls in counted(place, tmp_path).items():
        assert said[name] == in_words(calls), name
