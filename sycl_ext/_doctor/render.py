# SPDX-License-Identifier: Apache-2.0
"""Facts and findings, as text for people and as JSON for programs.  Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from sycl_ext._doctor.facts import SCHEMA, Facts, Finding, Outcome, Step
from sycl_ext._doctor.text import WIDTH, table, wrap
from sycl_ext._setup.hierarchy import explain_hierarchy

MARKS: dict[Outcome, str] = {
    "ok": "{}",
    "failed": "{} FAILED",
    "crashed": "{} CRASHED",
    "skipped": "({})",
}


def as_json(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return the report for programs; docs/doctor.md describes it."""
    report = {
        "schema": SCHEMA,
        "ok": not any(finding.severity == "problem" for finding in findings),
        "findings": [asdict(finding) for finding in findings],
        "facts": asdict(facts),
    }
    return json.dumps(report, indent=2)


def as_text(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return the report for people: what is there, and at the end what is wrong."""
    sections: dict[str, Callable[[Facts], Iterator[str]]] = {
        "runtime": runtime_lines,
        "drivers": driver_lines,
        "Intel GPUs": gpu_lines,
        "environment": environment_lines,
        "devices": device_lines,
        "self-test": self_test_lines,
    }
    if facts.full:
        sections["full self-test"] = full_lines
    parts = [f"sycl_ext {facts.packages.get('sycl_ext', '?')} in {facts.prefix}"]
    for title, lines_of in sections.items():
        lines = "\n".join(lines_of(facts)).splitlines()
        parts.append("\n".join([title, *(f"  {line}".rstrip() for line in lines)]))
    parts.append("\n\n".join([verdict(findings), *map(finding_text, numbered(findings))]))
    return "\n\n".join(parts)


# ---- sections ------------------------------------------------------------------------------------


def runtime_lines(facts: Facts) -> Iterator[str]:
    """Describe versions, and the libraries that were loaded."""
    versions = {"Python": facts.python, **facts.packages}
    versions.pop("sycl_ext", None)
    yield wrapped("  ".join(f"{name}=={version}" for name, version in versions.items()))
    if facts.libraries:
        rows = [
            (short(library.path, facts), library.package or "of no package here")
            for library in facts.libraries
        ]
        yield table((), rows)


def driver_lines(facts: Facts) -> Iterator[str]:
    """Describe the drivers that are named."""
    for driver in facts.drivers:
        yield short(driver.path or "nothing", facts)
        state = f"BROKEN: {driver.error}" if driver.error else "can be loaded"
        yield wrapped(f"named by {short(driver.named_by, facts)}; {state}", "  ")
    if not facts.drivers:
        yield "none is named"


def gpu_lines(facts: Facts) -> Iterator[str]:
    """Describe GPUs on the bus, and their nodes."""
    for gpu in facts.gpus:
        yield f"{gpu.address} on the PCI bus, {gpu.module or 'no'} kernel driver"
    for node in facts.nodes:
        may = "can be opened" if node.accessible else "CANNOT BE OPENED"
        yield f"{node.path}  {node.mode} {node.owner} {node.group}  {may}"
    if facts.nodes:
        yield wrapped(f"groups of {facts.user.name}: {' '.join(facts.user.groups)}")
    if not facts.gpus and not facts.nodes:
        yield "none on the PCI bus, none in /dev/dri"


def environment_lines(facts: Facts) -> Iterator[str]:
    """Describe what the environment does to the ids."""
    for name, value in facts.environment.items():
        yield wrapped(f"{name}={value}", "", "  ")
    for line in explain_hierarchy(facts.environment):
        yield wrapped(line, "- ")


def device_lines(facts: Facts) -> Iterator[str]:
    """Describe the device table."""
    if not facts.devices:
        yield "NONE"
        return
    header = ("id", "device", "name", "driver", "USM", "fp64")
    rows = [
        (
            str(device.id),
            device.filter_string,
            device.name,
            device.driver_version,
            "yes" if device.usm_types else "no",
            "yes" if device.fp64 else "no",
        )
        for device in facts.devices
    ]
    yield table(header, rows, right="id")


def self_test_lines(facts: Facts) -> Iterator[str]:
    """Describe what was tried, device by device."""
    groups: dict[str, list[Step]] = {}
    for step in facts.steps:
        group = step.name.rpartition(":" if ":" in step.name else " ")[0] or step.name
        groups.setdefault(group, []).append(step)
    width = max(map(len, groups), default=0)
    for group, steps in groups.items():
        done = ", ".join(MARKS[step.outcome].format(name_in(step, group)) for step in steps)
        wrong = any(step.outcome in ("failed", "crashed") for step in steps)
        yield wrapped(done, f"{'WRONG' if wrong else 'ok':5}  {group.ljust(width)}  ")


def full_lines(facts: Facts) -> Iterator[str]:
    """Describe what the full self-test found out, device by device."""
    for device in facts.devices:
        yield f"device {device.id}: {device.name} ({device.filter_string}, {device.driver_version})"
        group = f"device {device.id}"
        for step in facts.steps:
            if step.name.startswith(f"{group}: ") and step.detail:
                outcome = "" if step.outcome == "ok" else f"{step.outcome}: "
                yield wrapped(f"{name_in(step, group)}: {outcome}{step.detail}", "  ", "    ")
        rows = [
            (
                f"{one.what}, {one.nbytes / (1 << 20):g} MiB",
                f"{one.gb_per_s:.2f}",
                f"{one.plain_gb_per_s:.2f}",
                f"{one.gb_per_s / one.plain_gb_per_s:.2f}" if one.plain_gb_per_s else "",
            )
            for one in facts.measurements
            if one.device == device.id
        ]
        if rows:
            header = ("copy", "GB/s", "memcpy", "ratio")
            yield "\n".join(
                f"  {line}" for line in table(header, rows, right="GB/s memcpy ratio").splitlines()
            )


def name_in(step: Step, group: str) -> str:
    """Return the name of a step without that of its group."""
    return step.name.removeprefix(group).lstrip(": ") or step.name


# ---- findings ------------------------------------------------------------------------------------


def verdict(findings: Sequence[Finding]) -> str:
    """Say in a line how it is."""
    counts = [
        (sum(finding.severity == severity for finding in findings), severity)
        for severity in ("problem", "warning")
    ]
    words = [f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count]
    return f"RESULT: {' and '.join(words) or 'all is well'}"


def numbered(findings: Sequence[Finding]) -> Iterator[tuple[int, Finding]]:
    """Number the findings."""
    return enumerate(findings, 1)


def finding_text(item: tuple[int, Finding]) -> str:
    """Return a finding: the problem, its cause, and an arrow to the cure."""
    number, finding = item
    lines = [
        wrap(f"{finding.severity}: {finding.problem}", f"{number}. "),
        wrap(f"cause: {finding.cause}", "   "),
        f"   -> {finding.cure}",  # never wrapped: it is there to be copied
    ]
    if finding.then:
        lines.append(wrap(finding.then, "      "))
    return "\n".join(lines)


# ---- words ---------------------------------------------------------------------------------------


def wrapped(text: str, first: str = "", rest: str | None = None) -> str:
    """Wrap a line of a section, which is two columns further in."""
    return wrap(text, first, rest, WIDTH - 2)


def short(path: str, facts: Facts) -> str:
    """Return a path, relative to the environment when it is in it."""
    return path.removeprefix(f"{facts.prefix}/") if facts.prefix else path
