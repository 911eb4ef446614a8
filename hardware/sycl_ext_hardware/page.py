# SPDX-License-Identifier: Apache-2.0
"""The report as a page of Markdown, a pure function of the JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sycl_ext_hardware.table import BAD

#: Verdicts, in the order of the columns.
VERDICTS = ("held", *BAD, "cannot")
#: The most characters of a page: fewer than an issue on GitHub takes, for the rest of the form.
MOST = 60_000
#: The most characters of a detail, tried in this order until the page fits.
LONGEST = (240, 120, 60, 20)

Json = Mapping[str, Any]


def as_page(report: Json) -> str:
    """Return the page, with details that are short enough for an issue."""
    pages = (render(report, longest) for longest in LONGEST)
    return next((page for page in pages if len(page) <= MOST), render(report, LONGEST[-1]))


def render(report: Json, longest: int) -> str:
    """Return the page, with details of so many characters at most."""
    parts = [
        {
            **part,
            "rows": [{**row, "detail": shortened(row["detail"], longest)} for row in part["rows"]],
        }
        for part in report["parts"]
    ]
    sections = (head, table_of_parts, table_of_bad, table_of_cannot, details)
    made = {**report, "parts": parts}
    return "\n".join(line for section in sections for line in (*section(made), "")).rstrip() + "\n"


def shortened(text: str, longest: int) -> str:
    """Return text in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def summary(report: Json) -> str:
    """Return the counts in one line, such as "204 held, 1 did not hold, 12 cannot"."""
    counts = Counter(row["verdict"] for row in rows_of(report))
    words = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    if not counts["did not hold"]:
        words.insert(1, "0 did not hold")
    return ", ".join(words)


def rows_of(report: Json) -> Iterator[Json]:
    """Yield the rows of all parts, with the name of the part."""
    for part in report["parts"]:
        for row in part["rows"]:
            yield {**row, "part": part["name"]}


def cell(text: object) -> str:
    """Return text as a cell of a table; Markdown and HTML read none of its characters."""
    return str(text).replace("|", r"\|").replace("<", "&lt;")


def table(header: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell(value) for value in row)} |"


def head(report: Json) -> Iterator[str]:
    """Yield the result, the device and the versions."""
    device, machine = report["device"], report["machine"]
    yield f"# sycl_ext on {device['name']} ({device['filter_string']})"
    yield ""
    yield f"**{summary(report)}.** {report['date']}, {report['seconds']:.0f} s"
    yield ""
    facts = {
        "device": f"{device['name']}, {device['backend']}, driver {device['driver_version']}",
        "USM": ", ".join(device["usm_types"]) or "none",
        "pending work": report["work"],
        "size": "small (--quick)" if report["quick"] else "full",
        "other devices": others(report),
        "system": f"{machine['platform']}, Python {machine['python']}, "
        f"{machine['processors']} processors",
        "kernel driver": ", ".join(gpu["module"] or "none" for gpu in machine["gpus"]) or "unknown",
        "packages": ", ".join(f"{name} {version}" for name, version in machine["packages"].items()),
        "environment": ", ".join(f"{k}={v}" for k, v in machine["environment"].items())
        or "nothing",
    }
    yield from table(("", ""), ((name, text) for name, text in facts.items()))


def others(report: Json) -> str:
    """Return the devices that were not examined, for --device."""
    names = [
        device["filter_string"] + ("" if device["usm_types"] else " (without USM)")
        for device in report["other_devices"]
    ]
    return ", ".join(names) or "none"


def table_of_parts(report: Json) -> Iterator[str]:
    """Yield a row for each part: its question and the numbers of its verdicts."""
    counted = [(part, Counter(row["verdict"] for row in part["rows"])) for part in report["parts"]]
    shown = [v for v in VERDICTS if v in ("held", "did not hold", "cannot") or
             any(counts[v] for _, counts in counted)]  # fmt: skip
    yield "## Questions"
    yield ""
    yield from table(
        ("part", "question", *shown, "seconds"),
        (
            (part["name"], part["question"], *(counts[v] for v in shown), part["seconds"])
            for part, counts in counted
        ),
    )


def table_of_bad(report: Json) -> Iterator[str]:
    """Yield the rows that did not hold."""
    bad = [row for row in rows_of(report) if row["verdict"] in BAD]
    yield "## Did not hold"
    yield ""
    if not bad:
        yield "Nothing."
        return
    yield from table(
        ("part", "row", "verdict", "how"),
        ((row["part"], row["row"], row["verdict"], row["detail"]) for row in bad),
    )


def table_of_cannot(report: Json) -> Iterator[str]:
    """Yield the reasons for which the device cannot do something, with the rows of each."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows_of(report):
        if row["verdict"] == "cannot":
            reasons.setdefault((row["part"], row["detail"]), []).append(row["row"])
    yield "## The device cannot do"
    yield ""
    if not reasons:
        yield "Everything that was asked can be done."
        return
    yield from table(
        ("part", "rows", "because"),
        ((part, "; ".join(names), reason) for (part, reason), names in reasons.items()),
    )


def details(report: Json) -> Iterator[str]:
    """Yield the rows that held, part by part, and the figures."""
    yield "## Held"
    for part in report["parts"]:
        held = [row for row in part["rows"] if row["verdict"] == "held"]
        plain = [row for row in held if "figures" not in row]
        names = list(dict.fromkeys(name for row in held for name in row.get("figures", ())))
        yield ""
        yield f"<details><summary>{part['name']}: {len(held)}</summary>"
        yield ""
        if plain:
            yield from table(("row", ""), ((row["row"], row["detail"]) for row in plain))
            yield ""
        if names:
            measured = (
                (row["row"], *(row["figures"].get(name, "") for name in names))
                for row in held
                if "figures" in row
            )
            yield from table(("row", *names), measured)
            yield ""
        yield "</details>"
