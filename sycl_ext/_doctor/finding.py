# SPDX-License-Identifier: Apache-2.0
"""`Finding`, the result of a doctor check, and helpers that several checks share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sycl_ext._doctor.machine import DeviceFacts, Machine, Step

Severity = Literal["problem", "warning"]

INSTALL_GPU = "sudo apt-get install libze1 libze-intel-gpu1 intel-opencl-icd"
REINSTALL_RUNTIME = "python -m pip install --force-reinstall {intel-sycl-rt}"
REINSTALL_US = "python -m pip install --force-reinstall --no-deps {sycl_ext}"
#: What to do if a package cannot be imported, or if a device fails the test with it.
UPGRADES = {
    "dpctl": "python -m pip install --upgrade --force-reinstall {dpctl}",
    "dpnp": "python -m pip install --upgrade dpnp dpctl",
    "torch": "python -m pip install --upgrade torch",
}
PERMISSION = "Permission denied"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    problem: str
    cause: str
    cure: str  # a command; {dpctl} stands for what sycl_ext requires of it, see `examine`
    then: str = ""  # what a command cannot do, such as logging in again; or another way
    severity: Severity = "problem"  # a problem makes the exit code 1
    id: str = ""  # the name of the check, which `examine` fills in


def were_listed(machine: Machine) -> bool:
    """Say whether the runtime has listed its devices, so that one that is not listed is missing."""
    return not (machine.went_wrong("import sycl_ext") or machine.went_wrong("list devices"))


def all_devices(machine: Machine) -> tuple[DeviceFacts, ...]:
    """Return the devices, also those that a variable hides."""
    return (*machine.devices, *machine.devices_without_selector)


def listed(devices: Sequence[DeviceFacts]) -> str:
    """Name devices, such as "0 (Arc B580), 1 (Arc B580)"."""
    return ", ".join(f"{device.id} ({device.name})" for device in devices)


def when_others_work(machine: Machine) -> Severity:
    """Return the severity of one missing device: a warning if there are others."""
    return "warning" if machine.devices else "problem"


def unset(names: str) -> str:
    """Return the command that unsets variables, named as in "A and B"."""
    return f"unset {names.replace(' and ', ' ')}"


def how(step: Step) -> str:
    """Say how a step went wrong."""
    return "crashes" if step.outcome == "crashed" else "fails"
