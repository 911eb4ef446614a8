# SPDX-License-Identifier: Apache-2.0
"""``make test-interop``: real libraries, each in a process of its own.  README.md says how.

Nothing is skipped here: a library that is missing fails its tests.
"""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), str(TESTS / "support"), str(TESTS / "environments")]

if os.environ.get("SYCL_EXT_INTEROP") != "1":
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items):
    """Tests that wait for the libraries come last: the rest runs while the libraries are tried."""
    if any(HERE in item.path.parents for item in items):
        import seen

        items.sort(key=lambda item: getattr(getattr(item, "module", None), "seen", None) is seen)


def pytest_collection_finish(session):
    """Look at the libraries while the first tests run."""
    here = [item for item in session.items if HERE in item.path.parents]
    if not here:
        return
    import seen

    for item in here:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        kind = getattr(item.module, "KIND", None)  # the tests of a library have one
        if kind and "name" in parameters:
            seen.start(kind, parameters["name"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and HERE in item.path.parents:
        report.outcome = "failed"
    return report
