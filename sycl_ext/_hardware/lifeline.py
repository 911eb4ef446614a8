# SPDX-License-Identifier: Apache-2.0
"""A process that ends with the one that started it."""

import contextlib
import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


def die_with(parent: int) -> None:
    """End this process when its parent, which has this pid, ends, even if that is killed."""
    with contextlib.suppress(AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")
