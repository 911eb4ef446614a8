# SPDX-License-Identifier: Apache-2.0
"""``make test-interop``: real libraries, each in a process of its own.  README.md says how.

Nothing is skipped here: a library that is missing fails its tests.
"""

import functools
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), str(TESTS / "support"), str(TESTS / "environments")]

if os.environ.get("SYCL_EXT_INTEROP") != "1":
    collect_ignore_glob = ["test_*.py"]


#: Files whose tests wait for what the libraries do: one worker has them, and begins with them.
OF_LIBRARIES = (
    "test_library_functions.py",
    "test_matrix.py",
    "test_producers.py",
    "test_quirks.py",
    "test_page.py",
)


def pytest_collection_modifyitems(items):
    last = len(OF_LIBRARIES)
    places = {name: place for place, name in enumerate(OF_LIBRARIES)}
    if any(item.path.parent == HERE for item in items):
        items.sort(key=lambda item: places.get(item.path.name, last))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from scheduling import scheduler

    return scheduler(config, log, lambda path: "libraries" if path.endswith(OF_LIBRARIES) else None)


def pytest_runtest_setup(item):
    if item.path.name in OF_LIBRARIES:
        look_at_libraries(item.session)


@functools.cache
def look_at_libraries(session):
    """Begin to look at all libraries that the tests are about."""
    import seen

    for item in session.items:
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
