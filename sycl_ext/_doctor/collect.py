# SPDX-License-Identifier: Apache-2.0
"""Where the doctor's facts come from: one function for each source.

What can crash or hang, any code of the runtime, is left to `processes`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sycl_ext._doctor.facts import (
    ONCE,
    Facts,
    Gpu,
    Missing,
    Node,
    Runtime,
    User,
)
from sycl_ext._doctor.processes import (
    Probed,
    load_drivers,
    run_probe,
    test_fully,
    without_selector,
)
from sycl_ext._ipc import peers
from sycl_ext._setup import icd

#: The packages whose versions matter.
PACKAGES = (
    "sycl_ext",
    "intel-sycl-rt",
    "intel-cmplr-lib-ur",
    "intel-opencl-rt",
    "dpctl",
    "dpnp",
    "numpy",
    "torch",
)

#: The packages of SYCL runtimes: their versions are years, and a year has a libsycl of its own.
RUNTIMES = ("intel-sycl-rt", "dpcpp-cpp-rt")
#: A SYCL runtime, as compilers and wheels name it.
LIBSYCL = re.compile(r"libsycl(-preview|-[0-9a-f]{8})?\.so\.\d+")

#: The packages whose imports and exchanges are tested, in order.
PROBED = ("sycl_ext", "dpctl", "dpnp", "torch")

#: Requirements that have metadata for Python in a conda environment, too.
CONDA_HAS_METADATA = ("dpctl", "numpy")

#: Variables that change which devices there are, in what order, or what is loaded.
PREFIXES = ("OCL_ICD_", "OPENCL_", "ONEAPI_", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "FAKEGPU_")
VARIABLES = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NEOReadDebugKeys",
    "OverrideDefaultFP64Settings",
    "IGC_EnableDPEmulation",
)

#: The libraries through which the runtime finds an Intel GPU.
LEVEL_ZERO = ("libze_loader.so.1", "libze_intel_gpu.so.1")

PCI = "sys/bus/pci/devices"
INTEL, DISPLAY = "0x8086", "0x03"  # the vendor, and the class of all display controllers


def collect(
    root: Path = Path("/"), timeout: float = 120, *, quick: bool = False, full: bool = False
) -> Facts:
    """Find out everything.

    Parameters
    ----------
    root : Path
        The folder in which ``dev`` and ``sys`` are looked at.
    timeout : float
        How many seconds a process of the self-test may take.
    quick : bool
        Leave out the packages that take long to import.
    full : bool
        Test each device for half a minute, in a process of its own.
    """
    environment = relevant(os.environ)
    gpus, nodes = intel_gpus(root), render_nodes(root)
    embedded = icd.embedded_driver()
    named = named_drivers(os.environ, embedded)
    bus_visible = (root / PCI).is_dir()
    if gpus or (nodes and not bus_visible):
        named += [(path, "Level Zero") for path in LEVEL_ZERO]
    packages = PROBED[:2] if quick else PROBED
    order = {"what": "runtime", "packages": packages, "tested": not full}
    runtime = run_probe(order, os.environ, timeout)
    devices = runtime.devices()
    tested = test_fully(devices, packages, timeout) if full else Probed()
    return Facts(
        python=platform.python_version(),
        executable=sys.executable,
        prefix=sys.prefix,
        platform=platform.platform(terse=True),
        in_container=any((root / name).exists() for name in (".dockerenv", "run/.containerenv")),
        packages=versions(),
        requirements=requirements(),
        origin=origin(),
        source_tree=source_tree(Path(__file__).parents[2]),
        missing=missing(),
        unreadable=unreadable(runtime_files()),
        environment=environment,
        overrides=overrides(os.environ),
        embedded_driver=embedded or "",
        drivers=load_drivers(named, timeout),
        bus_visible=bus_visible,
        gpus=gpus,
        nodes=nodes,
        user=who(),
        ptrace_scope=peers.ptrace_scope(root / peers.PTRACE_SCOPE.relative_to("/")),
        full=full,
        steps=(*runtime.steps(), *tested.steps()),
        measurements=tested.measurements(),
        libraries=runtime.libraries(package_files()),
        other_runtimes=other_runtimes(),
        devices=devices,
        devices_without_selector=without_selector(os.environ, timeout),
        runtime_messages=runtime.messages(),
    )


# ---- packages and environment --------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def requirements() -> tuple[str, ...]:
    """Return what this package needs, extras left out."""
    try:
        needed = metadata.requires("sycl_ext") or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(text for text in needed if "extra ==" not in text)


def origin() -> str:
    """Return what pip installs this package from, as its arguments; empty: nobody knows."""
    try:
        text = metadata.distribution("sycl_ext").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ""
    return origin_in(json.loads(text)) if text else ""


def origin_in(direct_url: Mapping[str, Any]) -> str:
    """Read a record of PEP 610, as arguments of pip.

    Examples
    --------
    >>> origin_in({"url": "file:///my%20code", "dir_info": {"editable": True}})
    "--editable '/my code'"
    """
    url = str(direct_url.get("url", ""))
    if vcs := direct_url.get("vcs_info"):
        return shlex.quote(f"{vcs['vcs']}+{url}")
    path = unquote(url.removeprefix("file://"))
    editable = direct_url.get("dir_info", {}).get("editable", False)
    return f"{'--editable ' if editable else ''}{shlex.quote(path)}"


def source_tree(folder: Path) -> str:
    """Return the source tree that this package is imported from, when no core was built for it."""
    project = folder / "pyproject.toml"
    if not project.exists() or 'name = "sycl_ext"' not in project.read_text():
        return ""
    return "" if importlib.util.find_spec("sycl_ext._native") else str(folder)


def missing() -> tuple[Missing, ...]:
    """Return what is required, directly or not, and not there: packages, and their libraries."""
    found: list[Missing] = []
    todo = [(text, "sycl_ext") for text in requirements()]
    with contextlib.suppress(metadata.PackageNotFoundError):
        metadata.distribution("intel-opencl-rt")
        todo.append(("intel-opencl-rt", ""))
    seen = set()
    while todo:
        text, wanted_by = todo.pop(0)
        name = name_in_requirement(text)
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in CONDA_HAS_METADATA or not Path(sys.prefix, "conda-meta").exists():
                found.append(Missing(text, wanted_by))
            continue
        files = tuple(
            file.name
            for file in distribution.files or []
            if ".so" in file.name and not Path(str(file.locate())).exists()
        )
        if files:
            found.append(Missing(f"{name}=={distribution.version}", wanted_by, files))
        # A marker (";") is for other platforms, or for an extra.
        needed = (one for one in distribution.requires or [] if ";" not in one)
        todo += [(one.replace(" ", "").replace("(", "").replace(")", ""), name) for one in needed]
    return tuple(found)


def name_in_requirement(text: str) -> str:
    """Return the name of the package in a requirement.

    Examples
    --------
    >>> name_in_requirement("intel_cmplr-lib.ur (==2026.*)")
    'intel-cmplr-lib-ur'
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower()


