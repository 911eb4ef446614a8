# SPDX-License-Identifier: Apache-2.0
"""The findings of a run, as a table."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlpack_conformance.cases import CASES, Case

__all__ = ["PROPERTY", "Finding", "Recorder", "complaint"]

#: The name under which a test passes its finding to the process that writes the report.
PROPERTY = "dlpack_conformance"
BEGIN, END = "<!-- begin: pytest --dlpack-report -->\n", "<!-- end: pytest --dlpack-report -->\n"
WORDS = {"passed": "yes", "failed": "**no**", "died": "**dies**", "not offered": "n/a"}
#: The words of pytest's own summary, in its order.
PYTEST = ("failed", "passed", "skipped", "xfailed")
ORDER = ("died", "failed", "passed", "not offered")  # the worse of two memories counts


@dataclass(frozen=True)
class Finding:
    """The finding of one case in one library.

    Attributes
    ----------
    library, version : str
        The library.
    case : str
        Id of the case.
    memory : {"host", "own"}
        Place of the elements of hand-made structs.
    outcome : {"passed", "failed", "died", "not offered"}
        The outcome.
    text : str
            The reason.
    known : str
        The known defect, if it is known to fail.
    issue : str
        Link to the report.
    """

    library: str
    version: str
    case: str
    memory: str
    outcome: str
    text: str
    known: str = ""
    issue: str = ""

    def dumps(self) -> str:
        """Return it as a text that can be sent to another process."""
        return json.dumps(asdict(self))


def complaint(path: Path) -> str:
    """Return why no report can be written there, or an empty text."""
    if path.suffix not in (".json", ".md"):
        return f"{path}: the name ends with neither .md nor .json"
    if not path.absolute().parent.is_dir():
        return f"{path}: there is no folder {path.parent}"
    return ""


class Recorder:
    """A plugin of pytest that collects findings, from this process and from xdist's workers.

    Attributes
    ----------
    findings : list of Finding
        In the order of the tests.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._counts_of: dict[str, Counter[str]] = {}  # library -> the words of pytest

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Collect."""
        if report.when != "call":
            return
        texts = [value for name, value in report.user_properties if name == PROPERTY]
        for finding in (Finding(**json.loads(text)) for text in texts):
            self.findings.append(finding)
            word = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            self._counts_of.setdefault(finding.library, Counter())[word] += 1

    @property
    def libraries(self) -> dict[str, str]:
        """Return library -> version."""
        return {finding.library: finding.version for finding in self.findings}

    def worst(self, library: str, case: str) -> Finding | None:
        """Return the worst finding of a case in a library."""
        rows = [row for row in self.findings if (row.library, row.case) == (library, case)]
        return min(rows, key=lambda row: ORDER.index(row.outcome), default=None)

    def summary(self) -> str:
        """Count as pytest does, in a line for each library.

        "skipped" is what a library does not offer, and "xfailed" a known defect; "died" counts the
        processes that ended among those that failed.
        """
        lines = []
        for library, version in self.libraries.items():
            counts = self._counts_of[library]
            said = ", ".join(f"{counts[what]} {what}" for what in PYTEST if counts[what])
            died = sum((row.library, row.outcome) == (library, "died") for row in self.findings)
            lines.append(f"{library} {version}: {said}" + (f" ({died} died)" if died else ""))
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Write the report; in a page that has the marks of one, between them."""
        if path.suffix == ".json":
            text = json.dumps([asdict(row) for row in self.findings], indent=1) + "\n"
        else:
            head, tail = "", ""
            if path.exists() and BEGIN in (page := path.read_text(encoding="utf-8")):
                head, rest = page.split(BEGIN)
                tail = rest.split(END)[1]
            text = f"{head}{BEGIN}\n{self.markdown()}\n{END}{tail}"
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def markdown(self) -> str:
        """Return the counts, the table of cases, and the cases that did not pass."""
        versions = ", ".join(f"{name} {version}" for name, version in self.libraries.items())
        paragraphs = [f"With {versions}.", self._counts(), self._table(), self._failures()]
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"

    def _rows(self) -> list[Case]:
        seen = {row.case for row in self.findings}
        return [case for case in CASES.values() if case.id in seen]

    def _counts(self) -> str:
        lines = [_row("group", *self.libraries), _row(*["---"] * (len(self.libraries) + 1))]
        for level, side in dict.fromkeys((case.level, case.side) for case in self._rows()):
            cells = []
            for library in self.libraries:
                ids = [case.id for case in self._rows() if (case.level, case.side) == (level, side)]
                words = [worst.outcome for id_ in ids if (worst := self.worst(library, id_))]
                tried = [word for word in words if word != "not offered"]
                passed = tried.count("passed")
                cells.append(f"{passed} of {len(tried)}" if tried else "n/a")
            lines.append(_row(f"{level}, {side}", *cells))
        return "\n".join(lines)

    def _table(self) -> str:
        lines = [
            _row("case", "clause", *self.libraries),
            _row(*["---"] * (len(self.libraries) + 2)),
        ]
        group = ""
        for case in self._rows():
            if group != (group := f"**{case.level}**, {case.side}"):
                lines.append(_row(group, *[""] * (len(self.libraries) + 1)))
            url = case.clause.url
            clause = f"[{case.clause.name}]({url})" if url else case.clause.name
            cells = [
                WORDS[worst.outcome] if (worst := self.worst(library, case.id)) else ""
                for library in self.libraries
            ]
            lines.append(_row(case.text.replace("**", r"\*\*"), clause, *cells))
        return "\n".join(lines)

    def _failures(self) -> str:
        lines = []
        for row in self.findings:
            if row.outcome in ("failed", "died"):
                memory = ", memory of its own device" if row.memory == "own" else ""
                known = row.known or "not in `Adapter.known`"
                issue = f" ([issue]({row.issue}))" if row.issue else ""
                text = textwrap.shorten(row.text, 200)  # torch lists its backends
                text = text.replace("*", r"\*").replace("<", r"\<")
                lines.append(f"- **{row.library}**, `{row.case}`{memory}: {text}. {known}{issue}.")
        return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
