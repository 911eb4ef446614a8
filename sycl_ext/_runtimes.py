# SPDX-License-Identifier: Apache-2.0
"""Floor 1. Two SYCL runtimes in one process: said once, by the names of both libraries."""

from __future__ import annotations

import warnings

from sycl_ext import _core

_told: set[str] = set()


class TwoRuntimesWarning(RuntimeWarning):
    """Another SYCL runtime than ours is loaded in this process; the text names both libraries."""


def warn_of_others(stacklevel: int = 2) -> None:
    """Warn of each SYCL runtime beside ours, once; `stacklevel` counts from the caller."""
    if not _core.has_other_libsycl():
        return
    ours, *loaded = _core.loaded_libsycl()
    others = [path for path in loaded if path not in _told]
    if others:
        _told.update(others)
        warnings.warn(message(ours, others), TwoRuntimesWarning, stacklevel=stacklevel + 1)


def message(ours: str, others: list[str]) -> str:
    """Return what a user is told, and the way out."""
    return (
        f"two SYCL runtimes are loaded in this process: {ours}, which sycl_ext works with, and "
        f"{' and '.join(others)}. They share no queues and no contexts, and memory on Level Zero "
        "alone; some pairs end the process at the first queue of the second one. Use the package "
        "that loads the other one in a process of its own, or install versions that need the same "
        "libsycl; python -m sycl_ext doctor names the packages"
    )
