# SPDX-License-Identifier: Apache-2.0
"""The conclusions of the doctor: one function for each check, in the order of the causes.

A check looks at the facts, and yields a `Finding` for each thing that is wrong: what does not work,
why, and the command that cures it. Its name is the id of its findings.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sycl_ext._doctor.machine import (
    ONCE,
    SELECTORS,
    Machine,
    Node,
    Severity,
    Step,
    family_of,
    name_in_requirement,
)
from sycl_ext._setup import icd
from sycl_ext._setup.hierarchy import explain_hierarchy
from sycl_ext._setup.icd import INSTALL_CPU

INSTALL_GPU = "sudo apt-get install libze1 libze-intel-gpu1 intel-opencl-icd"
REINSTALL_RUNTIME = "python -m pip install --force-reinstall {intel-sycl-rt}"
REINSTALL_US = "python -m pip install --force-reinstall --no-deps {sycl_ext}"
#: The cures if a package cannot be imported, or if its self-test fails.
UPGRADES = {
    "dpctl": "python -m pip install --upgrade --force-reinstall {dpctl}",
    "dpnp": "python -m pip install --upgrade dpnp dpctl",
    "torch": "python -m pip install --upgrade torch",
}
#: And when the self-test of a device fails without them.
DRIVER_UPGRADES = {
    "cpu": "python -m pip install --upgrade intel-opencl-rt",
    "gpu": "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd",
}
#: When the kernel does not let a process take a descriptor of another one.
ALLOW_PTRACE = "sudo sysctl kernel.yama.ptrace_scope=0"

#: Before a driver is named that others may change.
TRUST = (
    "only if you trust everybody who may change it; else install into an environment of your own"
)

#: How the loader complains of a library that it found.
WRONG_LIBRARY = r"undefined symbol|version `|required by|file too short|invalid ELF header"
PERMISSION = "Permission denied"
#: Errors of an import of sycl_ext: a pattern of the error, the cause, the cure.
LOAD_ERRORS = {
    r"no library is loaded from": (
        "the extension module would look for its libraries in a folder that others may change",
        "python -m venv .venv && .venv/bin/python -m pip install {sycl_ext}",
    ),
    PERMISSION: (
        "this user may not read the files of the package, or of the runtime",
        "chmod -R a+rX {prefix}/lib",
    ),
    r"libsycl\.so\S*: cannot open shared object": (
        "the SYCL runtime that the package intel-sycl-rt brings is not in this environment",
        REINSTALL_RUNTIME,
    ),
    WRONG_LIBRARY: (
        "the SYCL runtime that is loaded is not of the version that sycl_ext was built for",
        REINSTALL_RUNTIME,
    ),
    r"No module named 'numpy": ("numpy is not installed", "python -m pip install {numpy}"),
    r"needs NumPy >=": ("numpy is older than sycl_ext needs", "python -m pip install {numpy}"),
    r"No module named 'sycl_ext": (
        "the extension module is not there: it was removed, or these are the sources, and it was "
        "not built",
        REINSTALL_US,
    ),
    r"^(TypeError|AttributeError)|cannot import name": (
        "the extension module is of another version than the Python files of the package",
        REINSTALL_US,
    ),
    r"": ("the package, or what it needs, is damaged", REINSTALL_RUNTIME),
}


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    problem: str
    cause: str
    cure: str  # a command; {dpctl} stands for what this package requires, see `examine`
    then: str = ""  # steps that a command cannot do, such as logging in again
    severity: Severity = "problem"  # which makes the exit code 1
    id: str = ""  # of the check that found it: the name of its function, unless it says another


# ---- the runtime ---------------------------------------------------------------------------------


def missing(machine: Machine) -> Iterator[Finding]:
    """Find packages that are not installed, or that have lost a library."""
    for one in machine.missing:
        if one.files:
            yield Finding(
                f"{' '.join(one.files)} of {one.requirement} is not there",
                "the package is installed, and these of its files were removed",
                f"python -m pip install --force-reinstall --no-deps {one.requirement}",
            )
        else:
            wanted = f", which {one.wanted_by} needs," if one.wanted_by else ""
            yield Finding(
                f"{name_in_requirement(one.requirement)}{wanted} is not installed",
                "it was left out (--no-deps), or uninstalled",
                f"python -m pip install {shlex.quote(one.requirement)}",
            )


def runtime(machine: Machine) -> Iterator[Finding]:
    """Find out why sycl_ext cannot be imported."""
    step = machine.went_wrong("import sycl_ext")
    if step is None:
        return
    for one in machine.missing:  # another check has named it
        words = (f"module named '{name_in_requirement(one.requirement)}", *one.files)
        if any(word in step.detail for word in words):
            return
    cause, cure = next(LOAD_ERRORS[error] for error in LOAD_ERRORS if re.search(error, step.detail))
    if cure == REINSTALL_US and "sycl_ext" not in machine.packages:
        cure = "python -m pip install {sycl_ext}"
    names, unset = overriding(machine)
    if names and (step.outcome == "crashed" or re.search(WRONG_LIBRARY, step.detail)):
        cause, cure = f"{names} puts another runtime before that of this environment", unset
    yield Finding(f"import sycl_ext {how(step)}", f"{cause} ({step.detail})", cure)


def two(machine: Machine) -> Iterator[Finding]:
    """Find libraries of which there are two."""
    for family, severity in ONCE.items():
        copies = [library for library in machine.libraries if family_of(library.path) == family]
        if len(copies) < 2:
            continue
        verb, _, package = copies[1].loaded_by.partition(" ")
        cause, cure, then = f"{copies[1].loaded_by} loads another one", REINSTALL_RUNTIME, ""
        names, unset = overriding(machine, {Path(library.path).parent for library in copies})
        if names:
            cause, cure = f"{names} leads to another one than that of this environment", unset
        elif verb == "import" and package != "sycl_ext":
            cure = f"python -m pip install --upgrade {package}"
            then = f"or use {package} in a process of its own"
        paths = " and ".join(library.path for library in copies)
        problem = f"two copies of {family} are loaded in one process: {paths}"
        cause += "; the memory and the devices of one copy are unknown to the other"
        yield Finding(problem, cause, cure, then, severity, f"two-{family}")


def another_runtime(machine: Machine) -> Iterator[Finding]:
    """Find packages that will load a second SYCL runtime, before they do."""
    for other in machine.other_runtimes:
        name = other.package.partition(" ")[0]
        yield Finding(
            f"{other.package} works with another SYCL runtime than sycl_ext ({other.wants})",
            "two of them in one process share no queues and no contexts, and some pairs end the "
            "process at the first queue of the second one",
            f"python -m pip install --upgrade {shlex.quote(name)}",
            f"or use {name} in a process of its own",
            "warning",
        )


def other_runtime(machine: Machine) -> Iterator[Finding]:
    """Find a runtime that is not the one of this environment."""
    loaded = [library for library in machine.libraries if family_of(library.path) == "libsycl"]
    if len(loaded) != 1 or "intel-sycl-rt" not in machine.packages:
        return
    path = loaded[0].path
    if not loaded[0].package and not path.startswith(f"{machine.prefix}/"):
        cause, cure = "the extension module was installed for another environment", REINSTALL_US
        names, unset = overriding(machine)
        if names:
            cause, cure = f"{names} puts it before that of the package intel-sycl-rt", unset
        problem = f"{path} is not the SYCL runtime of this environment"
        yield Finding(problem, cause, cure, severity=when_others_work(machine))


def package(machine: Machine) -> Iterator[Finding]:
    """Find other packages that cannot be imported together with sycl_ext."""
    if not machine.devices and (machine.devices_without_selector or not were_listed(machine)):
        return  # without a device some of them cannot, and another check says why
    ours = machine.went_wrong("import sycl_ext")
    for name, cure in UPGRADES.items():
        step = machine.went_wrong(f"import {name}")
        if step is not None and not (ours and ours.detail == step.detail):
            yield Finding(f"import {name} {how(step)}", step.detail, cure)


# ---- devices -------------------------------------------------------------------------------------


def hidden_devices(machine: Machine) -> Iterator[Finding]:
    """Find variables that hide every device."""
    hidden = machine.devices_without_selector
    if machine.devices or not hidden:
        return
    names = [name for name in SELECTORS if name in machine.environment]
    assignments = " ".join(f"{name}={shlex.quote(machine.environment[name])}" for name in names)
    lines, listing = explain_hierarchy(machine.environment), machine.went_wrong("list devices")
    warnings = [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ")]
    reason = listing.detail if listing else (warnings or ["no device fits that"])[-1]
    there = ", ".join(f"{device.name} ({device.filter_string})" for device in hidden)
    kinds = dict.fromkeys(device.device_type for device in hidden)
    parts = " or ".join(f"export ONEAPI_DEVICE_SELECTOR='*:{kind}'" for kind in kinds)
    yield Finding(
        f"every device is hidden; without {' and '.join(names)} there would be {there}",
        f"{assignments}: {reason}",
        f"unset {' '.join(names)}",
        f"or, for a part of them: {parts}",
    )


def space(machine: Machine) -> Iterator[Finding]:
    """Find a CPU driver that cannot work where it is."""
    for driver in machine.drivers:
        folder, _, name = driver.path.rpartition("/")
        if name != icd.DRIVER or not icd.driver_with_space({"OCL_ICD_FILENAMES": driver.path}):
            continue
        source, target = shlex.quote(folder), '"$HOME"/.intel-opencl'
        yield Finding(
            f"the OpenCL CPU driver cannot be used at a path with a space: {driver.path}",
            "it reads its own path in /proc/self/maps, cuts it at the space, and does not find the "
            "files next to it; a link does not help, as real paths are there",
            f"mkdir -p {target} && ln -s {source}/* {target} && cp --remove-destination "
            f"{source}/{icd.DRIVER} {target} && export OCL_ICD_FILENAMES={target}/{icd.DRIVER}",
            "or make the environment at a path without a space",
        )


def list_(machine: Machine) -> Iterator[Finding]:
    """Find a runtime that cannot list its devices."""
    step = machine.went_wrong("list devices")
    if step is None or machine.devices_without_selector or any(space(machine)):
        return  # another check explains it
    wrong = [name for name in SELECTORS if name in machine.environment and name in step.detail]
    cure = f"unset {wrong[0]}" if wrong else REINSTALL_RUNTIME
    yield Finding(f"listing the devices {how(step)}", step.detail, cure)


def driver(machine: Machine) -> Iterator[Finding]:
    """Find OpenCL drivers that are named and cannot be loaded."""
    works = any(device.backend == "opencl" for device in machine.devices)
    for one in machine.drivers:
        if not one.error or one.named_by == "Level Zero":
            continue
        from_file, embedded = one.named_by.endswith(".icd"), machine.embedded_driver
        by_variable = one.named_by == "OCL_ICD_FILENAMES"
        cures = (
            (
                one.error.startswith(icd.REFUSED),
                f"export OCL_ICD_FILENAMES={shlex.quote(one.path)}",
            ),
            (PERMISSION in one.error, f"chmod a+r {shlex.quote(one.path)}"),
            (by_variable and embedded, "unset OCL_ICD_FILENAMES"),
            (by_variable, f"unset OCL_ICD_FILENAMES && {INSTALL_CPU}"),
            (not from_file, "python -m pip install --force-reinstall intel-opencl-rt"),
            (works, f"sudo rm {shlex.quote(one.named_by)}"),
            (embedded, f"export OCL_ICD_FILENAMES={shlex.quote(embedded)}"),
            (True, INSTALL_CPU),
        )
        yield Finding(
            f"the OpenCL driver {one.path} cannot be loaded, so its devices are missing",
            f"{one.named_by} names it, but: {one.error}",
            next(cure for applies, cure in cures if applies),
            TRUST if one.error.startswith(icd.REFUSED) else "",
            severity="warning" if from_file and works else "problem",
        )


def no_driver(machine: Machine) -> Iterator[Finding]:
    """Find out that no driver is named at all."""
    there = machine.devices or machine.devices_without_selector or machine.drivers or machine.gpus
    if there or not were_listed(machine):
        return
    deciding = [name for name in icd.DECIDED_BY if name in machine.environment]
    if machine.embedded_driver and deciding:
        cause = (
            f"{' and '.join(deciding)} stops sycl_ext from naming the driver of this environment, "
            f"{machine.embedded_driver}"
        )
        cure = f"unset {' '.join(deciding)}"
    else:
        cause = (
            "no OpenCL driver (ICD) is installed: intel-opencl-rt is not in this environment, and "
            "/etc/OpenCL/vendors has no .icd file"
        )
        cure = INSTALL_CPU
    yield Finding("no driver is named, so there is no device", cause, cure)


# ---- GPUs ----------------------------------------------------------------------------------------


def permission(machine: Machine) -> Iterator[Finding]:
    """Find GPUs that this user may not open."""
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
    """Return why a node cannot be opened, the cure, and what comes after it."""
    user, group = machine.user, node.group
    if group.isdecimal():
        return (
            f"group {group} of the node has no name in this container, and you are not in it",
            f"docker run --device /dev/dri --group-add {group} IMAGE",
            "with the rest of your command",
        )
    if node.mode[4:6] != "rw" or group == "root":
        return (
            f"the mode of the node lets nobody in but {node.owner}",
            "sudo chgrp render {paths} && sudo chmod g+rw {paths}",
            "and see to it that you are in that group: sudo usermod -aG render " + user.name,
        )
    if group in user.groups:
        return f"{group} may, and something else forbids it", "getfacl {paths}", ""
    if group in user.groups_at_login:
        cause = f"{user.name} is in the group {group}, but this session is older than that"
        return cause, f"newgrp {group}", "or log in again"
    cause, cure = f"{user.name} is not in the group {group}", f"usermod -aG {group} {user.name}"
    return cause, f"sudo {cure}", "and log in again"


def no_node(machine: Machine) -> Iterator[Finding]:
    """Find GPUs on the bus that have no node."""
    if not machine.gpus or machine.nodes:
        return
    cause, cure = "nobody handed the GPU to this container", "docker run --device /dev/dri IMAGE"
    then = "with the rest of your command"
    if not machine.in_container and not any(gpu.module for gpu in machine.gpus):
        cause, cure = "no module of the kernel drives it", "sudo modprobe xe"
        then = "or i915 for GPUs before 2024"
    problem = f"there is an Intel GPU ({machine.gpus[0].address}), and no /dev/dri/renderD*"
    yield Finding(problem, cause, cure, then, when_others_work(machine))


def no_gpu_driver(machine: Machine) -> Iterator[Finding]:
    """Find GPUs that can be opened, and that no driver shows."""
    listed = (*machine.devices, *machine.devices_without_selector)
    accessible = [node.path for node in machine.nodes if node.accessible]
    is_shown = any(device.device_type == "gpu" for device in listed)
    if is_shown or not accessible or not were_listed(machine):
        return
    errors = "; ".join(d.error for d in machine.drivers if d.named_by == "Level Zero" and d.error)
    if machine.gpus:
        problem = f"there is an Intel GPU ({machine.gpus[0].address}), and no driver shows it"
        cause = errors or "the driver that is installed is older than the GPU, it seems"
    elif errors and not machine.bus_visible:
        node = accessible[0]
        problem = f"there is a GPU ({node}), and no loader of Level Zero that could show it"
        cause = f"{errors} (the PCI bus is not visible here: it may be no GPU of Intel)"
    else:
        return
    yield Finding(problem, cause, INSTALL_GPU, severity=when_others_work(machine))


def other_gpu(machine: Machine) -> Iterator[Finding]:
    """Find drivers of other vendors' GPUs that no device of SYCL shows."""
    listed = (*machine.devices, *machine.devices_without_selector)
    for gpu in machine.other_gpus:
        if any(device.backend == gpu.backend for device in listed) or not were_listed(machine):
            continue
        name = f"{icd.ADAPTER}{gpu.backend}.so"
        if gpu.adapter:
            cause = f"the adapter {gpu.adapter} is there, and lists no device"
            cure, then = "SYCL_UR_TRACE=-1 python -m sycl_ext devices", "which shows the reason"
        else:
            cause = (
                f"the SYCL runtime has no adapter for it ({name}); its packages for pip have "
                "those of Level Zero and OpenCL only"
            )
            cure = "export UR_ADAPTERS_SEARCH_PATH=FOLDER"
            then = (
                f"where FOLDER has {name} of the version of the runtime, from a build of DPC++ or "
                "a plugin of Codeplay; without it, use the devices of the table"
            )
        yield Finding(
            f"there is a driver of {gpu.vendor} ({gpu.node}), and no SYCL device of its GPUs",
            cause,
            cure,
            then,
            severity=when_others_work(machine),
        )


