# SPDX-License-Identifier: Apache-2.0
"""What was seen of each library, once per run of the tests."""

from __future__ import annotations

import functools
from typing import Any

import producers_worker
import quirks_worker
import worker
from consumers import ROWS
from processes import build_nanobind_module, python_in, run_cases


@functools.cache
def consumer(name: str) -> dict[str, Any]:
    """What a consumer makes of USM: the cases of worker.py."""
    build_nanobind_module()
    return run_cases(python_in(ROWS[name].environment), "worker.py", name, len(worker.CASES))


@functools.cache
def quirks(name: str) -> dict[str, Any]:
    """What a consumer makes of dtypes and layouts: the cases of quirks_worker.py."""
    python = python_in(ROWS[name].environment)
    return run_cases(python, "quirks_worker.py", name, len(quirks_worker.CASES))


@functools.cache
def producer(name: str) -> dict[str, Any]:
    """How a library's arrays are taken: the cases of producers_worker.py."""
    python = python_in(producers_worker.LIBRARIES[name].environment)
    return run_cases(python, "producers_worker.py", name, len(producers_worker.CASES))
