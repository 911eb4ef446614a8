# SPDX-License-Identifier: Apache-2.0
"""Why the tests do not run some lines: one entry each, for ``coverage_report.py``."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Lines of a file that match a pattern, or lie in the block that such a line opens."""

    path: str
    pattern: str
    why: str

    def covers(self, text: list[str], number: int) -> bool:
        """Whether the line, or one around it that is indented less, matches."""
        at = number - 1
        while at and text[at].strip() in ENDS:  # the end of a block goes with the block
            at -= 1
        indent = len(text[at]) + 1
        for line in reversed(text[: at + 1]):
            depth = len(line) - len(line.lstrip())
            if not line.strip() or depth >= indent:
                continue
            if re.search(self.pattern, line):
                return True
            indent = depth
        return False


ENDS = ("}", "});", "};", "},", ")")
LAST_RESORT = "keeps an exception that nobody expects from passing a boundary of C"
NO_MEMORY = "Python has no memory for a small object"
THREAD_END = (
    "a thread that CPython before 3.14 ends at the end of the process; it never returns, so it "
    "leaves no count (test_lifetime.py, test_faults_lifetime.py)"
)
BROKEN = "a runtime that fails in a question it always answers; core_faults makes it fail"

REASONS: tuple[Reason, ...] = (
    # ---- src/ ----
    Reason("src/python/bindings.cpp", "the two sides differ", "Tensor.copy_from has checked that"),
    Reason(
        "src/runtime/device_table.cpp",
        "common && !look_up|home_of\\(device\\);",
        "a tile that is met in a private context before anything else knows it",
    ),
    Reason("src/python/exchange_api.cpp", r"std::exception& error|RuntimeError", LAST_RESORT),
    Reason(
        "src/python/extension_api.cpp", r"catch \(|out of memory|thrown.what|unknown C", LAST_RESORT
    ),
    Reason(
        "src/python/fast_path.cpp",
        r"no fast function|^  return nullptr;",
        "_fast.py asks for no other",
    ),
    Reason("src/runtime/ipc.cpp", "nobody is left to be told", LAST_RESORT),
    Reason("src/base/interruptible.cpp", r"catch \(|--aside|throw;", "no thread is to be had"),
    Reason("src/python/origins.cpp", "no memory for a convenience", LAST_RESORT),
    Reason("src/runtime/queue.cpp", "the wait says what is wrong|catch", BROKEN),
    Reason(
        "src/tensor/tensor.cpp",
        "memory of two devices",
        "two allocations of two tiles, side by side",
    ),
    Reason(
        "src/python/tensor_object.cpp",
        r"sole_owner",
        "a cycle through a producer that only the collector of this Python breaks",
    ),
    Reason("src/python/tensor_object.cpp", r"Py_CLEAR\(tuple\)", NO_MEMORY),
    Reason("src/python/tensor_object.cpp", "!type|has not been imported", "import order"),
    Reason("src/python/tensor_object.cpp", r"hang\(\)", THREAD_END),
    Reason(
        "src/python/tensor_object.cpp",
        r"PyErr_NoMemory|std::exception&|catch|RuntimeError",
        LAST_RESORT,
    ),
    Reason("src/base/forced_unwind.hpp", "hang|pause", THREAD_END),
    Reason("src/runtime/usm.cpp", r"void keep\(", "the owner of a block of our own is NULL"),
    Reason(
        "src/runtime/usm.cpp",
        r"no thread, and the heir|queue.wait_noexcept",
        "no thread is to be had",
    ),
    # ---- sycl_ext/ ----
    Reason(
        "sycl_ext/_protocols/dtypes.py",
        "_BY_TYPESTR",
        "C's integers have these names on Linux already",
    ),
    Reason(
        "sycl_ext/_devices/interpreter.py",
        "raise ImportError",
        "in a sub-interpreter, where coverage.py does not count (test_faults_lifetime.py)",
    ),
    Reason("sycl_ext/_devices/queues.py", "if is_torch_tensor", "torch with an Intel GPU"),
    Reason("sycl_ext/_ipc/shared_memory.py", "except ImportError", "Windows has no fcntl"),
)
