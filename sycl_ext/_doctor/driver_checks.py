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
        "or show some of them: "
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
            "colon": "the OpenCL loader takes it for the end of a path in OCL_ICD_FILENAMES",
            "space": "it reads its own path in /proc/self/maps, cuts it at the space, and does not "
            "find the files next to it; a link does not help, because that file shows real paths",
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
    """An OpenCL driver is named, and cannot be loaded."""
    works = any(device.backend == "opencl" for device in machine.devices)
    for named in machine.drivers:
        if not named.error or named.named_by == "Level Zero":
            continue
        from_file, embedded = named.named_by.endswith(".icd"), machine.embedded_driver
        by_variable = named.named_by == "OCL_ICD_FILENAMES"
        refused = named.error.startswith(icd.REFUSED)
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
            f"{named.named_by} names it, but: {named.error}{instead}",
            next(cure for applies, cure in cures if applies),
            "only if you trust all users who may change that file; otherwise install into an "
            "environment of your own"
            if refused
            else "",
            "warning" if from_file and works else "problem",
        )


def displacement(machine: Machine, driver: Driver) -> tuple[str, str]:
    """Say which libraries are loaded in place of those next to a driver, and by which variables."""
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
        f"; the dynamic loader takes {' and '.join(driver.displacing)} in place of the {libraries} "
        "next to the driver"
    )
    return text + (f", because of {variables}" if variables else ""), variables


def no_driver(machine: Machine) -> Iterator[Finding]:
    """No driver is named at all."""
    there = machine.devices or machine.devices_without_selector or machine.drivers or machine.gpus
    if there or not were_listed(machine):
        return
    problem = "no driver is named, so there is no device"
    deciding = [name for name in icd.DECIDED_BY if name in machine.environment]
    if machine.embedded_driver and deciding:
        cause = (
            f"sycl_ext does not name the driver of this environment, {machine.embedded_driver}, "
            f"because the environment sets {' and '.join(deciding)}"
        )
        yield Finding(problem, cause, f"unset {' '.join(deciding)}")
    else:
        cause = (
            "no OpenCL driver (ICD) is installed: intel-opencl-rt is not in this environment, and "
            "/etc/OpenCL/vendors has no .icd file"
        )
        yield Finding(problem, cause, INSTALL_CPU)


CHECKS = (hidden_devices, space, list_devices, driver, no_driver)
