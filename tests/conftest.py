# SPDX-License-Identifier: Apache-2.0
"""The tests of this session: in which order, on which devices, and which are left out.

`every_test` has the setup of each of them.  This process sees only the OpenCL CPU
device (``support/environments.py``).  The tests in the folders of ``environments/`` run in
processes of their own, which ``environments/test_environments.py`` starts.
"""

from __future__ import annotations

import gc
import os
import re

import pytest

gc.disable()  # until the first test: imports leave no garbage, but very much to look at

# First, because it chooses the devices.
from every_test import (  # noqa: E402, F401
    IS_CPU,
    REQUIRE_ALL,
    nothing_leaks,
    pytest_fixture_post_finalizer,
    pytest_runtest_makereport,
    usm_type,
)

# isort: split
import environments  # noqa: E402
import samples  # noqa: E402
import sycl_ext as sx  # noqa: E402
import without_dpctl  # noqa: E402
from needs import LACKS, needed  # noqa: E402
from scheduling import scheduler  # noqa: E402

if IS_CPU:
    folders = (environments.TESTS / "environments").iterdir()
    collect_ignore = [path for path in folders if path.is_dir()]
    if "SYCL_EXT_LMCACHE" not in os.environ:
        collect_ignore.append(environments.TESTS / "programs" / "adapters" / "test_lmcache.py")
    if not environments.NEO:
        collect_ignore += [
            environments.TESTS / "environments" / f"test_driver_{name}.py"
            for name in ("answers", "reports")
        ]

# ---- test environments ---------------------------------------------------------------------------

NAME = os.environ.get("SYCL_EXT_ENVIRONMENT", "cpu")
#: What the environment of this process lacks, and why.
LACKING = LACKS.get(NAME, {})
#: What cannot run without dpctl, and why.
names_dpctl: dict[str, str] = {}


def leave_out(config, items):
    """Deselect the tests of features that the environment lacks, rather than skip them."""
    lacking = {item for item in items if not LACKING.keys().isdisjoint(needed(item))}
    if NAME == "no_dpctl":
        reasons = {item: without_dpctl.why_left_out(item) for item in items}
        lacking |= {item for item, reason in reasons.items() if reason}
        names_dpctl.update((item.nodeid, reason) for item, reason in reasons.items() if reason)
    config.hook.pytest_deselected(items=list(lacking))
    items[:] = [item for item in items if item not in lacking]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A module that imports dpctl is left out where there is none, also by `importorskip`."""
    report = yield
    excinfo = getattr(getattr(report, "call", None), "excinfo", None)
    if NAME == "no_dpctl" and excinfo and without_dpctl.is_import_of_it(excinfo.value):
        names_dpctl[collector.nodeid] = "the module imports it"
        report.outcome, report.longrepr, report.result, report.call = "passed", None, [], None
    return report


# ---- several workers -----------------------------------------------------------------------------

#: Files whose tests start other processes and wait for them. They come first, the longest at the
#: beginning, so that no worker is without other work at the end.
WAITING = (
    "test_usm_view.py",
    "test_extension_examples.py",
    "test_extension_table.py",
    "test_environments.py",
    "test_doctor_full.py",
    "test_kit.py",
    "test_sync.py",
    "test_collector.py",
    "test_typing.py",
    "test_doctor_runs.py",
    "test_hard_cases.py",
    "test_two_runtimes.py",
    "test_level_zero_devices.py",
)
#: Files whose tests share what one of them builds, or must not run at the same time.
TOGETHER = (
    "test_clusters.py",
    "test_ranks.py",
    "test_usm_view.py",
    "test_extension_table.py",
    "test_level_zero_devices.py",
    "test_pending.py",
    "test_typing.py",
)


def pytest_addoption(parser):
    parser.addoption(
        "--left-out", action="store_true", help="only the tests that earlier runs have left out"
    )


def pytest_ignore_collect(collection_path, config):
    """With ``--left-out`` only the files of these tests are imported."""
    if config.getoption("--left-out") and collection_path.suffix == ".py":
        files = {name.partition("::")[0] for name in config.cache.get(LEFT_OUT, [])}
        if str(collection_path.relative_to(config.rootpath)) not in files:
            return True
    return None  # others decide


def pytest_collection_modifyitems(config, items):
    """Every day the tests that are not marked ``long``; ``make test-long`` runs the rest.

    In the environments that it starts, ``make test-long`` runs everything.
    """
    if config.getoption("--left-out"):
        names = set(config.cache.get(LEFT_OUT, []))
        config.hook.pytest_deselected(
            items=[collected for collected in items if collected.nodeid not in names]
        )
        items[:] = [collected for collected in items if collected.nodeid in names]
    if not (environments.LONG and "SYCL_EXT_ENVIRONMENT" in os.environ):
        others = [
            item for item in items if bool(item.get_closest_marker("long")) != environments.LONG
        ]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    leave_out(config, items)
    first = {name: number for number, name in enumerate(WAITING)}
    items.sort(key=lambda item: first.get(item.path.name, len(first)))


def pytest_collection_finish():
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduler(config, log, lambda path: path if path.endswith(TOGETHER) else None)


# ---- no hidden skips -----------------------------------------------------------------------------

# A test that is skipped fails (above); here are the modules that are skipped as they are collected.

_skipped: list[str] = []


def pytest_collectreport(report):
    if report.skipped:
        _skipped.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if REQUIRE_ALL and _skipped and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if names_dpctl:
        terminalreporter.section("left out, because they need dpctl")
        for nodeid, reason in names_dpctl.items():
            terminalreporter.line(f"{nodeid}: {reason}")
    if REQUIRE_ALL and _skipped:
        terminalreporter.section("SYCL_EXT_REQUIRE_ALL=1, and these were skipped", red=True)
        for nodeid in _skipped:
            terminalreporter.line(nodeid)


# ---- tests that were left out -------------------------------------------------------------------

#: In the cache of pytest: the names of tests that were skipped, and have not passed since.
LEFT_OUT = "sycl_ext/left_out"


def pytest_unconfigure(config):
    """Remember the skipped tests for ``--left-out``, and say which packages of Debian it needs."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    cache = getattr(config, "cache", None)
    if terminal is None or cache is None or hasattr(config, "workerinput"):
        return
    skipped = terminal.stats.get("skipped", [])
    passed = {report.nodeid for report in terminal.stats.get("passed", [])}
    names = {*cache.get(LEFT_OUT, []), *(report.nodeid for report in skipped)} - passed
    cache.set(LEFT_OUT, sorted(names))
    needs = [re.search(r": install ([\w-]+), or set ", report.longrepr[2]) for report in skipped]
    if packages := sorted({need[1] for need in needs if need}):
        terminal.line(
            f"left out: {sum(map(bool, needs))} tests; to run them: apt-get install "
            f"--no-install-recommends {' '.join(packages)} && make test-left-out"
        )


# ---- fixtures ------------------------------------------------------------------------------------


@pytest.fixture
def root():
    """The entry of the default device."""
    return sx.device()


@pytest.fixture(scope="session")
def private():
    """An entry for a context that is not the default context of its device."""
    import dpctl

    return sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))


@pytest.fixture(scope="session")
def halves():
    """The entries of two sub-devices: tiles of a GPU, or halves of a CPU."""
    return samples.halves()
