# SPDX-License-Identifier: Apache-2.0
"""The checks of the doctor, in the order of the causes: the runtime, drivers, GPUs, features.

A check reads facts, and yields a `Finding` for each thing that is wrong. To add one, write a
function, name it in `CHECKS`, and add a row to docs/doctor.md and a broken machine to the tests.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sycl_ext._doctor.machine import (
    RANKS,
    SELECTORS,
    DeviceFacts,
    Machine,
    Node,
    Step,
    is_libsycl,
    name_in_requirement,
)
from sycl_ext._setup import icd
from sycl_ext._setup.icd import INSTALL_CPU

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
#: What to do if a device of this kind fails a test that needs none of these packages.
DRIVER_UPGRADES = {
    "cpu": "python -m pip install --upgrade intel-opencl-rt",
    "gpu": "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd",
}
ALLOW_PTRACE = "sudo sysctl kernel.yama.ptrace_scope=0"
#: What to do if the kernel refuses ``pidfd_getfd`` to every process, by its error.
ALLOW_GETFD = {
    "ENOSYS": ("docker run --security-opt seccomp=unconfined IMAGE", "or a kernel since 5.6"),
    "EPERM": ("docker run --cap-add SYS_PTRACE IMAGE", "with the rest of your command"),
}
#: Words of a failed test -> what they mean, and the cure.
MEANINGS = {
    "pidfd_getfd": ("", ALLOW_PTRACE),
    "INVALID_ARGUMENT": (
        "; a driver says so of a handle where the host has no peer access between two cards, or "
        "where a mask hides the card of the handle",
        "xpu-smi topology -m",
    ),
}
ANOTHER_PROCESS = "or use {0} in a process of its own"

#: Parts of an error that say that a library was found, and is another one than expected.
WRONG_LIBRARY = r"undefined symbol|version `|required by|file too short|invalid ELF header"
PERMISSION = "Permission denied"
#: Why sycl_ext cannot be imported: a pattern in the error, the cause, the cure. The first row that
#: matches counts.
LOAD_ERRORS = (
    (
        "no library is loaded from",
        "the extension module would load its libraries from a folder that others may change",
        "python -m venv .venv && .venv/bin/python -m pip install {sycl_ext}",
    ),
    (PERMISSION, "this user may not read a file of it", "chmod -R a+rX {prefix}/lib"),
    ("numpy|NumPy", "numpy is missing or too old", "python -m pip install {numpy}"),
    ("No module named 'dpctl", "dpctl is not installed", "python -m pip install {dpctl}"),
    (
        "No module named 'sycl_ext",
        "the extension module was removed, or these are the sources and it was not built",
        REINSTALL_US,
    ),
    (
        "^(TypeError|AttributeError)|cannot import name",
        "the extension module is of another version than the Python files of the package",
        REINSTALL_US,
    ),
    ("", "the SYCL runtime is missing, damaged or of another version", REINSTALL_RUNTIME),
)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    problem: str
    cause: str
    cure: str  # a command; {dpctl} stands for what sycl_ext requires of it, see `examine`
    then: str = ""  # what a command cannot do, such as logging in again; or another way
    severity: Severity = "problem"  # a problem makes the exit code 1
    id: str = ""  # the name of the check, which `examine` fills in


# ---- the runtime ---------------------------------------------------------------------------------


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
        cause, cure = f"{names} puts another runtime before that of this environment", unset(names)
    yield Finding(f"import sycl_ext {how(step)}", f"{cause} ({step.detail})", cure)


def two_libsycl(machine: Machine) -> Iterator[Finding]:
    """A step has loaded a second SYCL runtime into the process."""
    copies = [library for library in machine.libraries if is_libsycl(library.path)]
    if len(copies) < 2:
        return
    second = copies[1].loaded_by
    cause, cure, then = f"{second} loads another one", REINSTALL_RUNTIME, ""
    names = overriding(machine, {Path(library.path).parent for library in copies})
    package = second.removeprefix("import ")
    if names:
        cause, cure = f"{names} leads to another one than that of this environment", unset(names)
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
            f"{package} brings a SYCL runtime of its own ({library})",
            "two runtimes in one process share no queues and no contexts, and some pairs end the "
            "process at the first queue of the second one",
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
        cause, cure = f"{names} puts it before that of the package intel-sycl-rt", unset(names)
    problem = f"{loaded[0]} is not the SYCL runtime of this environment"
    yield Finding(problem, cause, cure, severity=when_others_work(machine))


def package(machine: Machine) -> Iterator[Finding]:
    """A library cannot be imported together with sycl_ext."""
    if not machine.devices and (machine.devices_without_selector or not were_listed(machine)):
        return  # some cannot be imported without a device, and another check says why it is missing
    ours = machine.went_wrong("import sycl_ext")
    for name, cure in UPGRADES.items():
        step = machine.went_wrong(f"import {name}")
        if step is not None and not (ours and ours.detail == step.detail):
            yield Finding(f"import {name} {how(step)}", step.detail, cure)


# ---- devices and their drivers -------------------------------------------------------------------


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
    """The OpenCL CPU driver is at a path with a space."""
    for driver in machine.drivers:
        folder, _, name = driver.path.rpartition("/")
        if name != icd.DRIVER or not icd.driver_with_space({"OCL_ICD_FILENAMES": driver.path}):
            continue
        source, target = shlex.quote(folder), '"$HOME"/.intel-opencl'
        yield Finding(
            f"the OpenCL CPU driver cannot be used at a path with a space: {driver.path}",
            "it reads its own path in /proc/self/maps, cuts it at the space, and does not find the "
            "files next to it; a link does not help, because that file shows real paths",
            f"mkdir -p {target} && ln -s {source}/* {target} && cp --remove-destination "
            f"{source}/{icd.DRIVER} {target} && export OCL_ICD_FILENAMES={target}/{icd.DRIVER}",
            "or create the environment at a path without a space",
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
        cures = (  # the first that applies
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
            f"{named.named_by} names it, but: {named.error}",
            next(cure for applies, cure in cures if applies),
            "only if you trust everybody who may change that file; otherwise install into an "
            "environment of your own"
            if refused
            else "",
            "warning" if from_file and works else "problem",
        )


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


# ---- GPUs ----------------------------------------------------------------------------------------


def permission(machine: Machine) -> Iterator[Finding]:
    """The user may not open a GPU."""
    closed: dict[tuple[str, str, str], list[Node]] = {}
    for node in machine.nodes:
        if not node.accessible:
            closed.setdefault(how_to_open(node, machine), []).append(node)
    for (cause, cure, then), nodes in closed.items():
        paths = " ".join(shlex.quote(node.path) for node in nodes)
        yield Finding(
            f"{machine.user.name} may not open {paths} ({nodes[0].mode} {nodes[0].owner} "
            f"{nodes[0].group}), so these GPUs are missing",
            cause,
            cure.format(paths=paths),
            then,
        )


def how_to_open(node: Node, machine: Machine) -> tuple[str, str, str]:
    """Return why a node cannot be opened, the cure, and what to do after it."""
    name, group = machine.user.name, node.group
    if group.isdecimal():
        return (
            f"group {group} of the node has no name in this container, and you are not in it",
            f"docker run --device /dev/dri --group-add {group} IMAGE",
            "with the rest of your command",
        )
    if node.mode[4:6] != "rw" or group == "root":
        return (
            f"the mode of the node lets only {node.owner} open it",
            "sudo chgrp render {paths} && sudo chmod g+rw {paths}",
            f"and make sure that you are in that group: sudo usermod -aG render {name}",
        )
    if group in machine.user.groups:
        return (
            f"the group {group} may open it, and something else forbids it",
            "getfacl {paths}",
            "",
        )
    if group in machine.user.groups_at_login:
        cause = f"{name} has joined the group {group} after this session began"
        return cause, f"newgrp {group}", "or log in again"
    cause = f"{name} is not in the group {group}"
    return cause, f"sudo usermod -aG {group} {name}", "and log in again"


def no_node(machine: Machine) -> Iterator[Finding]:
    """A GPU is on the bus, and programs cannot reach it."""
    if not machine.gpus or machine.nodes:
        return
    cause, cure = "the GPU was not handed to this container", "docker run --device /dev/dri IMAGE"
    then = "with the rest of your command"
    if not machine.in_container and not any(gpu.module for gpu in machine.gpus):
        cause, cure = "no kernel module drives it", "sudo modprobe xe"
        then = "or i915 for GPUs before 2024"
    problem = f"there is an Intel GPU ({machine.gpus[0].address}), and no /dev/dri/renderD*"
    yield Finding(problem, cause, cure, then, when_others_work(machine))


def no_gpu_driver(machine: Machine) -> Iterator[Finding]:
    """An Intel GPU can be opened, and no driver lists it."""
    is_listed = any(device.device_type == "gpu" for device in all_devices(machine))
    can_be_opened = any(node.accessible for node in machine.nodes)
    if is_listed or not machine.gpus or not can_be_opened or not were_listed(machine):
        return
    errors = "; ".join(d.error for d in machine.drivers if d.named_by == "Level Zero" and d.error)
    yield Finding(
        f"there is an Intel GPU ({machine.gpus[0].address}), and no driver lists it",
        errors or "the installed driver is probably older than the GPU",
        INSTALL_GPU,
        severity=when_others_work(machine),
    )


def other_gpu(machine: Machine) -> Iterator[Finding]:
    """A driver of another vendor's GPUs runs, and SYCL lists none of them."""
    for gpu in machine.other_gpus:
        if any(device.backend == gpu.backend for device in all_devices(machine)):
            continue
        name = f"{icd.ADAPTER}{gpu.backend}.so"
        yield Finding(
            f"there is a driver of {gpu.vendor} ({gpu.node}), and no SYCL device of its GPUs",
            f"the SYCL runtime needs an adapter for it ({name}); its packages for pip have those "
            "of Level Zero and OpenCL only",
            "export UR_ADAPTERS_SEARCH_PATH=FOLDER",
            f"where FOLDER has {name} of the version of the runtime, from a build of DPC++ or a "
            "plugin of Codeplay; if it is there already, SYCL_UR_TRACE=-1 python -m sycl_ext "
            "devices shows why it lists no device",
            when_others_work(machine),
        )


