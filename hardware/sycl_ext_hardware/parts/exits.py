# SPDX-License-Identifier: Apache-2.0
"""Processes that end with work pending: each comes to its end, with exit code 0."""

from collections.abc import Iterator
from functools import partial

from sycl_ext_hardware.samples import NothingShown, Row
from sycl_ext_hardware.scenes import LEAVES, play
from sycl_ext_hardware.setup import Setup

#: How many seconds such a process may take.
LIMIT = 45


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for scene in LEAVES:
        yield f"the process ends with {scene}", partial(end_with, setup, scene)


def end_with(setup: Setup, scene: str) -> str:
    """Start a process, which leaves something pending when it ends."""
    if play(setup, scene, LIMIT) != "pending":
        raise NothingShown("nothing was shown: the work was done before the end")
    return "exit code 0, with work pending"
