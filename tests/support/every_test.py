# SPDX-License-Identifier: Apache-2.0
"""The setup of every test: one known device, a leak check, and no skip that goes unseen.

A ``conftest.py`` imports this before anything loads the SYCL runtime, and the hooks and fixtures:
``tests/conftest.py`` and ``integrations/conftest.py``.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest

import environments
from needs import runs_no_kernel
from waiting import eventually

#: Other devices than the CPU: a process that ``environments.run`` has started.
IS_CPU = "SYCL_EXT_ENVIRONMENT" not in os.environ
if IS_CPU:
    for name in set(os.environ) - set(environments.clean_environment()):
        del os.environ[name]
    os.environ.update(environments.cpu())

import sycl_ext as sx  # noqa: E402
from samples import USM_TYPES  # noqa: E402
from sycl_ext import _core  # noqa: E402
from sycl_ext._ipc import records  # noqa: E402

REQUIRE_ALL = os.environ.get("SYCL_EXT_REQUIRE_ALL") == "1"

# The rules of the GIL: a call of the SYCL runtime that can wait, made with the GIL held, ends the
# process, and so does a number of the garbage collector's that rises without it.
_core._test.check_gil()

if runs_no_kernel():
    _core._test.break_kernels()

# In the background of a shell, it is ignored, here and in every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# ---- no leaks ------------------------------------------------------------------------------------

_tracebacks = False  # of failed tests: they hold what those tests had, for a while
_last = None  # objects alive at the end of the last test; None: something may have gone since
_modules = 0  # that were imported when the garbage collector was last told to spare them


def alive():
    records.reclaim()  # what other processes had open
    return sx.memory.live_exports(), _core._test.live_allocations()


def spare_what_imports_left():
    """Keep the garbage collector off the objects of modules, which are hundreds of thousands.

    The checks here collect several times in most tests, and would look at all of them each time.
    """
    global _modules
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def nothing_leaks(request):
    """As many managed tensors and blocks of memory are alive after the test as before it.

    Memory that fixtures of other tests have left to be freed goes first: freed during the test, it
    would hide a block that the test leaks.
    """
    global _last
    spare_what_imports_left()
    if alive() != _last:
        gc.collect()
    # A thread that frees in the background calls the driver, and these calls are counted.
    eventually(lambda: _core._test.deferred_frees() == 0)
    before = alive()
    yield
    if getattr(request.node, "failed", False):
        return
    # dpctl's own thread lets go of a command's arguments some time after the command.
    eventually(lambda: alive() == before)
    _last = alive()
    what = "managed tensors and blocks that nobody freed, or that others still needed"
    assert _last == before or _tracebacks, f"{what}: {before} before, {_last} after"


def pytest_fixture_post_finalizer(fixturedef):
    """Memory that a fixture of several tests has held is freed: now, or when it is collected."""
    global _last
    if fixturedef.scope != "function":
        _last = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    global _tracebacks
    report = yield
    if report.failed:
        item.failed = _tracebacks = True
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        _path, _line, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"SYCL_EXT_REQUIRE_ALL=1, and this was left out: {reason}"
    return report


# ---- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(params=USM_TYPES)
def usm_type(request):
    return request.param
