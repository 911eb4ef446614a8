# SPDX-License-Identifier: Apache-2.0
"""Doctor checks: hidden devices, and OpenCL drivers."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from sycl_ext._doctor.finding import PERMISSION, REINSTALL_RUNTIME, Finding, how, unset, were_listed
from sycl_ext._doctor.machine import SELECTORS, Driver, Machine
from sycl_ext._setup import icd
from sycl_ext._setup.icd import INSTALL_CPU


def hidden_devices(machine: Machine) -> Iterator[Finding]:
    """Variables hide every device."""
    hidden = machine.devices_without_selector
    if machine.devices or not hidden:
        return
    names = [name for name in SELECTORS if name in machine.environment]
    assignments = " ".join(f"{name}={shlex.quote(machine.environment[name])}" for name in names)
    listing = machine.went_wrong("list devices")
    reason = listing.detail if listing else "no device matches that"
    there = ", ".join(f"{device.name} ({device.filter_string})" for device in hidden)
    kinds = dict.fromkeys(device.device_type for device in hidden)
    yield Finding(
        f"every device is hidden; without {' and '.join(names)} there would be {there}",
        f"{assignments}: {reason}",
        f"unset {' '.join(names)}",
        "or select some of them: "
        + " or ".join(f"export ONEAPI_DEVICE_SELECTOR='*:{kind}'" for kind in kinds),
    )


def space(machine: Machine) -> Iterator[Finding]:
    """The OpenCL CPU driver is at a path with a space or a colon."""
    for driver in machine.drivers:
        folder, _, name = driver.path.rpartition("/")
        cause = icd.cut_at(driver.path)
        if name != icd.DRIVER or cause is None:
            continue
        reasons = {
            "colon": "the OpenCL loader treats a colon in OCL_ICD_FILENAMES as the end of a path",
            "space": "the driver reads its own path from /proc/self/maps, truncates it at the "
            "space, and does not find the files next to it; a symbolic link does not help, because "
            "/proc/self/maps shows real paths",
        }
        source, target = shlex.quote(folder), '"$HOME"/.intel-opencl'
        yield Finding(
            f"the OpenCL CPU driver cannot be used at a path with a {cause[0]}: {driver.path}",
            reasons[cause[0]],
            f"mkdir -p {target} && ln -s {source}/* {target} && cp --remove-destination "
            f"{source}/{icd.DRIVER} {target} && export OCL_ICD_FILENAMES={target}/{icd.DRIVER}",
            f"or create the environment at a path without a {cause[0]}",
        )


def list_devices(machine: Machine) -> Iterator[Finding]:
    """The runtime cannot list its devices."""
    step = machine.went_wrong("list devices")
    if step is None or machine.devices_without_selector or any(space(machine)):
        return  # another check explains it
    wrong = [name for name in SELECTORS if name in machine.environment and name in step.detail]
    cure = unset(wrong[0]) if wrong else REINSTALL_RUNTIME
    yield Finding(f"listing the devices {how(step)}", step.detail, cure)


def driver(machine: Machine) -> Iterator[Finding]:
    """An OpenCL driver is named, but cannot be loaded."""
    works = any(device.backend == "opencl" for device in machine.devices)
    for named in machine.drivers:
        if not named.error or named.named_by == "Level Zero":
            continue
        from_file, embedded = named.named_by.endswith(".icd"), machine.embedded_driver
        by_variable = named.named_by == "OCL_ICD_FILENAMES"
        refused = named.error.startswith(icd.REFUSED)
        error = named.error if refused else f"loading it fails: {named.error}"
        instead, variables = displacement(machine, named)
        cures = (  # the first that applies
            (variables, unset(variables)),
            (refused, f"export OCL_ICD_FILENAMES={shlex.quote(named.path)}"),
            (PERMISSION in named.error, f"chmod a+r {shlex.quote(named.path)}"),
            (by_variable and embedded, "unset OCL_ICD_FILENAMES"),
            (by_variable, f"unset OCL_ICD_FILENAMES && {INSTALL_CPU}"),
            (not from_file, "python -m pip install --force-reinstall intel-opencl-rt"),
            (works, f"sudo rm {shlex.quote(named.named_by)}"),
            (embedded, f"export OCL_ICD_FILENAMES={shlex.quote(embedded)}"),
            (True, INSTALL_CPU),
        )
        yield Finding(
            f"the OpenCL driver {named.path} cannot be loaded, so its devices are missing",
            f"it is named by {named.named_by}, but {error}{instead}",
            next(cure for applies, cure in cures if applies),
            "only if you trust every user who can modify that file; otherwise install sycl_ext "
            "into an environment that only you can modify"
            if refused
            else "",
            "warning" if from_file and works else "problem",
        )


def displacement(machine: Machine, driver: Driver) -> tuple[str, str]:
    """Return a text about libraries loaded instead of those next to a driver, and its variables."""
    if not driver.displacing:
        return "", ""
    named = {
        "LD_LIBRARY_PATH": {str(Path(path).parent) for path in driver.displacing},
        "LD_PRELOAD": set(driver.displacing),
    }
    variables = " and ".join(
        name
        for name, paths in named.items()
        if paths & set(re.split("[: ]", machine.environment.get(name, "")))
    )
    libraries = "library" if len(driver.displacing) == 1 else "libraries"
    text = (
        f"; the dynamic loader loads {' and '.join(driver.displacing)} instead of the {libraries} "
        "next to the driver"
    )
    return text + (f", because of {variables}" if variables else ""), variables


def no_driver(machine: Machine) -> Iterator[Finding]:
    """No driver is named at all."""
    there = machine.devices or machine.devices_without_selector or machine.drivers or machine.gpus
    if there or not were_listed(machine):
        return
    problem = "no variable or .icd file names an OpenCL driver, so there is no device"
    deciding = [name for name in icd.DECIDED_BY if name in machine.environment]
    if machine.embedded_driver and deciding:
        cause = (
            f"sycl_ext leaves out the driver of this environment, {machine.embedded_driver}, "
            f"because the environment sets {' and '.join(deciding)}"
        )
        yield Finding(problem, cause, f"unset {' '.join(deciding)}")
    else:
        cause = (
            "no OpenCL driver (ICD) is installed: neither the package intel-opencl-rt in this "
            "environment, nor an .icd file in /etc/OpenCL/vendors"
        )
        yield Finding(problem, cause, INSTALL_CPU)


CHECKS = (hidden_devices, space, list_devices, driver, no_driver)
