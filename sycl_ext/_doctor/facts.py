# SPDX-License-Identifier: Apache-2.0
"""What the doctor knows about a machine, and what it concludes.  Pure data.

The names of the fields are the names in the JSON report: who changes them raises `SCHEMA`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: The version of the JSON report.
SCHEMA = 1

Severity = Literal["problem", "warning"]

#: Libraries of which a process must have one copy, and how bad two are.
ONCE: dict[str, Severity] = {
    "libsycl": "problem",
    "libur_loader": "problem",
    "libOpenCL": "warning",
}

#: Variables that hide devices.
SELECTORS = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "SYCL_DEVICE_ALLOWLIST")

Outcome = Literal["ok", "failed", "crashed", "skipped"]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes
    ----------
    id : str
        Which check found it.
    severity : {"problem", "warning"}
        A problem makes the exit code 1.
    problem, cause : str
        What does not work, and why.
    cure : str
        The command that mends it.
    then : str
        What a command cannot do, such as logging in again; often empty.
    """

    id: str
    severity: Severity
    problem: str
    cause: str
    cure: str
    then: str = ""


@dataclass(frozen=True)
class Library:
    """A library of the runtime, as it was loaded: by which step, and which package it is from."""

    path: str
    package: str = ""
    loaded_by: str = ""

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Return where the file is."""
        return self.path.rpartition("/")[0]

    @property
    def family(self) -> str:
        """Return ``"libsycl"`` for any version of it."""
        return self.file.partition(".so")[0]


@dataclass(frozen=True)
class Runtime:
    """A package that wants another SYCL runtime than ours: a file it brings, or a requirement."""

    package: str
    wants: str


@dataclass(frozen=True)
class Missing:
    """A requirement that is not installed, or the libraries of a package that are not there."""

    requirement: str
    wanted_by: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Driver:
    """A driver's library: what names it, and why it cannot be loaded (empty: it can)."""

    path: str
    named_by: str
    error: str = ""


@dataclass(frozen=True)
class Node:
    """A file in /dev/dri through which programs reach a GPU."""

    path: str
    owner: str
    group: str
    mode: str
    accessible: bool

    @property
    def group_may(self) -> bool:
        """Say whether the mode lets the group read and write."""
        return self.mode[4:6] == "rw"


@dataclass(frozen=True)
class Gpu:
    """An Intel GPU on the PCI bus, and the module of the kernel that drives it."""

    address: str
    module: str = ""


@dataclass(frozen=True)
class User:
    """Who runs this: groups of the process, and groups in the user database."""

    name: str = ""
    groups: tuple[str, ...] = ()
    groups_at_login: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceFacts:
    """An entry of the device table."""

    id: int
    filter_string: str
    name: str
    backend: str
    device_type: str
    driver_version: str
    usm_types: tuple[str, ...]
    fp64: bool


@dataclass(frozen=True)
class Measurement:
    """How fast a copy is, compared with one plain memcpy command between the same two blocks."""

    device: int
    what: str
    nbytes: int
    gb_per_s: float
    plain_gb_per_s: float


@dataclass(frozen=True)
class Step:
    """Something that was tried in a process of its own.

    Its name is ``"import dpnp"``, ``"list devices"`` or ``"device 0: copy"``.  The detail is an
    error, why it was skipped, or what the full self-test has found out.
    """

    name: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that is known about a machine."""

    python: str = ""
    executable: str = ""
    prefix: str = ""
    platform: str = ""
    in_container: bool = False
    packages: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    origin: str = ""
    source_tree: str = ""
    missing: tuple[Missing, ...] = ()
    unreadable: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    embedded_driver: str = ""
    drivers: tuple[Driver, ...] = ()
    bus_visible: bool = True
    gpus: tuple[Gpu, ...] = ()
    nodes: tuple[Node, ...] = ()
    user: User = User()
    ptrace_scope: int | None = None
    full: bool = False
    steps: tuple[Step, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    libraries: tuple[Library, ...] = ()
    other_runtimes: tuple[Runtime, ...] = ()
    devices: tuple[DeviceFacts, ...] = ()
    devices_without_selector: tuple[DeviceFacts, ...] = ()
    runtime_messages: tuple[str, ...] = ()

    def went_wrong(self, name: str) -> Step | None:
        """Return a step that was tried and went wrong."""
        wrong = (step for step in self.steps if step.outcome in ("failed", "crashed"))
        return next((step for step in wrong if step.name == name), None)
