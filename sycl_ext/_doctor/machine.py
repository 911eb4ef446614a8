# SPDX-License-Identifier: Apache-2.0
"""The facts of the doctor about a machine: those that take time are found when requested.

The names of the facts, and of the fields of the records, are those in the JSON report: a change of
them raises `SCHEMA`.  Code that can crash or hang, such as the runtime, is in `processes`.
"""

import contextlib
import grp
import json
import os
import platform
import pwd
import re
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from sycl_ext._doctor.processes import Probed, run_probe
from sycl_ext._ipc import peers
from sycl_ext._setup import icd

#: The version of the JSON report.
SCHEMA = 2

#: The packages whose versions matter.
PACKAGES = (
    *("sycl_ext", "intel-sycl-rt", "intel-cmplr-lib-ur", "intel-opencl-rt"),
    *("dpctl", "dpnp", "numpy", "torch"),
)
#: The packages whose imports and exchanges are tested, in order.
PROBED = ("sycl_ext", "dpctl", "dpnp", "torch")
#: The packages of SYCL runtimes: their versions are years, and a year has a libsycl of its own.
RUNTIMES = ("intel-sycl-rt", "dpcpp-cpp-rt")
#: A SYCL runtime, as compilers and wheels name it.
LIBSYCL = re.compile(r"libsycl(-preview|-[0-9a-f]{8})?\.so\.\d+")
#: Requirements that also have metadata for Python in a conda environment.
CONDA_HAS_METADATA = ("dpctl", "numpy")

Severity = Literal["problem", "warning"]
#: Libraries of which a process must have one copy, and how bad two are.
ONCE: dict[str, Severity] = {
    "libsycl": "problem",
    "libur_loader": "problem",
    "libOpenCL": "warning",
}

#: Variables that hide devices.
SELECTORS = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "SYCL_DEVICE_ALLOWLIST")
#: Variables that change which devices there are, their order, or the loaded libraries.
PREFIXES = ("OCL_ICD_", "OPENCL_", "ONEAPI_", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "FAKEGPU_")
VARIABLES = (
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "NEOReadDebugKeys"),
    *("OverrideDefaultFP64Settings", "IGC_EnableDPEmulation"),
)

#: The libraries through which the runtime finds an Intel GPU.
LEVEL_ZERO = ("libze_loader.so.1", "libze_intel_gpu.so.1")
PCI = "sys/bus/pci/devices"
INTEL, DISPLAY = "0x8086", "0x03"  # the vendor, and the class of all display controllers
#: Vendor -> the backend of SYCL for its GPUs, and files of its driver, of which one is there.
OTHER_VENDORS = {
    "NVIDIA": ("cuda", ("dev/nvidia[0-9]*", "proc/driver/nvidia/version")),
    "AMD": ("hip", ("dev/kfd",)),
}


@dataclass(frozen=True)
class Library:
    """A library of the runtime, as it was loaded: which package it is from, and by which step."""

    path: str
    package: str = ""
    loaded_by: str = ""


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


@dataclass(frozen=True)
class Gpu:
    """An Intel GPU on the PCI bus, and the module of the kernel that drives it."""

    address: str
    module: str = ""


@dataclass(frozen=True)
class OtherGpu:
    """A driver of another vendor's GPUs, and the adapter of the runtime for it (empty: none)."""

    vendor: str
    backend: str
    node: str
    adapter: str


@dataclass(frozen=True)
class User:
    """The user of the process: groups of the process, and groups in the user database."""

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
class Step:
    """Something that was tried in a process of its own."""

    name: str  # such as "import dpnp", "list devices" or "device 0: copy"
    outcome: Literal["ok", "failed", "crashed", "skipped"]
    detail: str = ""  # an error, the reason for the skip, or the finding of the test

    @property
    def went_wrong(self) -> bool:
        """Whether it failed or crashed."""
        return self.outcome in ("failed", "crashed")


#: All facts, as docs/doctor.md describes them.
FACTS = (
    *("python", "executable", "prefix", "platform", "full", "in_container", "packages"),
    *("requirements", "origin", "missing", "environment", "overrides", "embedded_driver"),
    *(
        "drivers",
        "bus_visible",
        "gpus",
        "other_gpus",
        "nodes",
        "user",
        "ptrace_scope",
        "steps",
        "libraries",
    ),
    *("other_runtimes", "devices", "devices_without_selector", "runtime_messages"),
)


