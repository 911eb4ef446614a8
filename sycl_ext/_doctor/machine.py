# SPDX-License-Identifier: Apache-2.0
"""The facts about this machine that the doctor checks.

The names of the facts and of their fields are those of the JSON report: to rename or remove one,
raise `SCHEMA`. Code that can crash or hang, such as the SYCL runtime, runs in `processes`.
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
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from sycl_ext._doctor.processes import Probed, libraries_displacing, run_probe
from sycl_ext._ipc import peers
from sycl_ext._setup import icd

#: The version of the JSON report.
SCHEMA = 3

#: The packages whose versions are reported.
PACKAGES = (
    *("sycl_ext", "intel-sycl-rt", "intel-cmplr-lib-ur", "intel-opencl-rt"),
    *("dpctl", "dpnp", "numpy", "torch"),
)
#: The packages that are imported one after the other, and tested together with each device.
PROBED = ("sycl_ext", "dpctl", "dpnp", "torch")
#: The packages of the SYCL runtime itself; each other package with a libsycl brings a second one.
RUNTIMES = ("intel-sycl-rt", "dpcpp-cpp-rt")
#: The SYCL runtime, as compilers and wheels name its file.
LIBSYCL = re.compile(r"libsycl(-preview|-[0-9a-f]{8})?\.so\.[\d.]+")

#: Variables that hide devices.
SELECTORS = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "SYCL_DEVICE_ALLOWLIST")
#: Variables in which a launcher passes a process its rank on the machine.
RANKS = (
    *("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "SLURM_LOCALID"),
    "LOCAL_RANK",
)
#: Variables that change which devices there are, their order, or which libraries are loaded.
PREFIXES = ("OCL_ICD_", "OPENCL_", "ONEAPI_", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "FAKEGPU_")
VARIABLES = (
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "NEOReadDebugKeys"),
    *("OverrideDefaultFP64Settings", "IGC_EnableDPEmulation"),
)

#: The libraries through which the runtime finds an Intel GPU.
LEVEL_ZERO = ("libze_loader.so.1", "libze_intel_gpu.so.1")
#: Where the kernel describes GPUs on the bus; the vendor Intel; the class of display controllers.
PCI, INTEL, DISPLAY = "sys/bus/pci/devices", "0x8086", "0x03"
#: Other vendors of GPUs: the SYCL backend, and a file that is there if their driver runs.
OTHER_VENDORS = (
    ("NVIDIA", "cuda", "dev/nvidia[0-9]*"),
    ("NVIDIA", "cuda", "proc/driver/nvidia/version"),
    ("AMD", "hip", "dev/kfd"),
)


@dataclass(frozen=True)
class Library:
    """A library of the runtime that was loaded, and the step that loaded it."""

    path: str
    loaded_by: str


@dataclass(frozen=True)
class Driver:
    """The library of a driver, who names it, and why it cannot be loaded (empty: it can).

    `displacing` are the libraries that the dynamic loader takes in place of those next to it.
    """

    path: str
    named_by: str
    error: str = ""
    displacing: tuple[str, ...] = ()


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
    """An Intel GPU on the PCI bus, and the kernel module that drives it (empty: none does)."""

    address: str
    module: str = ""


@dataclass(frozen=True)
class OtherGpu:
    """A GPU driver of another vendor, found by the file `node`, and the SYCL backend for it."""

    vendor: str
    backend: str
    node: str


@dataclass(frozen=True)
class User:
    """The user, the groups of this process, and the groups that a new login would have."""

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
    """Something that was tried in another process, such as "import dpnp" or "device 0: copy"."""

    name: str
    outcome: Literal["ok", "failed", "crashed", "skipped"]
    detail: str = ""  # the error, the reason for a skip, or what the test found

    @property
    def went_wrong(self) -> bool:
        """Whether it failed or crashed."""
        return self.outcome in ("failed", "crashed")


#: Follows the version of a Python that was built without the GIL.
FREE_THREADED = ", free-threaded"

#: The facts of the JSON report, in its order.
FACTS = (
    *("python", "executable", "prefix", "platform", "full", "in_container", "packages"),
    *("requirements", "origin", "runtime_folder", "overrides", "other_runtimes", "environment"),
    *("embedded_driver", "drivers", "gpus", "other_gpus", "nodes", "node_links", "user"),
    *("ptrace_scope", "pidfd_getfd"),
    *("steps", "libraries", "devices", "devices_without_selector", "runtime_messages"),
)


class Machine:
    """The facts about this machine; those in `known` are taken as given.

    Files in ``dev``, ``proc`` and ``sys`` are looked up in `root`. `quick` leaves out packages that
    take seconds to import; `full` also tests sub-devices and memory that another process opens.
    """

    quick = full = False

    def __init__(self, root: Path = Path("/"), timeout: float = 120, **known: Any) -> None:
        self.root, self.timeout = root, timeout
        has_no_gil = sysconfig.get_config_var("Py_GIL_DISABLED")
        self.python = platform.python_version() + (FREE_THREADED if has_no_gil else "")
        self.executable, self.prefix = sys.executable, sys.prefix
        self.platform = platform.platform(terse=True)
        self.in_container = any((root / at).exists() for at in (".dockerenv", "run/.containerenv"))
        distributions = {name: installed(name) for name in PACKAGES}
        self.packages = {
            name: distribution.version
            for name, distribution in distributions.items()
            if distribution is not None
        }
        required = (distributions["sycl_ext"] and distributions["sycl_ext"].requires) or ()
        self.requirements = tuple(text for text in required if "extra ==" not in text)
        self.runtime_folder = next(
            map(os.path.dirname, runtimes_of(distributions["intel-sycl-rt"])), ""
        )
        self.environment = {
            name: value
            for name, value in sorted(os.environ.items())
            if (name.startswith(PREFIXES) or name in (*VARIABLES, *RANKS))
            and (name, value) != ("OCL_ICD_FILENAMES", icd.added)  # this package set it
        }
        self.embedded_driver = icd.embedded_driver() or ""
        self.gpus = tuple(
            Gpu(at.name, (at / "driver").resolve().name if (at / "driver").exists() else "")
            for at in sorted((root / PCI).glob("*"))
            if read(at / "vendor") == INTEL and read(at / "class").startswith(DISPLAY)
        )
        self.other_gpus = tuple(
            OtherGpu(vendor, backend, str(node))
            for vendor, backend, pattern in OTHER_VENDORS
            for node in sorted(root.glob(pattern))[:1]
        )
        self.nodes = tuple(map(node_at, sorted((root / "dev/dri").glob("renderD*"))))
        self.node_links = (root / "dev/dri/by-path").is_dir()
        self.pidfd_getfd = peers.call_refused()
        self.ptrace_scope = peers.ptrace_scope(root / peers.PTRACE_SCOPE.relative_to("/"))
        vars(self).update(known)

    def facts(self) -> dict[str, Any]:
        """Return all facts, by name."""
        return {name: getattr(self, name) for name in FACTS}

    def went_wrong(self, name: str) -> Step | None:
        """Return the step of this name if it was tried and went wrong."""
        return next((step for step in self.steps if step.name == name and step.went_wrong), None)

    @cached_property
    def origin(self) -> str:
        """What pip installs this package from, such as "--editable file:///code"."""
        ours, folder = installed("sycl_ext"), Path(__file__).parents[2]
        if ours is None and (folder / "pyproject.toml").exists():  # the sources, not installed
            return shlex.quote(str(folder))
        record = ours.read_text("direct_url.json") if ours else None
        return origin_in(json.loads(record)) if record else "."  # it may be on no index

    @cached_property
    def overrides(self) -> Mapping[str, tuple[str, ...]]:
        """By variable, the SYCL runtimes that it puts before that of this environment."""
        folders = filter(None, self.environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))
        preloaded = self.environment.get("LD_PRELOAD", "").replace(os.pathsep, " ").split()
        libraries = {
            "LD_LIBRARY_PATH": [str(path) for at in folders for path in Path(at).glob("libsycl*")],
            "LD_PRELOAD": preloaded,
        }
        runtimes = {name: tuple(filter(is_libsycl, paths)) for name, paths in libraries.items()}
        return {name: paths for name, paths in runtimes.items() if paths}

    @cached_property
    def other_runtimes(self) -> Mapping[str, str]:
        """The packages that bring a SYCL runtime of their own, with the name of its file."""
        brought = {
            f"{package.metadata['Name']} {package.version}": runtimes_of(package)
            for package in metadata.distributions()
            if name_in_requirement(package.metadata["Name"] or "") not in RUNTIMES
        }
        return {name: Path(paths[0]).name for name, paths in sorted(brought.items()) if paths}

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        """The libraries that the loaders of drivers will look at, and who names each."""
        named = []
        decided = any(self.environment.get(name) for name in icd.DECIDED_BY)
        if files := self.environment.get("OCL_ICD_FILENAMES"):
            named += [(path, "OCL_ICD_FILENAMES") for path in files.split(os.pathsep) if path]
        elif self.embedded_driver and not decided:
            named.append((self.embedded_driver, "sycl_ext"))
        named += icd.named_in_files(self.environment)
        if self.gpus:
            named += [(path, "Level Zero") for path in LEVEL_ZERO]
        return named

    @cached_property
    def drivers(self) -> tuple[Driver, ...]:
        """The named drivers, each of which was loaded once, and one that sycl_ext refuses."""
        drivers = []
        if refused := icd.refused_driver(self.environment):
            path, reason = refused
            drivers.append(Driver(path, "sycl_ext", icd.REFUSED + reason))
        if self._named:
            order = {"drivers": [path for path, _ in self._named]}
            records = run_probe(order, os.environ, self.timeout).records
            at_exit = records.get("exit", {"detail": ""})
            for path, named_by in self._named:
                error = records.get(f"load {path}", at_exit)["detail"]
                displacing = libraries_displacing(path) if error.startswith("OSError") else ()
                drivers.append(Driver(path, named_by, error, displacing))
        return tuple(drivers)

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
        """The imports and the tests of the devices, in order."""
        records = self._probed.records.items()
        return tuple(Step(name, record["outcome"], record["detail"]) for name, record in records)

    @cached_property
    def libraries(self) -> tuple[Library, ...]:
        """The runtime's libraries in the test process, in the order in which they were loaded."""
        libraries = dict[str, Library]()
        for step, record in self._probed.records.items():
            for path in record["libraries"]:
                libraries.setdefault(path, Library(path, step))
        return tuple(libraries.values())

    @cached_property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """The device table."""
        return listed(self._probed)

    @cached_property
    def devices_without_selector(self) -> tuple[DeviceFacts, ...]:
        """The device table without the variables in `SELECTORS`; empty if none of them is set."""
        kept = {name: value for name, value in os.environ.items() if name not in SELECTORS}
        if len(kept) == len(os.environ):
            return ()
        return listed(run_probe({"packages": PROBED[:1]}, kept, self.timeout))

    @cached_property
    def runtime_messages(self) -> tuple[str, ...]:
        """The lines that the test process wrote to stderr, each once."""
        return tuple(dict.fromkeys(self._probed.stderr))