# ---- features of a device ------------------------------------------------------------------------


def self_test(machine: Machine) -> Iterator[Finding]:
    """Find devices that fail their self-test."""
    kinds = {f"device {device.id}": device.device_type for device in machine.devices}
    for step in machine.steps:
        who, _, test = step.name.partition(": ")
        if not step.went_wrong or (step.name != "exit" and who not in kinds):
            continue
        cure = UPGRADES.get(test) or DRIVER_UPGRADES.get(kinds.get(who, "cpu"), INSTALL_GPU)
        if "pidfd_getfd" in step.detail:
            cure = ALLOW_PTRACE
        what = (
            f"{who}: the test {test!r} {how(step)}" if test else f"the process {how(step)} at exit"
        )
        yield Finding(what, step.detail, cure)


def ptrace_scope(machine: Machine) -> Iterator[Finding]:
    """Find a kernel that keeps processes from opening each other's device memory."""
    if machine.ptrace_scope and any(one.backend == "level_zero" for one in machine.devices):
        yield Finding(
            "a process may not open the device memory of another one with sycl_ext.ipc.open",
            f"kernel.yama.ptrace_scope is {machine.ptrace_scope}, and the driver takes a file "
            "descriptor out of the other process, which needs the rights of a debugger",
            ALLOW_PTRACE,
            "or, for one process: let the process that has the memory call sycl_ext.ipc.handle(t, "
            "peer=PID), or start it from the one that opens"
            if machine.ptrace_scope == 1
            else "",
            "warning",
        )


