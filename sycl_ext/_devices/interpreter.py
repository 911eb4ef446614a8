# SPDX-License-Identifier: Apache-2.0
"""Refuses to be imported where the core would hang: in a sub-interpreter."""

from __future__ import annotations

import _thread


def require_main_interpreter() -> None:
    """Raise ImportError in a sub-interpreter.

    The core lets go of the GIL and takes it again by calls that know the main interpreter alone; in
    another one they would wait for themselves.
    """
    if not _is_main():
        raise ImportError(  # pragma: no cover: coverage.py counts in the main one alone
            "sycl_ext works in the main interpreter only, and this is a sub-interpreter; use "
            "a thread or a process instead"
        )


def _is_main() -> bool:
    tells = getattr(_thread, "_is_main_interpreter", None)  # of CPython 3.12 and later
    if tells is not None:
        return bool(tells())
    import ctypes

    api = ctypes.PyDLL(None)
    own, main = api.PyInterpreterState_Get, api.PyInterpreterState_Main
    own.restype = main.restype = ctypes.c_void_p
    return bool(own() == main())
