# SPDX-License-Identifier: Apache-2.0
"""The processes that this package starts: each dies with the process that has started it."""

import os
import sys

#: The first statements of such a process. The kernel kills it when the thread ends that has started
#: it, however that ends, and whatever this process is doing; `parent` may have ended before that.
_PROLOGUE = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL))  # PR_SET_PDEATHSIG
if os.getppid() != {parent}:
    os._exit(1)
del ctypes, os, signal
"""


def command(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python process that runs `code`.

    The thread that starts it has to wait for it.
    """
    prologue = _PROLOGUE.format(parent=os.getpid()) if sys.platform == "linux" else ""
    return [sys.executable, "-c", prologue + code, *arguments]