class Machine:
    """Everything that is known of a machine, apart from facts that are `known` already.

    ``dev``, ``proc`` and ``sys`` are looked at in `root`. `quick` leaves out packages that take
    long to import; `full` also tests sub-devices, and the memory of a second process.
    """

    quick = full = False

    def __init__(self, root: Path = Path("/"), timeout: float = 120, **known: Any) -> None:
        self.root, self.timeout = root, timeout
        self.python = platform.python_version()
        self.executable, self.prefix = sys.executable, sys.prefix
        self.platform = platform.platform(terse=True)
        self.in_container = any((root / at).exists() for at in (".dockerenv", "run/.containerenv"))
        found = {name: installed(name) for name in PACKAGES}
        self.packages = {name: one.version for name, one in found.items() if one is not None}
        required = (found["sycl_ext"] and found["sycl_ext"].requires) or ()
        self.requirements = tuple(text for text in required if "extra ==" not in text)
        self.environment = {
            name: value
            for name, value in sorted(os.environ.items())
            if (name.startswith(PREFIXES) or name in VARIABLES)
            and (name, value) != ("OCL_ICD_FILENAMES", icd.added)  # of this package
        }
        self.embedded_driver = icd.embedded_driver() or ""
        self.bus_visible = (root / PCI).is_dir()
        self.gpus = tuple(
            Gpu(at.name, (at / "driver").resolve().name if (at / "driver").exists() else "")
            for at in sorted((root / PCI).glob("*"))
            if read(at / "vendor") == INTEL and read(at / "class").startswith(DISPLAY)
        )
        self.nodes = tuple(map(node_at, sorted((root / "dev/dri").glob("renderD*"))))
        self.ptrace_scope = peers.ptrace_scope(root / peers.PTRACE_SCOPE.relative_to("/"))
        vars(self).update(known)

    def facts(self) -> dict[str, Any]:
        """Return all facts, by name."""
        return {name: getattr(self, name) for name in FACTS}

    def went_wrong(self, name: str) -> Step | None:
        """Return a step that was tried and went wrong."""
        return next((step for step in self.steps if step.name == name and step.went_wrong), None)

    @cached_property
    def origin(self) -> str:
        """The source of this package as arguments of pip; empty if it is not known."""
        ours, folder = installed("sycl_ext"), Path(__file__).parents[2]
        if ours is None and (folder / "pyproject.toml").exists():
            return shlex.quote(str(folder))
        text = ours.read_text("direct_url.json") if ours else None
        return origin_in(json.loads(text)) if text else ""

    @cached_property
    def missing(self) -> tuple[Missing, ...]:
        """Missing requirements, direct or not: packages, and their libraries."""
        found, seen = list[Missing](), set[str]()
        todo = [(text, "sycl_ext") for text in self.requirements]
        if installed("intel-opencl-rt"):
            todo.append(("intel-opencl-rt", ""))
        while todo:
            text, wanted_by = todo.pop(0)
            name = name_in_requirement(text)
            if name in seen:
                continue
            seen.add(name)
            distribution = installed(name)
            if distribution is None:
                if name in CONDA_HAS_METADATA or not Path(sys.prefix, "conda-meta").exists():
                    found.append(Missing(text, wanted_by))
                continue
            lost = tuple(path.name for path in libraries_of(distribution) if not path.exists())
            if lost:
                found.append(Missing(f"{name}=={distribution.version}", wanted_by, lost))
            # A marker (";") is for other platforms, or for an extra.
            needed = (one for one in distribution.requires or [] if ";" not in one)
            todo += [(re.sub(r"[ ()]", "", one), name) for one in needed]
        return tuple(found)

    @cached_property
    def overrides(self) -> Mapping[str, tuple[str, ...]]:
        """By variable, the libraries of a runtime that come before our own."""
        folders = filter(None, self.environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))
        preloaded = self.environment.get("LD_PRELOAD", "").replace(os.pathsep, " ").split()
        found = {
            "LD_LIBRARY_PATH": tuple(
                str(path)
                for folder in folders
                for family in ONCE
                for path in sorted(Path(folder).glob(f"{family}.so*"))
            ),
            "LD_PRELOAD": tuple(path for path in preloaded if family_of(path) in ONCE),
        }
        return {name: paths for name, paths in found.items() if paths}

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        """The libraries that the loaders will look at, and what names each."""
        found = []
        decided = any(self.environment.get(name) for name in icd.DECIDED_BY)
        if files := self.environment.get("OCL_ICD_FILENAMES"):
            found += [(path, "OCL_ICD_FILENAMES") for path in files.split(os.pathsep) if path]
        elif self.embedded_driver and not decided:
            found.append((self.embedded_driver, "sycl_ext"))
        found += icd.named_in_files(self.environment)
        if self.gpus or (self.nodes and not self.bus_visible):
            found += [(path, "Level Zero") for path in LEVEL_ZERO]
        return found

    @cached_property
    def drivers(self) -> tuple[Driver, ...]:
        """The drivers that are named, each of which is loaded once, and one that is not loaded."""
        refused = icd.refused_driver(self.environment)
        found = (
            () if refused is None else (Driver(refused[0], "sycl_ext", icd.REFUSED + refused[1]),)
        )
        if not self._named:
            return found
        order = {"drivers": [path for path, _ in self._named]}
        records = run_probe(order, os.environ, self.timeout).records
        end = records.get("exit", {"detail": ""})
        return found + tuple(
            Driver(path, named_by, records.get(f"load {path}", end)["detail"])
            for path, named_by in self._named
        )

    @cached_property
    def other_gpus(self) -> tuple[OtherGpu, ...]:
        """The drivers of other vendors' GPUs, with the adapters of the runtime."""
        found = []
        for vendor, (backend, patterns) in OTHER_VENDORS.items():
            nodes = [str(node) for pattern in patterns for node in sorted(self.root.glob(pattern))]
            if nodes:
                found.append(OtherGpu(vendor, backend, nodes[0], self._adapter_of(backend)))
        return tuple(found)

    def _adapter_of(self, backend: str) -> str:
        """Return the adapter that the loader of the runtime finds for a backend; empty: none."""
        name = f"{icd.ADAPTER}{backend}.so"
        forced = self.environment.get("UR_ADAPTERS_FORCE_LOAD", "").split(",")
        folders = self.environment.get("UR_ADAPTERS_SEARCH_PATH", "").split(os.pathsep)
        loaders = [one.path for one in self.libraries if family_of(one.path) == "libur_loader"]
        folders += [*map(os.path.dirname, loaders), f"{self.prefix}/lib"]
        near = [path for at in filter(None, folders) for path in sorted(Path(at).glob(f"{name}*"))]
        found = [path for path in (*map(Path, forced), *near) if path.name.startswith(name)]
        return str(found[0]) if found else ""

    @cached_property
    def user(self) -> User:
        """The user, with the groups of this process and those of the user database."""
        name = name_of(pwd.getpwuid, os.getuid())
        groups = {name_of(grp.getgrgid, number) for number in {os.getegid(), *os.getgroups()}}
        at_login = {group.gr_name for group in grp.getgrall() if name in group.gr_mem}
        return User(name, tuple(sorted(groups)), tuple(sorted(at_login)))

    @cached_property
    def _probed(self) -> Probed:
        packages = PROBED[:2] if self.quick else PROBED
        order = {"packages": packages, "tests": "FULL" if self.full else "SHORT"}
        return run_probe(order, os.environ, self.timeout)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps that were tried, in order."""
        records = self._probed.records.items()
        return tuple(Step(name, record["outcome"], record["detail"]) for name, record in records)

    @cached_property
    def libraries(self) -> tuple[Library, ...]:
        """The runtime's libraries in the test process, in the order in which they were loaded."""
        owners = {
            os.path.realpath(path): f"{one.metadata['Name']} {one.version}"
            for one in metadata.distributions()
            for path in libraries_of(one)
        }
        found = dict[str, Library]()
        for step, record in self._probed.records.items():
            for path in record["libraries"]:
                found.setdefault(path, Library(path, owners.get(path, ""), step))
        return tuple(found.values())

    @cached_property
    def other_runtimes(self) -> tuple[Runtime, ...]:
        """The packages that bring another SYCL runtime, or ask for one of another year."""
        ours = self.packages.get("intel-sycl-rt")
        if ours is None:
            return ()
        found, year = {}, int(ours.partition(".")[0])
        for one in metadata.distributions():
            name = one.metadata["Name"] or ""
            brought = [file.name for file in one.files or [] if LIBSYCL.fullmatch(file.name)]
            asked = [text for text in one.requires or [] if wants_other_year(text, year)]
            if (wanted := brought + asked) and name_in_requirement(name) not in RUNTIMES:
                found[name] = Runtime(f"{name} {one.version}", wanted[0])
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """The device table."""
        return listed(self._probed)

    @cached_property
    def devices_without_selector(self) -> tuple[DeviceFacts, ...]:
        """The same without the variables that hide devices; empty: none is set."""
        kept = {name: value for name, value in os.environ.items() if name not in SELECTORS}
        if len(kept) == len(os.environ):
            return ()
        return listed(run_probe({"packages": PROBED[:1]}, kept, self.timeout))

    @cached_property
    def runtime_messages(self) -> tuple[str, ...]:
        """The lines of the test process on stderr, each once."""
        return tuple(dict.fromkeys(self._probed.stderr))