# ---- features of a device ------------------------------------------------------------------------


def self_test(machine: Machine) -> Iterator[Finding]:
    """A device fails a test."""
    kinds = {f"device {device.id}": device.device_type for device in machine.devices}
    for step in machine.steps:
        who, _, test = step.name.partition(": ")
        if not step.went_wrong or (step.name != "exit" and who not in kinds):
            continue
        cure = UPGRADES.get(test) or DRIVER_UPGRADES.get(kinds.get(who, "cpu"), INSTALL_GPU)
        meant = ""
        if test == "second process":
            rows = (row for word, row in MEANINGS.items() if word in step.detail)
            meant, cure = next(rows, ("", cure))
        at_exit = f"the process {how(step)} at exit"
        problem = f"{who}: the test {test!r} {how(step)}" if test else at_exit
        yield Finding(problem, step.detail + meant, cure)


def ptrace_scope(machine: Machine) -> Iterator[Finding]:
    """The kernel keeps processes from opening each other's device memory."""
    takes_descriptors = any(device.backend == "level_zero" for device in machine.devices)
    if not machine.ptrace_scope or not takes_descriptors:
        return
    for_one = (
        "or, for one process: let the process that has the memory call sycl_ext.ipc.handle(t, "
        "peer=PID), or start it from the one that opens"
    )
    yield Finding(
        "a process may not open the device memory of another one with sycl_ext.ipc.open",
        f"kernel.yama.ptrace_scope is {machine.ptrace_scope}, and the driver takes a file "
        "descriptor out of the other process, which needs the rights of a debugger",
        ALLOW_PTRACE,
        for_one if machine.ptrace_scope == 1 else "",
        "warning",
    )