def no_fp64(machine: Machine) -> Iterator[Finding]:
    """Find devices without fp64."""
    if lacking := [f"{one.id} ({one.name})" for one in machine.devices if not one.fp64]:
        yield Finding(
            f"no double precision (fp64) on device {', '.join(lacking)}",
            "the hardware has none, as on Intel Arc and many integrated GPUs: float64 arrays can "
            "be shared and copied, but kernels that compute with float64 fail",
            "export OverrideDefaultFP64Settings=1 IGC_EnableDPEmulation=1",
            "which emulates it on Arc, slowly (integrated GPUs may hang); better: compute in "
            'float32, as in x.astype("float32")',
            "warning",
        )


def no_usm(machine: Machine) -> Iterator[Finding]:
    """Find devices without USM."""
    if lacking := [f"{one.id} ({one.name})" for one in machine.devices if not one.usm_types]:
        yield Finding(
            f"no unified shared memory (USM) on device {', '.join(lacking)}",
            "its driver does not implement it, so nothing can be allocated or shared there",
            "python -m sycl_ext devices",
            "and name another device; with none there: " + INSTALL_CPU,
            "warning",
        )


def no_device(machine: Machine) -> Iterator[Finding]:
    """Quote the runtime, if there is no device and no other check finds a problem."""
    others = (one.severity for check in CHECKS[:-1] for one in check(machine))
    if machine.devices or "problem" in others:
        return
    said = "; ".join(machine.runtime_messages[:3])
    yield Finding(
        "there is no SYCL device",
        f"the runtime says: {said}" if said else "the runtime found no device, and says nothing",
        INSTALL_CPU,
        "to see the steps of the runtime: SYCL_UR_TRACE=-1 python -m sycl_ext devices",
    )