def listed(probed: Probed) -> tuple[DeviceFacts, ...]:
    """Return the device table that a process has listed."""
    rows = probed.records.get("list devices", {"found": []})["found"]
    return tuple(DeviceFacts(**{**row, "usm_types": tuple(row["usm_types"])}) for row in rows)


def installed(name: str) -> metadata.Distribution | None:
    """Return an installed package; None: it is not."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.distribution(name)
    return None


def libraries_of(distribution: metadata.Distribution) -> list[Path]:
    """Return where the libraries of a package should be."""
    files = distribution.files or []
    return [Path(str(file.locate())) for file in files if ".so" in file.name]


def family_of(path: str) -> str:
    """Return ``"libsycl"`` for any version of it, anywhere."""
    return path.rpartition("/")[2].partition(".so")[0]


def name_in_requirement(text: str) -> str:
    """Return the name of the package in a requirement: "a-b-c" for "a_b.C (==2026.*)"."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower()


def wants_other_year(requirement: str, year: int) -> bool:
    """Say whether a requirement is one of a SYCL runtime that this year's does not fulfil."""
    name, specifiers = re.match(r"\s*([\w.-]*)([^;]*)", requirement).groups()  # type: ignore[union-attr]
    bounds = re.findall(r"(==|~=|<=|<)\s*(\d{4})", specifiers)
    return name_in_requirement(name) in RUNTIMES and any(
        year > int(bound) - (operator == "<") or (operator in ("==", "~=") and year != int(bound))
        for operator, bound in bounds
    )


def origin_in(direct_url: Mapping[str, Any]) -> str:
    """Read a record of PEP 610, as arguments of pip, such as "--editable '/my code'"."""
    url = str(direct_url.get("url", ""))
    if vcs := direct_url.get("vcs_info"):
        return shlex.quote(f"{vcs['vcs']}+{url}")
    path = unquote(url.removeprefix("file://"))
    editable = direct_url.get("dir_info", {}).get("editable", False)
    return f"{'--editable ' if editable else ''}{shlex.quote(path)}"


def read(path: Path) -> str:
    """Return the one line in a file; empty: it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_text().strip()
    return ""


def node_at(path: Path) -> Node:
    """Describe a node."""
    status = path.stat()
    return Node(
        path=str(path),
        owner=name_of(pwd.getpwuid, status.st_uid),
        group=name_of(grp.getgrgid, status.st_gid),
        mode=stat.filemode(status.st_mode),
        accessible=os.access(path, os.R_OK | os.W_OK),
    )


def name_of(look_up: Any, number: int) -> str:
    """Return the name of a user or group, or its number when it has none here."""
    with contextlib.suppress(KeyError):
        number = look_up(number)[0]
    return str(number)
