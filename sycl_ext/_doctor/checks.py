# SPDX-License-Identifier: Apache-2.0
"""What the doctor concludes: a table of checks, each a pure function of the facts.

A check yields a `Finding` for each thing that is wrong: what does not work, why, and the command
that mends it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

from sycl_ext._doctor.facts import ONCE, SELECTORS, Facts, Finding, Missing, Node, Severity, Step
from sycl_ext._setup import icd
from sycl_ext._setup.hierarchy import explain_hierarchy
from sycl_ext._setup.icd import INSTALL_CPU

INSTALL_GPU = "sudo apt-get install libze1 libze-intel-gpu1 intel-opencl-icd"
REINSTALL_RUNTIME = "python -m pip install --force-reinstall {intel-sycl-rt}"
REINSTALL_US = "python -m pip install --force-reinstall --no-deps {sycl_ext}"

#: How the loader complains of a library that it found.
WRONG_LIBRARY = r"undefined symbol|version `|required by|file too short|invalid ELF header"

#: What an import of sycl_ext can fail with: a pattern of the error, the cause, the cure.
#: "{name}" is what this package requires of another package.
LOAD_ERRORS = (
    (
        r"libsycl\.so\S*: cannot open shared object",
        "the SYCL runtime that the package intel-sycl-rt brings is not in this environment",
        REINSTALL_RUNTIME,
    ),
    (
        WRONG_LIBRARY,
        "the SYCL runtime that is loaded is not of the version that sycl_ext was built for",
        REINSTALL_RUNTIME,
    ),
    (r"No module named 'dpctl", "dpctl is not installed", "python -m pip install {dpctl}"),
    (r"No module named 'numpy", "numpy is not installed", "python -m pip install {numpy}"),
    (r"needs NumPy >=", "numpy is older than sycl_ext needs", "python -m pip install {numpy}"),
    (r"No module named 'sycl_ext|_native", "the extension module is not there", REINSTALL_US),
    (
        r"^(TypeError|AttributeError)|cannot import name",
        "the extension module is of another version than the Python files of the package",
        REINSTALL_US,
    ),
    (r"", "the package, or what it needs, is damaged", REINSTALL_RUNTIME),
)

#: What to do when a package cannot be imported, or its self-test fails.
UPGRADES = {
    "dpctl": "python -m pip install --upgrade --force-reinstall {dpctl}",
    "dpnp": "python -m pip install --upgrade dpnp dpctl",
    "torch": "python -m pip install --upgrade torch",
}
#: When the kernel does not let a process take a descriptor of another one.
ALLOW_PTRACE = "sudo sysctl kernel.yama.ptrace_scope=0"
#: And when the self-test of a device fails without them.
DRIVER_UPGRADES = {
    "cpu": "python -m pip install --upgrade intel-opencl-rt",
    "gpu": "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd",
}


def examine(facts: Facts) -> list[Finding]:
    """Return what is wrong, problems before warnings."""
    found = [finding for check in CHECKS for finding in check(facts)]
    if not facts.devices and not any(finding.severity == "problem" for finding in found):
        found += unexplained(facts)
    return sorted(found, key=lambda finding: finding.severity != "problem")


# ---- the runtime ---------------------------------------------------------------------------------


def runtime_loads(facts: Facts) -> Iterator[Finding]:
    """Find out why sycl_ext cannot be imported."""
    step = facts.went_wrong("import sycl_ext")
    if step is None or facts.source_tree or facts.unreadable:
        return
    if any(is_named_in(step.detail, one) for one in facts.missing):
        return
    cause, cure = next(
        (cause, cure) for pattern, cause, cure in LOAD_ERRORS if re.search(pattern, step.detail)
    )
    overrides = overriding(facts)
    if overrides and (step.outcome == "crashed" or re.search(WRONG_LIBRARY, step.detail)):
        cause = f"{' and '.join(overrides)} puts another runtime before that of this environment"
        cure = f"unset {' '.join(overrides)}"
    yield Finding(
        "runtime",
        "problem",
        f"import sycl_ext {how(step)}",
        f"{cause} ({step.detail})",
        with_requirements(cure, facts),
    )


def source_tree_is_built(facts: Facts) -> Iterator[Finding]:
    """Find Python files that are imported from a source tree without an extension module."""
    if facts.source_tree:
        folder = shlex.quote(facts.source_tree)
        yield Finding(
            "source-tree",
            "problem",
            "import sycl_ext finds a source tree, and no extension module",
            f"Python looks in {facts.source_tree} first, where nothing is built, and the package "
            "is not installed in this environment",
            f"python -m pip install {folder}",
            "or, to work on the sources: python -m pip install --editable " + folder,
        )


def requirements_are_there(facts: Facts) -> Iterator[Finding]:
    """Find packages that are not installed, or that have lost a library."""
    for one in facts.missing:
        wanted = f", which {one.wanted_by} needs," if one.wanted_by else ""
        name = re.split(r"[^\w.-]", one.requirement)[0]
        if one.files:
            problem = f"{' '.join(one.files)} of {one.requirement} is not there"
            cause = "the package is installed, and these of its files were removed"
            cure = f"python -m pip install --force-reinstall --no-deps {one.requirement}"
        else:
            problem = f"{name}{wanted} is not installed"
            cause = "it was left out (--no-deps), or uninstalled"
            cure = f"python -m pip install {shlex.quote(one.requirement)}"
        yield Finding("missing", "problem", problem, cause, cure)


def libraries_are_readable(facts: Facts) -> Iterator[Finding]:
    """Find libraries of the runtime that this user may not read."""
    if facts.unreadable:
        paths = " ".join(map(shlex.quote, facts.unreadable))
        yield Finding(
            "unreadable",
            "problem",
            f"{facts.user.name or 'this user'} may not read {' '.join(facts.unreadable)}",
            "the mode of these files forbids it, so the loader cannot load them",
            f"chmod a+r {paths}",
            "as their owner, or with sudo",
        )


def paths_have_no_space(facts: Facts) -> Iterator[Finding]:
    """Find a CPU driver that cannot work where it is."""
    for driver in facts.drivers:
        folder, _, name = driver.path.rpartition("/")
        if name != icd.DRIVER or not icd.driver_with_space({"OCL_ICD_FILENAMES": driver.path}):
            continue
        source, target = shlex.quote(folder), '"$HOME"/.intel-opencl'
        yield Finding(
            "space",
            "problem",
            f"the OpenCL CPU driver cannot be used at a path with a space: {driver.path}",
            "it reads its own path in /proc/self/maps, cuts it at the space, and does not find the "
            "files next to it; a link does not help, as real paths are there",
            f"mkdir -p {target} && ln -s {source}/* {target} && cp --remove-destination "
            f"{source}/{icd.DRIVER} {target} && export OCL_ICD_FILENAMES={target}/{icd.DRIVER}",
            "or make the environment at a path without a space",
        )


def packages_load(facts: Facts) -> Iterator[Finding]:
    """Find other packages that cannot be imported together with sycl_ext."""
    if facts.devices_without_selector and not facts.devices:
        return  # without a device some of them cannot, and `nothing_hidden` says why
    ours = facts.went_wrong("import sycl_ext")
    for package, cure in UPGRADES.items():
        step = facts.went_wrong(f"import {package}")
        if step is not None and not (ours and ours.detail == step.detail):
            yield Finding(
                "package",
                "problem",
                f"import {package} {how(step)}",
                step.detail,
                with_requirements(cure, facts),
            )


def one_runtime(facts: Facts) -> Iterator[Finding]:
    """Find libraries of which there are two."""
    for family, severity in ONCE.items():
        copies = [library for library in facts.libraries if library.family == family]
        if len(copies) < 2:
            continue
        paths = " and ".join(library.path for library in copies)
        verb, _, package = copies[1].loaded_by.partition(" ")
        overrides = overriding(facts, {library.folder for library in copies})
        cause = f"{copies[1].loaded_by} loads another one"
        cure, then = with_requirements(REINSTALL_RUNTIME, facts), ""
        if overrides:
            cause = f"{' and '.join(overrides)} leads to another one than this environment has"
            cure = f"unset {' '.join(overrides)}"
        elif verb == "import" and package != "sycl_ext":
            cure = f"python -m pip install --upgrade {package}"
            then = f"or use {package} in a process of its own"
        yield Finding(
            f"two-{family}",
            severity,
            f"two copies of {family} are loaded in one process: {paths}",
            f"{cause}; the memory and the devices of one copy are unknown to the other",
            cure,
            then,
        )


def one_runtime_wanted(facts: Facts) -> Iterator[Finding]:
    """Find packages that will load a second SYCL runtime, before they do."""
    for runtime in facts.other_runtimes:
        name = runtime.package.partition(" ")[0]
        yield Finding(
            "another-runtime",
            "warning",
            f"{runtime.package} works with another SYCL runtime than sycl_ext ({runtime.wants})",
            "two of them in one process share no queues and no contexts, and some pairs end the "
            "process at the first queue of the second one",
            f"python -m pip install --upgrade {shlex.quote(name)}",
            f"or use {name} in a process of its own",
        )


def own_runtime(facts: Facts) -> Iterator[Finding]:
    """Find a runtime that is not the one of this environment."""
    loaded = [library for library in facts.libraries if library.family == "libsycl"]
    if len(loaded) != 1 or "intel-sycl-rt" not in facts.packages:
        return
    path = loaded[0].path
    if not loaded[0].package and not path.startswith(f"{facts.prefix}/"):
        cause = "the extension module was installed for another environment"
        cure = with_requirements(REINSTALL_US, facts)
        if overrides := overriding(facts):
            cause = f"{' and '.join(overrides)} puts it before that of the package intel-sycl-rt"
            cure = f"unset {' '.join(overrides)}"
        yield Finding(
            "other-runtime",
            when_others_work(facts),
            f"{path} is not the SYCL runtime of this environment",
            cause,
            cure,
        )


# ---- devices -------------------------------------------------------------------------------------


def nothing_hidden(facts: Facts) -> Iterator[Finding]:
    """Find variables that hide every device."""
    if facts.devices or not facts.devices_without_selector:
        return
    names = [name for name in SELECTORS if name in facts.environment]
    assignments = " ".join(f"{name}={shlex.quote(facts.environment[name])}" for name in names)
    listing = facts.went_wrong("list devices")
    traps = [line for line in explain_hierarchy(facts.environment) if line.startswith("warning: ")]
    if listing is not None:
        reason = listing.detail
    elif traps:
        reason = traps[0].removeprefix("warning: ")
    else:
        reason = "no device fits that"
    kinds = dict.fromkeys(device.device_type for device in facts.devices_without_selector)
    there = ", ".join(
        f"{device.name} ({device.filter_string})" for device in facts.devices_without_selector
    )
    yield Finding(
        "hidden-devices",
        "problem",
        f"every device is hidden; without {' and '.join(names)} there would be {there}",
        f"{assignments}: {reason}",
        f"unset {' '.join(names)}",
        " or ".join(f"export ONEAPI_DEVICE_SELECTOR='*:{kind}'" for kind in kinds).join(
            ("or, for a part of them: ", "")
        ),
    )


def listing_works(facts: Facts) -> Iterator[Finding]:
    """Find a runtime that cannot list its devices."""
    step = facts.went_wrong("list devices")
    if (
        step is not None
        and not facts.devices_without_selector
        and not any(paths_have_no_space(facts))
    ):
        yield Finding(
            "list",
            "problem",
            f"listing the devices {how(step)}",
            step.detail,
            with_requirements(REINSTALL_RUNTIME, facts),
        )


def drivers_load(facts: Facts) -> Iterator[Finding]:
    """Find OpenCL drivers that are named and cannot be loaded."""
    for driver in facts.drivers:
        if not driver.error or driver.named_by == "Level Zero":
            continue
        if driver.path in facts.unreadable:
            continue
        from_file = driver.named_by.endswith(".icd")
        works = any(device.backend == "opencl" for device in facts.devices)
        if driver.named_by == "OCL_ICD_FILENAMES":
            cure = "unset OCL_ICD_FILENAMES"
            if not facts.embedded_driver:
                cure += f" && {INSTALL_CPU}"
        elif not from_file:
            cure = "python -m pip install --force-reinstall intel-opencl-rt"
        elif works:
            cure = f"sudo rm {shlex.quote(driver.named_by)}"
        elif facts.embedded_driver:
            cure = f"export OCL_ICD_FILENAMES={shlex.quote(facts.embedded_driver)}"
        else:
            cure = INSTALL_CPU
        yield Finding(
            "driver",
            "warning" if from_file and works else "problem",
            f"the OpenCL driver {driver.path} cannot be loaded, so its devices are missing",
            f"{driver.named_by} names it, but: {driver.error}",
            cure,
        )


def some_driver(facts: Facts) -> Iterator[Finding]:
    """Find out that no driver is named at all."""
    if facts.devices or facts.devices_without_selector or facts.drivers or facts.gpus:
        return
    if not were_listed(facts):
        return
    deciding = [name for name in icd.DECIDED_BY if name in facts.environment]
    if facts.embedded_driver and deciding:
        cause = (
            f"{' and '.join(deciding)} stops sycl_ext from naming the driver of this environment, "
            f"{facts.embedded_driver}"
        )
        cure = f"unset {' '.join(deciding)}"
    else:
        cause = (
            "no OpenCL driver (ICD) is installed: intel-opencl-rt is not in this environment, and "
            "/etc/OpenCL/vendors has no .icd file"
        )
        cure = INSTALL_CPU
    yield Finding("no-driver", "problem", "no driver is named, so there is no device", cause, cure)


# ---- GPUs ----------------------------------------------------------------------------------------


def nodes_accessible(facts: Facts) -> Iterator[Finding]:
    """Find GPUs that this user may not open."""
    closed: dict[tuple[str, str, str], list[Node]] = {}
    for node in facts.nodes:
        if not node.accessible:
            closed.setdefault(how_to_open(node, facts), []).append(node)
    for (cause, cure, then), nodes in closed.items():
        paths = " ".join(shlex.quote(node.path) for node in nodes)
        yield Finding(
            "permission",
            "problem",
            f"{facts.user.name} may not open {paths} ({nodes[0].mode} {nodes[0].owner} "
            f"{nodes[0].group}), so these GPUs are missing",
            cause,
            cure.format(paths=paths),
            then,
        )


def how_to_open(node: Node, facts: Facts) -> tuple[str, str, str]:
    """Return why a node cannot be opened, the cure, and what comes after it."""
    user, group = facts.user, node.group
    if group.isdecimal():
        return (
            f"group {group} of the node has no name in this container, and you are not in it",
            f"docker run --device /dev/dri --group-add {group} IMAGE",
            "with the rest of your command",
        )
    if not node.group_may or group == "root":
        return (
            f"the mode of the node lets nobody in but {node.owner}",
            "sudo chgrp render {paths} && sudo chmod g+rw {paths}",
            "and see to it that you are in that group: sudo usermod -aG render " + user.name,
        )
    if group in user.groups:
        return f"{group} may, and something else forbids it", "getfacl {paths}", ""
    if group in user.groups_at_login:
        return (
            f"{user.name} is in the group {group}, but this session is older than that",
            f"newgrp {group}",
            "or log in again",
        )
    return (
        f"{user.name} is not in the group {group}",
        f"sudo usermod -aG {group} {user.name}",
        "and log in again",
    )


def nodes_exist(facts: Facts) -> Iterator[Finding]:
    """Find GPUs on the bus that have no node."""
    if not facts.gpus or facts.nodes:
        return
    modules = {gpu.module for gpu in facts.gpus} - {""}
    if facts.in_container or modules:
        cause = "nobody handed the GPU to this container"
        cure, then = "docker run --device /dev/dri IMAGE", "with the rest of your command"
    else:
        cause = "no module of the kernel drives it"
        cure, then = "sudo modprobe xe", "or i915 for GPUs before 2024"
    yield Finding(
        "no-node",
        when_others_work(facts),
        f"there is an Intel GPU ({facts.gpus[0].address}), and no /dev/dri/renderD*",
        cause,
        cure,
        then,
    )


def gpu_has_driver(facts: Facts) -> Iterator[Finding]:
    """Find GPUs that can be opened, and that no driver shows."""
    listed = (*facts.devices, *facts.devices_without_selector)
    if any(device.device_type == "gpu" for device in listed) or not were_listed(facts):
        return
    errors = [d.error for d in facts.drivers if d.named_by == "Level Zero" and d.error]
    accessible = [node.path for node in facts.nodes if node.accessible]
    if accessible and not facts.gpus and not facts.bus_visible and errors:
        yield Finding(
            "no-gpu-driver",
            when_others_work(facts),
            f"there is a GPU ({accessible[0]}), and no loader of Level Zero that could show it",
            "; ".join(errors) + " (the PCI bus is not visible here: it may be no GPU of Intel)",
            INSTALL_GPU,
        )
    if facts.gpus and accessible:
        yield Finding(
            "no-gpu-driver",
            when_others_work(facts),
            f"there is an Intel GPU ({facts.gpus[0].address}), and no driver shows it",
            "; ".join(errors) or "the driver that is installed is older than the GPU, it seems",
            INSTALL_GPU,
        )


def when_others_work(facts: Facts) -> Severity:
    """Return how bad something is that need not keep all devices away."""
    return "warning" if facts.devices else "problem"


# ---- what a device can do ------------------------------------------------------------------------


def self_tests_pass(facts: Facts) -> Iterator[Finding]:
    """Find devices that fail their self-test."""
    kinds = {f"device {device.id}": device.device_type for device in facts.devices}
    for step in facts.steps:
        who, _, test = step.name.partition(": ")
        if step.outcome in ("ok", "skipped") or (step.name != "exit" and who not in kinds):
            continue
        cure = UPGRADES.get(test) or DRIVER_UPGRADES.get(kinds.get(who, "cpu"), INSTALL_GPU)
        if "pidfd_getfd" in step.detail:
            cure = ALLOW_PTRACE
        yield Finding(
            "self-test",
            "problem",
            f"{who}: the test {test!r} {how(step)}" if test else f"the process {how(step)} at exit",
            step.detail,
            with_requirements(cure, facts),
        )


def processes_share(facts: Facts) -> Iterator[Finding]:
    """Find a kernel that keeps processes from opening each other's device memory."""
    if facts.ptrace_scope and any(device.backend == "level_zero" for device in facts.devices):
        one = "let the process that has the memory call sycl_ext.ipc.handle(t, peer=PID), or "
        yield Finding(
            "ptrace-scope",
            "warning",
            "a process may not open the device memory of another one with sycl_ext.ipc.open",
            f"kernel.yama.ptrace_scope is {facts.ptrace_scope}, and the driver takes a file "
            "descriptor out of the other process, which needs the rights of a debugger",
            ALLOW_PTRACE,
            f"or, for one process: {one}start it from the one that opens"
            if facts.ptrace_scope == 1
            else "",
        )


