# SPDX-License-Identifier: Apache-2.0
"""The results of each library, once per run of the tests, by two processes at a time."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import conversions
import producers_worker
import worker
from consumers import ROWS
from processes import build_nanobind_module, devices, python_in, run_cases

_one_compiler = threading.Lock()
_pool = ThreadPoolExecutor(max_workers=2)
_futures: dict[tuple[str, str], Future] = {}


def start(kind: str, name: str) -> Future:
    """Begin to look at a library, unless that has begun."""
    if (kind, name) not in _futures:
        devices()  # compiles the stand-in GPU, once
        _futures[kind, name] = _pool.submit(
            {"consumer": _consumer, "producer": _producer, "functions": _functions}[kind], name
        )
    return _futures[kind, name]


def consumer(name: str) -> dict[Any, dict[str, Any]]:
    """The results of a consumer with USM: case of worker.py -> outcome; and its "version"."""
    return start("consumer", name).result()


def producer(name: str) -> dict[Any, dict[str, Any]]:
    """How a library's arrays are taken: case of producers_worker.py -> outcome."""
    return start("producer", name).result()


def functions(name: str) -> dict[Any, dict[str, Any]]:
    """What the functions of a library make of USM: function -> outcome."""
    return start("functions", name).result()


def _consumer(name: str) -> dict[Any, dict[str, Any]]:
    if "nanobind" in name:
        with _one_compiler:
            build_nanobind_module()
    return run_cases(python_in(ROWS[name].environment), "worker.py", name, worker.cases_of(name))


def _producer(name: str) -> dict[Any, dict[str, Any]]:
    python = python_in(producers_worker.LIBRARIES[name].environment)
    return run_cases(python, "producers_worker.py", name, producers_worker.CASES)


def _functions(name: str) -> dict[Any, dict[str, Any]]:
    script = str(Path(conversions.__file__))
    return run_cases(Path(sys.executable), script, name, conversions.OF_LIBRARY[name])
