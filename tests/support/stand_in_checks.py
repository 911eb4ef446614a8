# SPDX-License-Identifier: Apache-2.0
"""What the self-checks of the stand-ins share (``probe.py`` of each)."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable

HOLD_US = 20_000_000  # a delay nobody waits for: it holds the queue until it is set to 0


def verdict(done: subprocess.CompletedProcess[str], returncode: int, stderr: str) -> str:
    """What is wrong with the end of a process, or nothing."""
    if done.returncode == returncode and stderr in done.stderr:
        return ""
    said = f"{done.stdout}{done.stderr}".strip()
    return f"ended with {done.returncode}, not {returncode} {stderr!r}\n{said}"


def seen_by_the_host(usm) -> bytes:
    """The bytes as they are now: dpctl's own accessors go through a queue, and wait for it."""
    return ctypes.string_at(usm._pointer, usm.nbytes)


def equal(found: object, wanted: object) -> None:
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


def raises(body: Callable[[], object], types: type | tuple = Exception) -> str:
    """The message of the error that `body` has to raise."""
    try:
        body()
    except types as error:
        return str(error)
    raise AssertionError("no error")
