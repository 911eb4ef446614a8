# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/reports, and what each of them ends with.

Everyday tests read this file as well (``project/test_documents.py``): it imports no other library.
"""

import re
import signal
from pathlib import Path

REPORTS = Path(__file__).resolve().parents[2] / "docs" / "develop" / "reports"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SEGV, ABRT = -signal.SIGSEGV, -signal.SIGABRT

#: Report -> what each of its programs ends with: a code, and a text that it writes.
SEEN: dict[str, tuple[tuple[int, str], ...]] = {
    "dpctl-first-use": ((0, r"^run \d+ hangs$"),),
    "dpnp-dlpack": (
        (SEGV, ""),
        (SEGV, ""),
        (0, r"\[0\. 1\."),
        (0, r"copy \d+ is wrong"),
        (0, r"^1\n0$"),
    ),
    "jax-copy-true": ((0, r"^\[1\. 1\. 1\. 1\.\]$"),),
    "jax-null-deleter": ((ABRT, "bad_function_call"), (1, "RuntimeError: bad_function_call")),
    "level-zero-v1-failures": ((1, r"^as expected: .*\nTimeout"), (SEGV, "")),
    "neo-without-a-device": (
        (0, r"^wait 0x0\npoll 0x1$"),
        (0, r"^get 0x0\nopen 0x0 at 1$"),
        (ABRT, r"^Abort was called at .*\n.*bindless_heaps_helper\.cpp$"),
    ),
    "onnxruntime-dlpack": ((0, r"\[0\. 1\. 2\."), (ABRT, "deleter != NULL was false")),
    "opencl-adapter-questions": (
        (0, r"^allocated on device 1, and said to be on device 0$"),
        (ABRT, "ur_die: Experimental P2P feature is not implemented"),
    ),
    # Two threads that wait for one queue, and barriers behind one command.
    "opencl-cpu-events": ((SEGV, ""), (SEGV, "")),
    "opencl-cpu-fork": ((0, r"^child \d+ hangs$"),),
    "opencl-cpu-signals": ((0, r"\Aafter the first signal\nsaved\n\Z"),),
    "tensorflow-dlpack": ((0, r"^deleter\nGPU:0 unknown device\.\ndeleter$"),),
    "torch-asarray": ((0, r"^\[0\.0, 0\.0, 0\.0, 1\.875, .*\n\[0\.0, 1\.0, 2\.0, 3\.0\]$"),),
    "torch-dlpack": (
        (0, r"^0\n2$"),
        (1, "NotImplementedError: Could not run 'aten::empty_str"),
        (0, r"^deleter\nnumel: integer multiplication overflow\ndeleter$"),
    ),
}
#: Of a driver that `make neo` fetches, and runs them on.
OF_REAL_DRIVERS = ("neo-without-a-device",)


def programs(report):
    """The programs of a report, each with the block that all of them begin with."""
    first, *rest = BLOCK.findall((REPORTS / f"{report}.md").read_text())
    return [first + program for program in rest] or [first]