# ---- what several checks ask, and words ----------------------------------------------------------


def were_listed(machine: Machine) -> bool:
    """Say whether a device that is not in the table is missing."""
    return not (machine.went_wrong("import sycl_ext") or machine.went_wrong("list devices"))


def when_others_work(machine: Machine) -> Severity:
    """Return how bad something is that need not keep all devices away."""
    return "warning" if machine.devices else "problem"


def overriding(machine: Machine, folders: set[Path] | None = None) -> tuple[str, str]:
    """Return the variables that put a runtime (in one of these folders) before ours, and a cure."""
    names = [
        name
        for name, paths in machine.overrides.items()
        if folders is None or any(Path(path).parent in folders for path in paths)
    ]
    return " and ".join(names), f"unset {' '.join(names)}"


def how(step: Step) -> str:
    """Say how a step went wrong."""
    return "crashes" if step.outcome == "crashed" else "fails"


CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    *(missing, runtime, two, another_runtime, other_runtime, package),
    *(
        hidden_devices,
        space,
        list_,
        driver,
        no_driver,
        permission,
        no_node,
        no_gpu_driver,
        other_gpu,
    ),
    *(self_test, ptrace_scope, no_fp64, no_usm, no_device),
)


def examine(machine: Machine) -> list[Finding]:
    """Return the findings, problems before warnings.

    In a cure, {dpctl} becomes what this package requires, such as 'dpctl>=0.22', and {sycl_ext}
    what it was installed from: it may be on no index.
    """
    known = {name_in_requirement(text): shlex.quote(text) for text in machine.requirements}
    known |= {"sycl_ext": machine.origin or ".", "prefix": shlex.quote(machine.prefix)}

    found = [
        replace(
            one,
            id=one.id or check.__name__.strip("_").replace("_", "-"),
            cure=re.sub(r"\{([\w-]+)\}", lambda match: known.get(match[1], match[1]), one.cure),
        )
        for check in CHECKS
        for one in check(machine)
    ]
    return sorted(found, key=lambda one: one.severity != "problem")