def double_precision(facts: Facts) -> Iterator[Finding]:
    """Find devices without fp64."""
    lacking = [device for device in facts.devices if not device.fp64]
    if lacking:
        named = ", ".join(f"{device.id} ({device.name})" for device in lacking)
        yield Finding(
            "no-fp64",
            "warning",
            f"no double precision (fp64) on device {named}",
            "the hardware has none, as on Intel Arc and many integrated GPUs: float64 arrays can "
            "be shared and copied, but kernels that compute with float64 fail",
            "export OverrideDefaultFP64Settings=1 IGC_EnableDPEmulation=1",
            "which emulates it on Arc, slowly (integrated GPUs may hang); better: compute in "
            'float32, as in x.astype("float32")',
        )


def usable_memory(facts: Facts) -> Iterator[Finding]:
    """Find devices without USM."""
    lacking = [device for device in facts.devices if not device.usm_types]
    if lacking:
        named = ", ".join(f"{device.id} ({device.name})" for device in lacking)
        yield Finding(
            "no-usm",
            "warning",
            f"no unified shared memory (USM) on device {named}",
            "its driver does not implement it, so nothing can be allocated or shared there",
            "python -m sycl_ext devices",
            "and name another device; with none there: " + INSTALL_CPU,
        )


def unexplained(facts: Facts) -> Iterator[Finding]:
    """Say that there is no device, and what the runtime says."""
    said = "; ".join(facts.runtime_messages[:3])
    yield Finding(
        "no-device",
        "problem",
        "there is no SYCL device",
        f"the runtime says: {said}" if said else "the runtime found no device, and says nothing",
        INSTALL_CPU,
        "to see what the runtime tries: SYCL_UR_TRACE=-1 python -m sycl_ext devices",
    )


