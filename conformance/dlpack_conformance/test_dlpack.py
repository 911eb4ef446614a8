# SPDX-License-Identifier: Apache-2.0
"""The kit: ``pytest --pyargs dlpack_conformance --dlpack=LIBRARY``."""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Callable, Iterator

import pytest

from dlpack_conformance.cases import CASES, Case
from dlpack_conformance.known import Known
from dlpack_conformance.report import PROPERTY, Finding
from dlpack_conformance.runner import Library


@functools.cache
def library_of(name: str) -> Library:
    """Return the library of a name; its processes live until the session ends."""
    return Library(name)


@pytest.fixture(scope="session", autouse=True)
def _processes(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in names(request.config):
        library_of(name).close()


def names(config: pytest.Config) -> list[str]:
    """Return the libraries that ``--dlpack`` names."""
    given = [name for text in config.getoption("dlpack") for name in text.split(",") if name]
    return list(dict.fromkeys(given))


def cases_of(name: str) -> Iterator[tuple[Case, str]]:
    """Return the cases of a library, with the places of the memory of hand-made structs."""
    hello = library_of(name).hello()
    if "error" in hello:
        raise pytest.UsageError(f"--dlpack={name}: {hello['error']}")
    for case in [case for case in CASES.values() if case.side in hello["sides"]]:
        for memory in hello["memories"] if case.side == "consumer" else hello["memories"][:1]:
            yield case, memory


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case, for each library."""
    wanted = names(metafunc.config)
    if not wanted:
        raise pytest.UsageError("which library?  --dlpack=numpy, or torch, dpnp, package:adapter")
    parameters = [
        pytest.param(
            name,
            case,
            memory,
            id=f"{name}-{case.id}-{memory}",
            marks=getattr(pytest.mark, case.level),
        )
        for name in wanted
        for case, memory in cases_of(name)
    ]
    metafunc.parametrize(("name", "case", "memory"), parameters)


def line_of(case: Case, memory: str, text: str, several: bool) -> str:
    """Return the entry of ``Adapter.known`` for a case that fails."""
    where = f', memory="{memory}"' if several and case.side == "consumer" else ""
    reason = json.dumps(textwrap.shorten(text, 100), ensure_ascii=False)
    return f'Known("{case.id}", {reason}{where})'


def test_dlpack(
    name: str, case: Case, memory: str, record_property: Callable[[str, object], None]
) -> None:
    """Run a case in the process of its library."""
    library = library_of(name)
    hello = library.hello()
    outcome = library.run(case, memory)
    known = (Known(**fields) for fields in hello["known"])
    defect = next((row for row in known if row.covers(case.id, memory)), None)
    bad = outcome.what in ("failed", "died")
    finding = Finding(
        name,
        hello["version"],
        case.id,
        memory,
        outcome.what,
        outcome.text,
        defect.reason if defect and bad else "",
        defect.issue if defect and bad else "",
    )
    record_property(PROPERTY, finding.dumps())
    if outcome.what == "not offered":
        pytest.skip(f"{name} {outcome.text}")
    if bad and defect:
        pytest.xfail(f"{outcome.text} [known: {defect.reason} {defect.issue}]")
    if bad:
        line = line_of(case, memory, outcome.text, len(hello["memories"]) > 1)
        pytest.fail(
            f"{case.text}: {outcome.what}: {outcome.text}"
            + f"\n{case.clause.name}: {case.clause.url}" * bool(case.clause.url)
            + f"\nIf this is a known defect, add a line to Adapter.known:\n    {line}",
            pytrace=False,
        )
    if defect and not defect.sometimes:
        pytest.fail(
            f"{name} {hello['version']} passes, and is known to fail: {defect.reason} "
            f"{defect.issue}; see Adapter.known",
            pytrace=False,
        )