def pidfd_getfd(machine: Machine) -> Iterator[Finding]:
    """The kernel lets no process take a descriptor of another one."""
    takes_descriptors = any(device.backend == "level_zero" for device in machine.devices)
    if not machine.pidfd_getfd or not takes_descriptors:
        return
    cure, then = ALLOW_GETFD.get(machine.pidfd_getfd, ALLOW_GETFD["EPERM"])
    yield Finding(
        "no process may open the device memory of another one with sycl_ext.ipc.open",
        f"the call pidfd_getfd is refused even for a process's own descriptor "
        f"({machine.pidfd_getfd}), as by the filter (seccomp) of a container",
        cure,
        then,
        "warning",
    )


def no_by_path(machine: Machine) -> Iterator[Finding]:
    """A container has the nodes of GPUs, and not the links that say where each is on the bus."""
    if machine.node_links or not machine.nodes:
        return
    yield Finding(
        "there is no /dev/dri/by-path, the links from addresses on the bus to the nodes of GPUs",
        "docker run --device passes nodes without it; oneCCL finds the cards of other ranks by it",
        "docker run --device /dev/dri -v /dev/dri/by-path:/dev/dri/by-path IMAGE",
        "with the rest of your command",
        "warning",
    )


def hidden_peers(machine: Machine) -> Iterator[Finding]:
    """A rank sees its own GPU alone, so it reaches the memory of no other rank."""
    ranks = [name for name in RANKS if name in machine.environment]
    names = [name for name in SELECTORS if name in machine.environment]
    seen, there = (
        [device for device in devices if device.device_type == "gpu"]
        for devices in (machine.devices, machine.devices_without_selector)
    )
    if not ranks or not seen or len(seen) >= len(there):
        return
    yield Finding(
        f"this rank ({ranks[0]}) sees {len(seen)} of the {len(there)} GPUs",
        f"{' and '.join(names)} hides the others, and a process opens no handle of a hidden GPU's "
        "memory, nor copies directly from there",
        unset(" and ".join(names)),
        f"and let each rank choose its GPU by its number: sycl_ext.devices()[int(os.environ"
        f"['{ranks[0]}'])]; without handles between ranks the mask is right",
        "warning",
    )