def were_listed(facts: Facts) -> bool:
    """Say whether a device that is not in the table is missing."""
    return not (facts.went_wrong("import sycl_ext") or facts.went_wrong("list devices"))


# ---- words ---------------------------------------------------------------------------------------


def how(step: Step) -> str:
    """Say how a step went wrong."""
    return "crashes" if step.outcome == "crashed" else "fails"


def overriding(facts: Facts, folders: set[str] | None = None) -> list[str]:
    """Return the variables that put a runtime (in one of these folders) before our own."""
    return [
        name
        for name, paths in facts.overrides.items()
        if folders is None or any(path.rpartition("/")[0] in folders for path in paths)
    ]


def is_named_in(error: str, missing: Missing) -> bool:
    """Say whether an error is that of something missing."""
    name = re.split(r"[^\w.-]", missing.requirement)[0]
    return any(word in error for word in (f"module named '{name}", *missing.files))


def with_requirements(command: str, facts: Facts) -> str:
    """Fill in what this package requires: {dpctl} becomes 'dpctl>=0.22'.

    {sycl_ext} becomes what it was installed from: it may be on no index.
    """

    def requirement(match: re.Match[str]) -> str:
        name = match[1]
        if name == "sycl_ext":
            return facts.origin or "."
        found = (text for text in facts.requirements if re.match(rf"{name}\b", text))
        return shlex.quote(next(found, name))

    return re.sub(r"\{([\w-]+)\}", requirement, command)


#: The checks, in the order in which a chain breaks.
CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    source_tree_is_built,
    requirements_are_there,
    libraries_are_readable,
    runtime_loads,
    one_runtime,
    one_runtime_wanted,
    own_runtime,
    packages_load,
    nothing_hidden,
    paths_have_no_space,
    listing_works,
    drivers_load,
    some_driver,
    nodes_accessible,
    nodes_exist,
    gpu_has_driver,
    self_tests_pass,
    processes_share,
    double_precision,
    usable_memory,
)
