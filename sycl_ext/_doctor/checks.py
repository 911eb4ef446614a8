# SPDX-License-Identifier: Apache-2.0
"""All checks of the doctor, in the order of the causes: the runtime, drivers, GPUs, features.

A check reads facts, and yields a `Finding` for each thing that is wrong. To add one, write a
function in the module of its subject, name it in `CHECKS` there, and add a row to docs/doctor.md
and a broken machine to the tests.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace

from sycl_ext._doctor import driver_checks, feature_checks, gpu_checks, runtime_checks
from sycl_ext._doctor.finding import REINSTALL_RUNTIME, Finding
from sycl_ext._doctor.machine import Machine, name_in_requirement
from sycl_ext._setup.icd import INSTALL_CPU


def no_device(machine: Machine) -> Iterator[Finding]:
    """There is no device, and no other check has found a problem."""
    others = (finding for check in CHECKS if check is not no_device for finding in check(machine))
    if machine.devices or any(finding.severity == "problem" for finding in others):
        return
    said = "; ".join(machine.runtime_messages[:3])
    can_be_loaded = any(not driver.error for driver in machine.drivers)
    yield Finding(
        "there is no SYCL device",
        f"the runtime reports: {said}"
        if said
        else "the runtime found no device and reported no error",
        REINSTALL_RUNTIME if can_be_loaded else INSTALL_CPU,
        "to see what the runtime does: SYCL_UR_TRACE=-1 python -m sycl_ext devices",
    )


#: All checks; the name of each, with hyphens, is the id of what it finds.
CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    *runtime_checks.CHECKS,
    *driver_checks.CHECKS,
    *gpu_checks.CHECKS,
    *feature_checks.CHECKS,
    no_device,
)


def examine(machine: Machine) -> list[Finding]:
    """Return the findings of all checks, problems before warnings.

    In a cure, {dpctl} becomes what sycl_ext requires, such as 'dpctl>=0.22', and {sycl_ext} what it
    was installed from.
    """
    known = {name_in_requirement(text): shlex.quote(text) for text in machine.requirements}
    known |= {"sycl_ext": machine.origin, "prefix": shlex.quote(machine.prefix)}
    findings = [
        replace(
            finding,
            id=check.__name__.replace("_", "-"),
            cure=re.sub(r"\{([\w-]+)\}", lambda match: known.get(match[1], match[1]), finding.cure),
        )
        for check in CHECKS
        for finding in check(machine)
    ]
    return sorted(findings, key=lambda finding: finding.severity != "problem")