def no_fp64(machine: Machine) -> Iterator[Finding]:
    """A device has no double precision."""
    if lacking := [device for device in machine.devices if not device.fp64]:
        yield Finding(
            f"no double precision (fp64) on device {listed(lacking)}",
            "the hardware has none, as on Intel Arc and many integrated GPUs: float64 arrays can "
            "be shared and copied, but kernels that compute with float64 fail",
            "export OverrideDefaultFP64Settings=1 IGC_EnableDPEmulation=1",
            "which emulates it on Arc, slowly (integrated GPUs may hang); better: compute in "
            'float32, as in x.astype("float32")',
            "warning",
        )


def no_usm(machine: Machine) -> Iterator[Finding]:
    """A device has no unified shared memory."""
    if lacking := [device for device in machine.devices if not device.usm_types]:
        yield Finding(
            f"no unified shared memory (USM) on device {listed(lacking)}",
            "its driver does not implement it, so nothing can be allocated or shared there",
            "python -m sycl_ext devices",
            f"and choose another device; if it lists no other: {INSTALL_CPU}",
            "warning",
        )


def no_device(machine: Machine) -> Iterator[Finding]:
    """There is no device, and no other check has found a problem."""
    others = (finding for check in CHECKS if check is not no_device for finding in check(machine))
    if machine.devices or any(finding.severity == "problem" for finding in others):
        return
    said = "; ".join(machine.runtime_messages[:3])
    can_be_loaded = any(not driver.error for driver in machine.drivers)
    yield Finding(
        "there is no SYCL device",
        f"the runtime says: {said}" if said else "the runtime found no device, and says nothing",
        REINSTALL_RUNTIME if can_be_loaded else INSTALL_CPU,
        "to see what the runtime does: SYCL_UR_TRACE=-1 python -m sycl_ext devices",
    )


# ---- what several checks ask ---------------------------------------------------------------------


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


def overriding(machine: Machine, folders: set[Path]) -> str:
    """Return the variables that lead to a runtime in one of these folders."""
    overrides = machine.overrides.items()
    return " and ".join(
        name for name, paths in overrides if any(Path(path).parent in folders for path in paths)
    )


def unset(names: str) -> str:
    """Return the command that unsets variables, named as in "A and B"."""
    return f"unset {names.replace(' and ', ' ')}"


def how(step: Step) -> str:
    """Say how a step went wrong."""
    return "crashes" if step.outcome == "crashed" else "fails"


#: All checks; the name of each, with hyphens, is the id of what it finds.
CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    *(runtime, two_libsycl, another_runtime, other_runtime, package),
    *(hidden_devices, space, list_devices, driver, no_driver),
    *(permission, no_node, no_gpu_driver, other_gpu, no_by_path),
    *(self_test, ptrace_scope, pidfd_getfd, hidden_peers, no_fp64, no_usm, no_device),
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
