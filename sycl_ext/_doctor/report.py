# SPDX-License-Identifier: Apache-2.0
"""The report, made of facts and findings: text for people, and JSON for programs."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence

from sycl_ext._doctor.finding import Finding
from sycl_ext._doctor.machine import SCHEMA, Machine, Step
from sycl_ext._setup.hierarchy import explain_hierarchy

WIDTH = 80
#: A distribution of its own, which examines one device for minutes.
HARDWARE = "to examine a GPU: pip install ./hardware (in a clone); sycl-ext-hardware"
MARKS = {"ok": "{}", "failed": "{} FAILED", "crashed": "{} CRASHED", "skipped": "({})"}


def as_json(machine: Machine, findings: Sequence[Finding]) -> str:
    """Return the report for programs; docs/doctor.md describes it."""
    report = {
        "schema": SCHEMA,
        "ok": not any(finding.severity == "problem" for finding in findings),
        "findings": findings,
        "facts": machine.facts(),
    }
    return json.dumps(report, indent=2, default=vars)


def as_text(machine: Machine, findings: Sequence[Finding]) -> str:
    """Return the report for people: the facts, and at the end the findings."""
    blocks = [f"sycl_ext {machine.packages.get('sycl_ext', '?')} in {machine.prefix}"]
    for title, lines_of in SECTIONS:
        lines = "\n".join(lines_of(machine)).splitlines()
        blocks.append("\n".join([title, *(f"  {line}".rstrip() for line in lines)]))
    severities = [finding.severity for finding in findings]
    counts = {name: severities.count(name) for name in ("problem", "warning")}
    words = [f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items() if count]
    blocks.append(f"RESULT: {' and '.join(words) or 'all is well'}")
    for number, finding in enumerate(findings, 1):
        lines = [
            wrap(f"{finding.severity}: {finding.problem}", f"{number}. "),
            wrap(f"cause: {finding.cause}", "   "),
            f"   -> {finding.cure}",  # never wrapped: it is there to be copied
        ]
        if finding.then:
            lines.append(wrap(finding.then, "      "))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def runtime_lines(machine: Machine) -> Iterator[str]:
    """Describe the versions, and the libraries that each step has loaded."""
    versions = {"Python": machine.python, **machine.packages}
    versions.pop("sycl_ext", None)
    yield wrapped("  ".join(f"{name}=={version}" for name, version in versions.items()))
    yield table(
        *((short(library.path, machine), library.loaded_by) for library in machine.libraries)
    )


def driver_lines(machine: Machine) -> Iterator[str]:
    """Describe the drivers that are named."""
    for driver in machine.drivers:
        yield short(driver.path or "nothing", machine)
        state = f"BROKEN: {driver.error}" if driver.error else "can be loaded"
        yield wrapped(f"named by {short(driver.named_by, machine)}; {state}", "  ")
    if not machine.drivers:
        yield "none is named"


def gpu_lines(machine: Machine) -> Iterator[str]:
    """Describe GPUs on the bus, and their nodes."""
    for gpu in machine.gpus:
        yield f"{gpu.address} on the PCI bus, {gpu.module or 'no'} kernel driver"
    for node in machine.nodes:
        may = "can be opened" if node.accessible else "CANNOT BE OPENED"
        yield f"{node.path}  {node.mode} {node.owner} {node.group}  {may}"
    for other in machine.other_gpus:
        yield f"{other.node}  driver of {other.vendor}"
    if machine.nodes:
        yield wrapped(f"groups of {machine.user.name}: {' '.join(machine.user.groups)}")
    if not machine.gpus and not machine.nodes:
        yield "Intel: none on the PCI bus, none in /dev/dri"


def environment_lines(machine: Machine) -> Iterator[str]:
    """Describe the effect of the environment on the ids."""
    for name, value in machine.environment.items():
        yield wrapped(f"{name}={value}", "", "  ")
    for line in explain_hierarchy(machine.environment, has_devices=bool(machine.devices)):
        yield wrapped(line, "- ")


def device_lines(machine: Machine) -> Iterator[str]:
    """Describe the device table."""
    if not machine.devices:
        yield "NONE"
        return
    rows = []
    for device in machine.devices:
        has = ["yes" if fact else "no" for fact in (device.usm_types, device.fp64)]
        names = str(device.id), device.filter_string, device.name, device.driver_version
        rows.append((*names, *has))
    yield table(("id", "device", "name", "driver", "USM", "fp64"), *rows, right=1)
    if any(device.device_type == "gpu" for device in machine.devices):
        yield HARDWARE


def self_test_lines(machine: Machine) -> Iterator[str]:
    """Describe the tests, device by device."""
    groups: dict[str, list[Step]] = {}
    for step in machine.steps:
        group = step.name.rpartition(":" if ":" in step.name else " ")[0] or step.name
        groups.setdefault(group, []).append(step)
    width = max(map(len, groups), default=0)
    for group, steps in groups.items():
        done = []
        for step in steps:
            name = step.name.removeprefix(group).lstrip(": ") or step.name
            if step.detail and not step.went_wrong:
                name += f": {step.detail}"
            done.append(MARKS[step.outcome].format(name))
        wrong = any(step.went_wrong for step in steps)
        yield wrapped(", ".join(done), f"{'WRONG' if wrong else 'ok':5}  {group.ljust(width)}  ")


SECTIONS: tuple[tuple[str, Callable[[Machine], Iterator[str]]], ...] = (
    *(("runtime", runtime_lines), ("drivers", driver_lines), ("GPUs", gpu_lines)),
    *(("environment", environment_lines), ("devices", device_lines)),
    ("self-test", self_test_lines),
)


def wrapped(text: str, first: str = "", rest: str | None = None) -> str:
    """Wrap a line of a section, which is two columns further in."""
    return wrap(text, first, rest, WIDTH - 2)


def short(path: str, machine: Machine) -> str:
    """Return a path, relative to the environment when it is in it."""
    return path.removeprefix(f"{machine.prefix}/") if machine.prefix else path


def table(*rows: Sequence[str], right: int = 0) -> str:
    """Return rows in aligned columns, of which the first ones are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i < right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def wrap(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> str:
    """Return a sentence in lines of so many columns; a word, such as a path, is never cut.

    `first` and `rest` begin the first line and the others; None: as many spaces as `first` has.
    """
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
