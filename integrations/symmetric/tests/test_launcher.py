# SPDX-License-Identifier: Apache-2.0
"""The process that launched the ranks: their common ancestor."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from sycl_ext_symmetric.launcher import _line, common_ancestor
from waiting import eventually


def test_common_ancestor_is_the_launcher():
    with contextlib.ExitStack() as stack:
        sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
        shell = ["sh", "-c", '"$0" "$@" & "$0" "$@"; wait', *sleep]
        for command in (sleep, shell):
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE))
        assert eventually(lambda: len(grandchildren()) == 2)
        first, second = grandchildren()
        (shell_process,) = {_line(pid)[1] for pid in (first, second)}
        assert common_ancestor([first, second]) == shell_process
        assert common_ancestor([first, os.getpid()]) == os.getpid()
        assert common_ancestor([first]) == first
        for process in (first, second):
            os.kill(process, signal.SIGKILL)


def children(process):
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in path.read_text().split()]


def grandchildren():
    return [grandchild for child in children(os.getpid()) for grandchild in children(child)]
