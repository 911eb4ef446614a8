# SPDX-License-Identifier: Apache-2.0
"""The options of the kit, and the findings of a run.

pytest loads this in each session, so it imports nothing until it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__: list[str] = []

LEVELS = {
    "must": "requirements of a DLPack specification",
    "should": "recommendations, and assumptions of other libraries",
    "robust": "bad input that a library has to survive",
}
_recorder = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("dlpack_conformance", "dlpack-conformance: DLPack in any library")
    group.addoption(
        "--dlpack",
        action="append",
        default=[],
        metavar="LIBRARY",
        help="with --pyargs dlpack_conformance: the library to check, or package.module:adapter; "
        "several with commas",
    )
    group.addoption(
        "--dlpack-report",
        type=Path,
        metavar="FILE",
        help="file for the findings, as a table (.md) or as data (.json)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the groups of cases, and collect their findings."""
    if not config.getoption("dlpack"):
        return
    from dlpack_conformance.report import Recorder, complaint

    path = config.getoption("dlpack_report")
    if path is not None and (wrong := complaint(path)):
        raise pytest.UsageError(f"--dlpack-report={wrong}")
    for name, text in LEVELS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    config.stash[_recorder] = recorder = Recorder()
    config.pluginmanager.register(recorder, "dlpack_conformance_recorder")


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: Any, exitstatus: int, config: pytest.Config
) -> Iterator[None]:
    """Write the table, unless Ctrl-C left it unfinished."""
    recorder = config.stash.get(_recorder, None)
    path = config.getoption("dlpack_report")
    if recorder is not None and recorder.findings:
        terminalreporter.section("DLPack conformance")
        terminalreporter.write_line(recorder.summary())
        if path is not None and exitstatus == pytest.ExitCode.INTERRUPTED:
            terminalreporter.write_line(f"interrupted: {path} is not written")
        elif path is not None:
            recorder.write(path)
            terminalreporter.write_line(f"written: {path}")
    yield