def listed(probed: Probed) -> tuple[DeviceFacts, ...]:
    """Return the device table that a process has listed."""
    rows = probed.records.get("list devices", {"devices": []})["devices"]
    return tuple(DeviceFacts(**{**row, "usm_types": tuple(row["usm_types"])}) for row in rows)


def installed(name: str) -> metadata.Distribution | None:
    """Return an installed package; None if it is not installed."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.distribution(name)
    return None


def runtimes_of(package: metadata.Distribution | None) -> list[str]:
    """Return the paths of the SYCL runtimes that a package has installed.

    ``pip install --target`` leaves them out, although the package lists them.
    """
    files = (package and package.files) or []
    paths = (os.path.realpath(str(file.locate())) for file in files if is_libsycl(file.name))
    return [path for path in paths if Path(path).exists()]


def is_libsycl(path: str) -> bool:
    """Say whether a file is a SYCL runtime, of any version."""
    return LIBSYCL.fullmatch(Path(path).name) is not None


def name_in_requirement(text: str) -> str:
    """Return the name of the package in a requirement: "a-b-c" for "a_b.C (==2026.*)"."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower()


def origin_in(direct_url: Mapping[str, Any]) -> str:
    """Return the arguments of pip for the record direct_url.json that pip keeps (PEP 610).

    A folder or wheel that no longer exists is replaced by the current folder, the user's clone.
    """
    address = urlsplit(direct_url["url"])
    if address.scheme == "file" and not Path(unquote(address.path)).exists():
        return "."
    vcs = direct_url.get("vcs_info", {}).get("vcs")
    url = shlex.quote(f"{vcs}+{direct_url['url']}" if vcs else direct_url["url"])
    return f"--editable {url}" if direct_url.get("dir_info", {}).get("editable") else url


def read(path: Path) -> str:
    """Return the one line in a file; empty if it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_text().strip()
    return ""


def node_at(path: Path) -> Node:
    """Describe a node in /dev/dri."""
    status = path.stat()
    return Node(
        path=str(path),
        owner=name_of(pwd.getpwuid, status.st_uid),
        group=name_of(grp.getgrgid, status.st_gid),
        mode=stat.filemode(status.st_mode),
        accessible=os.access(path, os.R_OK | os.W_OK),
    )


def name_of(look_up: Any, number: int) -> str:
    """Return the name of a user or group, or its number if it has no name on this machine."""
    with contextlib.suppress(KeyError):
        number = look_up(number)[0]
    return str(number)
