# SPDX-License-Identifier: Apache-2.0
"""Which tests one worker of pytest-xdist gets: those that share what the first of them makes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from typing import Any


def scheduler(config: Any, log: Any, group_of: Callable[[str], str | None]) -> Any:
    """Return a scheduler in the order of collection.

    Parameters
    ----------
    group_of : callable
        The group of the tests in a file, of which it gets the path, or None: each for itself.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0]) or nodeid

        def remove_node(self, node: Any) -> str | None:
            """Return the test in which a worker died, say how, and give the rest to others.

            pytest-xdist also gives them the units that are over, and waits for these for ever: no
            worker reports a test of them.  A worker that a signal has killed says nothing.
            """
            crashed = None
            for scope, unit in self.assigned_work.pop(node).items():
                left = [name for name, is_over in unit.items() if not is_over]
                if left and crashed is None:
                    crashed = left.pop(0)
                    unit[crashed] = True
                if left:
                    self.workqueue[scope] = unit
            if crashed:
                print(f"\n{node.gateway.id} {_end_of(node.gateway._io.popen)}")
            for other in self.assigned_work:
                self._reschedule(other)
            return crashed

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def _end_of(process: subprocess.Popen[bytes]) -> str:
    """Say by which signal or exit code a process has ended."""
    try:
        code = process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        return "has closed its pipe, and is still running"
    return f"ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
