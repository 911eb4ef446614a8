# SPDX-License-Identifier: Apache-2.0
"""Doctor checks: the SYCL runtime, and libraries that cannot be imported with it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from sycl_ext._doctor.finding import (
    PERMISSION,
    REINSTALL_RUNTIME,
    REINSTALL_US,
    UPGRADES,
    Finding,
    how,
    unset,
    were_listed,
    when_others_work,
)
from sycl_ext._doctor.machine import Machine, is_libsycl

ANOTHER_PROCESS = "or use {0} in a separate process"

#: Parts of the errors for a library that was found, but is not the expected one.
WRONG_LIBRARY = r"undefined symbol|version `|required by|file too short|invalid ELF header"
#: The SYCL runtime of oneAPI 2025.
OF_2025 = "libsycl.so.8"
#: Why sycl_ext cannot be imported: a pattern in the error, the cause, the cure. The first row that
#: matches counts.
LOAD_ERRORS = (
    (
        "no library is loaded from",
        "sycl_ext loads no library from a folder that other users can modify, and pip install "
        "--target omits the libraries of the wheels",
        "python -m venv .venv && .venv/bin/python -m pip install {sycl_ext}",
    ),
    (
        PERMISSION,
        "this user has no permission to read one of its files",
        "chmod -R a+rX {prefix}/lib",
    ),
    ("numpy|NumPy", "numpy is missing or too old", "python -m pip install {numpy}"),
    (
        "No module named 'sycl_ext",
        "the extension module was removed, or this is a source tree in which it was not built",
        REINSTALL_US,
    ),
    (
        "^(TypeError|AttributeError)|cannot import name",
        "the extension module and the Python files of the package have different versions",
        REINSTALL_US,
    ),
    ("", "the SYCL runtime is missing, damaged or of the wrong version", REINSTALL_RUNTIME),
)


def runtime(machine: Machine) -> Iterator[Finding]:
    """`import sycl_ext` fails."""
    step = machine.went_wrong("import sycl_ext")
    if step is None:
        return
    _, cause, cure = next(row for row in LOAD_ERRORS if re.search(row[0], step.detail))
    if cure == REINSTALL_US and "sycl_ext" not in machine.packages:
        cure = "python -m pip install {sycl_ext}"
    names = " and ".join(machine.overrides)
    if names and (step.outcome == "crashed" or re.search(WRONG_LIBRARY, step.detail)):
        cause = f"because of {names}, another runtime is loaded instead of that of this environment"
        cure = unset(names)
    yield Finding(f"import sycl_ext {how(step)}", f"{cause} ({step.detail})", cure)


def two_libsycl(machine: Machine) -> Iterator[Finding]:
    """A step has loaded a second SYCL runtime into the process."""
    copies = [library for library in machine.libraries if is_libsycl(library.path)]
    if len(copies) < 2:
        return
    second = copies[1].loaded_by
    cause, cure, then = f"{second} loads the second one", REINSTALL_RUNTIME, ""
    names = overriding(machine, {Path(library.path).parent for library in copies})
    package = second.removeprefix("import ")
    if names:
        cause = f"because of {names}, one of them is not from this environment"
        cure = unset(names)
    elif package in UPGRADES:
        cure, then = f"python -m pip install --upgrade {package}", ANOTHER_PROCESS.format(package)
    paths = " and ".join(library.path for library in copies)
    yield Finding(
        f"two copies of libsycl are loaded in one process: {paths}",
        f"{cause}; the memory and the devices of one copy are unknown to the other",
        cure,
        then,
    )


def another_runtime(machine: Machine) -> Iterator[Finding]:
    """A package will load a second SYCL runtime when it is imported."""
    for package, library in machine.other_runtimes.items():
        name = package.partition(" ")[0]
        yield Finding(
            f"{package} has its own SYCL runtime ({library})",
            "two runtimes in one process do not share queues or contexts, and some pairs end the "
            "process when the second one creates its first queue",
            f"python -m pip install --upgrade {shlex.quote(name)}",
            ANOTHER_PROCESS.format(name),
            "warning",
        )


def other_runtime(machine: Machine) -> Iterator[Finding]:
    """The runtime that is loaded is not that of the package intel-sycl-rt."""
    loaded = [library.path for library in machine.libraries if is_libsycl(library.path)]
    own = machine.runtime_folder
    if len(loaded) != 1 or not own or Path(loaded[0]).parent == Path(own):
        return
    cause, cure = "the extension module was installed for another environment", REINSTALL_US
    if names := " and ".join(machine.overrides):
        cause = f"because of {names}, it is loaded instead of that of the package intel-sycl-rt"
        cure = unset(names)
    problem = f"{loaded[0]} is not the SYCL runtime of this environment"
    yield Finding(problem, cause, cure, severity=when_others_work(machine))


def no_ipc(machine: Machine) -> Iterator[Finding]:
    """The runtime is that of oneAPI 2025, which has no inter-process handles."""
    loaded = [library.path for library in machine.libraries if is_libsycl(library.path)]
    has_gpu = any(device.device_type == "gpu" for device in machine.devices)
    if not has_gpu or not loaded or OF_2025 not in loaded[0]:
        return
    yield Finding(
        "other processes cannot open GPU memory of this one with sycl_ext.ipc.open",
        f"the runtime is that of oneAPI 2025 ({loaded[0]}), which has no inter-process handles",
        REINSTALL_US,
        "after you have loaded a module of oneAPI 2026; or send the bytes: sycl_ext.ipc.pack(x)",
        "warning",
    )


def package(machine: Machine) -> Iterator[Finding]:
    """A library cannot be imported together with sycl_ext."""
    if not machine.devices and (machine.devices_without_selector or not were_listed(machine)):
        return  # some cannot be imported without a device, and another check says why it is missing
    ours = machine.went_wrong("import sycl_ext")
    for name, cure in UPGRADES.items():
        step = machine.went_wrong(f"import {name}")
        if step is None or (ours and ours.detail == step.detail):
            continue
        cause = step.detail
        if minor_version(machine) and re.search(rf"libmkl_\S*: ({WRONG_LIBRARY})", cause):
            cause = f"oneMKL and the SYCL runtime have different versions ({cause})"
            cure = f'python -m pip install "mkl=={minor_version(machine)}.*" {name}'
        yield Finding(f"import {name} {how(step)}", cause, cure)


def minor_version(machine: Machine) -> str:
    """Return the year and the number of the runtime that is installed: "2026.0"."""
    return ".".join(machine.packages.get("intel-sycl-rt", "").split(".")[:2])


def overriding(machine: Machine, folders: set[Path]) -> str:
    """Return the variables that lead to a runtime in one of these folders."""
    overrides = machine.overrides.items()
    return " and ".join(
        name for name, paths in overrides if any(Path(path).parent in folders for path in paths)
    )


CHECKS = (runtime, two_libsycl, another_runtime, other_runtime, no_ipc, package)