def runtime_files() -> list[Path]:
    """Return the libraries that the runtime and its CPU driver bring."""
    found = []
    for name in ("intel-sycl-rt", "intel-cmplr-lib-ur", "umf", "intel-opencl-rt"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            files = metadata.distribution(name).files or []
            found += [Path(str(file.locate())) for file in files if ".so" in file.name]
    return found


def unreadable(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the files that this user may not read."""
    return tuple(
        os.path.normpath(path) for path in files if path.exists() and not os.access(path, os.R_OK)
    )


def relevant(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter to the runtime."""
    return {
        name: environment[name]
        for name in sorted(environment)
        if name.startswith(PREFIXES) or name in VARIABLES
    }


def overrides(environment: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return, by variable, the libraries of a runtime that come before our own."""
    folders = filter(None, environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    found = {
        "LD_LIBRARY_PATH": [
            str(path)
            for folder in folders
            for family in ONCE
            for path in sorted(Path(folder).glob(f"{family}.so*"))
        ],
        "LD_PRELOAD": [
            path
            for path in environment.get("LD_PRELOAD", "").replace(os.pathsep, " ").split()
            if Path(path).name.partition(".so")[0] in ONCE
        ],
    }
    return {name: tuple(paths) for name, paths in found.items() if paths}


# ---- hardware ------------------------------------------------------------------------------------


def intel_gpus(root: Path) -> tuple[Gpu, ...]:
    """Return the Intel GPUs on the PCI bus."""
    found = []
    for folder in sorted((root / PCI).glob("*")):
        if read(folder / "vendor") == INTEL and read(folder / "class").startswith(DISPLAY):
            module = folder / "driver"
            found.append(Gpu(folder.name, module.resolve().name if module.exists() else ""))
    return tuple(found)


def read(path: Path) -> str:
    """Return the one line in a file of /sys."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def render_nodes(root: Path) -> tuple[Node, ...]:
    """Return the nodes of GPUs, and whether this process may use them."""
    import grp
    import pwd

    found = []
    for path in sorted((root / "dev/dri").glob("renderD*")):
        status = path.stat()
        found.append(
            Node(
                path=str(path),
                owner=name_of(pwd.getpwuid, status.st_uid),
                group=name_of(grp.getgrgid, status.st_gid),
                mode=stat.filemode(status.st_mode),
                accessible=os.access(path, os.R_OK | os.W_OK),
            )
        )
    return tuple(found)


def name_of(look_up: Any, number: int) -> str:
    """Return the name of a user or group, or its number when it has none here."""
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)


def who() -> User:
    """Return the user, with the groups of this process and those of the user database."""
    import grp
    import pwd

    name = name_of(pwd.getpwuid, os.getuid())
    groups = {name_of(grp.getgrgid, number) for number in {os.getegid(), *os.getgroups()}}
    at_login = {group.gr_name for group in grp.getgrall() if name in group.gr_mem}
    return User(name, tuple(sorted(groups)), tuple(sorted(at_login)))


# ---- drivers -------------------------------------------------------------------------------------


def named_drivers(environment: Mapping[str, str], embedded: str | None) -> list[tuple[str, str]]:
    """Return the libraries that the OpenCL loader will look at, and what names each."""
    found = []
    decided = any(environment.get(name) for name in icd.DECIDED_BY)
    if files := environment.get("OCL_ICD_FILENAMES"):
        found += [(path, "OCL_ICD_FILENAMES") for path in files.split(os.pathsep) if path]
    elif embedded is not None and not decided:
        found.append((embedded, "sycl_ext"))
    for folder in vendor_folders(environment):
        found += [(read(file), str(file)) for file in sorted(folder.glob("*.icd"))]
    return found


def vendor_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders in which the OpenCL loader looks for .icd files."""
    named = environment.get("OCL_ICD_VENDORS") or environment.get("OPENCL_VENDOR_PATH")
    if named:
        return [Path(named)]
    folders = [Path("/etc/OpenCL/vendors")]
    if Path(sys.prefix, "conda-meta").exists():  # conda's loader looks there, too
        folders.append(Path(sys.prefix, "etc/OpenCL/vendors"))
    return folders


# ---- libraries of installed packages -------------------------------------------------------------


def package_files() -> dict[str, str]:
    """Return the package of each library in this environment: "intel-sycl-rt 2026.2.0"."""
    found = {}
    for distribution in metadata.distributions():
        label = f"{distribution.metadata['Name']} {distribution.version}"
        for file in distribution.files or []:
            if ".so" in file.name:
                found[os.path.realpath(str(file.locate()))] = label
    return found


def other_runtimes() -> tuple[Runtime, ...]:
    """Return the packages that bring another SYCL runtime, or ask for one of another year."""
    try:
        year = int(metadata.version("intel-sycl-rt").partition(".")[0])
    except (metadata.PackageNotFoundError, ValueError):
        return ()
    found = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if name.lower().replace("_", "-") in RUNTIMES:
            continue
        brought = [file.name for file in distribution.files or [] if LIBSYCL.fullmatch(file.name)]
        asked = [text for text in distribution.requires or [] if wants_other_year(text, year)]
        for wants in (*brought, *asked)[:1]:
            found[name] = Runtime(f"{name} {distribution.version}", wants)
    return tuple(found[name] for name in sorted(found))


def wants_other_year(requirement: str, year: int) -> bool:
    """Say whether a requirement is one of a SYCL runtime that this year's does not fulfil."""
    name, specifiers = re.match(r"\s*([\w.-]*)([^;]*)", requirement).groups()  # type: ignore[union-attr]
    if name.lower().replace("_", "-") not in RUNTIMES:
        return False
    bounds = re.findall(r"(==|~=|<=|<)\s*(\d{4})", specifiers)
    return any(
        year > int(bound) - (operator == "<") or (operator in ("==", "~=") and year != int(bound))
        for operator, bound in bounds
    )
