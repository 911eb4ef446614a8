# SPDX-License-Identifier: Apache-2.0
"""Tests of other projects that this package is known to fail, and a plugin that holds them to it.

A test in the table must fail; one that passes, or a row without a test, fails the run.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sycl_ext as sx


@dataclass(frozen=True)
class Known:
    """Tests of a suite that fail, and why that is right."""

    suites: str  # regular expression
    tests: str  # regular expression, for the name of a test
    reason: str


KNOWN: tuple[Known, ...] = (
    Known("numpy", "test_dunder_dlpack_stream", "a stream on the host is a BufferError"),
    Known("numpy", "test_dunder_dlpack_copy", "copy=array([1, 2, 3]) is a TypeError"),
    Known("numpy", r"test_from_dlpack_refcount\[.*\]",
        "an import holds more than one reference to its producer; all are given back"),
    Known("numpy", "test_writeable",
        "the struct of DLPack 0.x is of writable memory; NumPy takes it for read-only"),
    Known(r"dpnp( on a GPU)?", r"test_invaid_stream\[scalar\]",
        "an address without a queue is a ValueError"),
    Known(r"dpnp( on a GPU)?", "test_wrong_copy", "copy=array([1, 2, 3]) is a TypeError"),
    Known("dask", r"test_percentile(s.*)?", "dpnp has no percentile"),
    Known("dask", r"test_vindex|test_setitem_extended_API_2d(_rhs_func_of_lhs"
        r"|\[index(3|14|15)--1\]|\[index(8|9|11|13)-value.*\])", "dpnp takes no list as an index"),
    Known("dask", r"test_diff_(ap|pre)pend\[.\]", "dpnp.diff takes no list, nor n=0 with an edge"),
    Known("dask", "test_diagonal", "dpnp.diagonal takes no offset of numpy.int64"),
    Known("dask", "test_view",
        "dpnp: the view of a slice with a dtype begins where the array does"),
    Known("dask", r"test_cholesky\[.*\]|test_lstsq\[.*\]|test_asanyarray\[like1-arr3\]"
        "|test_cupy_unsupported", "Dask asks for CuPy by name, and else takes SciPy or NumPy"),
)  # fmt: skip


class Counts:
    """Counts outcomes, for the page of them, and how often this package was asked for something."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        for name in ("as_tensor", "from_dlpack", "host_view"):
            setattr(sx, name, self.counted(getattr(sx, name)))

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            self.counts["asked"] += 1
            return function(*values, **named)

        return call

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.skipped:
            known = report.skipped and hasattr(report, "wasxfail")
            self.counts["known" if known else report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["SYCL_EXT_SUITE_COUNTS"]).write_text(json.dumps(self.counts))


counts = Counts()  # before an adapter takes the functions


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(counts)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for row in KNOWN:
        if not re.fullmatch(row.suites, os.environ["SYCL_EXT_SUITE"]):
            continue
        tests = [item for item in items if re.fullmatch(row.tests, item.name)]
        if not tests:
            raise pytest.UsageError(f"no test is named {row.tests}")
        for item in tests:
            item.add_marker(pytest.mark.xfail(reason=row.reason, strict=True))
