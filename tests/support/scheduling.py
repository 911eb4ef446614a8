# SPDX-License-Identifier: Apache-2.0
"""Which tests one worker of pytest-xdist gets: those that share what the first of them makes."""

from __future__ import annotations

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

    config.option.loadscopereorder = False
    return Scheduling(config, log)
