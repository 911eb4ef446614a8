# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: SYCL devices on any machine, and the options of the conformance kit.

pytest loads it in each session, by its entry point; so it imports nothing before it is asked for
something.  It is a package of its own, since the import of `sycl_ext` loads the SYCL runtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__: list[str] = []

LEVELS = {
    "must": "what a specification of DLPack demands",
    "should": "what it recommends, and what other libraries rely on",
    "robust": "bad input that a library survives",
}
_recorder = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("sycl_ext", "sycl_ext: SYCL devices, and DLPack")
    group.addoption(
        "--sycl-device",
        choices=("cpu", "gpu"),
        help="the SYCL devices of this session: the CPU of intel-opencl-rt, alone, or before it a "
        "GPU that is this CPU inside",
    )
    group.addoption(
        "--dlpack",
        action="append",
        default=[],
        metavar="LIBRARY",
        help="with --pyargs sycl_ext.testing: the library to check, or package.module:adapter; "
        "several with commas",
    )
    group.addoption(
        "--dlpack-report",
        type=Path,
        metavar="FILE",
        help="where to write what was found, as a table (.md) or as data (.json)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Select the devices, before anything can load the SYCL runtime."""
    options = early_config.known_args_namespace
    if options.sycl_device is not None:
        from sycl_ext_pytest import devices

        devices.select(options.sycl_device)
    elif "sycl_ext" in options.plugins:  # -p sycl_ext
        import sycl_ext  # noqa: F401  # makes the CPU device of pip known


def pytest_configure(config: pytest.Config) -> None:
    """Know the groups of cases, and collect what they find."""
    if not config.getoption("dlpack"):
        return
    from sycl_ext.testing.report import Recorder, complaint

    path = config.getoption("dlpack_report")
    if path is not None and (wrong := complaint(path)):
        raise pytest.UsageError(f"--dlpack-report={wrong}")
    for name, text in LEVELS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    config.stash[_recorder] = recorder = Recorder()
    config.pluginmanager.register(recorder, "sycl_ext_recorder")


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: Any, exitstatus: int, config: pytest.Config
) -> Iterator[None]:
    """Write the table, unless Ctrl-C left it unfinished."""
    recorder = config.stash.get(_recorder, None)
    path = config.getoption("dlpack_report")
    if recorder is not None and recorder.found:
        terminalreporter.section("DLPack conformance")
        terminalreporter.write_line(recorder.summary())
        if path is not None and exitstatus == pytest.ExitCode.INTERRUPTED:
            terminalreporter.write_line(f"interrupted: {path} is not written")
        elif path is not None:
            recorder.write(path)
            terminalreporter.write_line(f"written: {path}")
    yield
