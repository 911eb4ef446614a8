# SPDX-License-Identifier: Apache-2.0
"""Refuses to be imported where the core would hang: in a sub-interpreter."""

from __future__ import annotations

from importlib import import_module


def require_main_interpreter() -> None:
    """Raise ImportError in a sub-interpreter.

    The core lets go of the GIL and takes it again by calls that know the main interpreter alone; in
    another one they would wait for themselves.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # of CPython 3.13, and before
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(  # pragma: no cover: coverage.py counts in the main one alone
                "sycl_ext works in the main interpreter only, and this is a sub-interpreter; use "
                "a thread or a process instead"
            )
        return
