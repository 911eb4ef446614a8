# SPDX-License-Identifier: Apache-2.0
"""Doctor checks: the features of each device, and memory shared between processes."""

from collections.abc import Iterator

from sycl_ext._doctor.finding import INSTALL_GPU, UPGRADES, Finding, how, listed, unset
from sycl_ext._doctor.machine import FREE_THREADED, RANKS, SELECTORS, Machine
from sycl_ext._setup.icd import INSTALL_CPU

#: What to do if a device of this kind fails a test that needs none of these packages.
DRIVER_UPGRADES = {
    "cpu": "python -m pip install --upgrade intel-opencl-rt",
    "gpu": "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd",
}
ALLOW_PTRACE = "sudo sysctl kernel.yama.ptrace_scope=0"
#: What to do if the kernel refuses ``pidfd_getfd`` to every process, by its error.
ALLOW_GETFD = {
    "ENOSYS": ("docker run --security-opt seccomp=unconfined IMAGE", "or use Linux 5.6 or later"),
    "EPERM": ("docker run --cap-add SYS_PTRACE IMAGE", "together with your other options"),
}
#: Words of a failed test -> what they mean, and the cure.
MEANINGS = {
    "pidfd_getfd": ("", ALLOW_PTRACE),
    "INVALID_ARGUMENT": (
        "; drivers report this for a handle if the two cards have no peer access on this host, or "
        "if a mask hides the card of the handle",
        "xpu-smi topology -m",
    ),
}


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
        "or, for one process: call sycl_ext.ipc.handle(t, peer=PID) in the process that has the "
        "memory, or start that process from the one that opens the memory"
    )
    yield Finding(
        "a process cannot open the device memory of another process with sycl_ext.ipc.open",
        f"kernel.yama.ptrace_scope is {machine.ptrace_scope}, but the driver copies a file "
        "descriptor from the other process, which requires permission to trace that process",
        ALLOW_PTRACE,
        for_one if machine.ptrace_scope == 1 else "",
        "warning",
    )


def pidfd_getfd(machine: Machine) -> Iterator[Finding]:
    """The kernel does not allow any process to copy a file descriptor from another one."""
    takes_descriptors = any(device.backend == "level_zero" for device in machine.devices)
    if not machine.pidfd_getfd or not takes_descriptors:
        return
    cure, then = ALLOW_GETFD.get(machine.pidfd_getfd, ALLOW_GETFD["EPERM"])
    yield Finding(
        "no process can open the device memory of another process with sycl_ext.ipc.open",
        f"the system call pidfd_getfd fails even for a process's own file descriptor "
        f"({machine.pidfd_getfd}), for example because of a container's seccomp filter",
        cure,
        then,
        "warning",
    )


def hidden_peers(machine: Machine) -> Iterator[Finding]:
    """A rank sees only its own GPU, so it cannot access device memory of other ranks."""
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
        f"the others are hidden by {' and '.join(names)}; a process can neither open a handle to "
        "memory of a hidden GPU nor copy directly from it",
        unset(" and ".join(names)),
        f"and let each rank select its GPU by its number: sycl_ext.devices()[int(os.environ"
        f"['{ranks[0]}'])]; if the ranks exchange no handles, keep the mask",
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
            "its driver does not support it, so no memory can be allocated or shared on it",
            "python -m sycl_ext devices",
            f"and choose another device; if none is listed: {INSTALL_CPU}",
            "warning",
        )


def free_threading(machine: Machine) -> Iterator[Finding]:
    """Python was built without the GIL."""
    if machine.python.endswith(FREE_THREADED):
        yield Finding(
            "free-threaded Python: importing sycl_ext re-enables the GIL",
            "its core relies on the GIL, so PYTHON_GIL=0 is not supported: threads that exchange "
            "arrays concurrently crash",
            "unset PYTHON_GIL",
            severity="warning",
        )


CHECKS = (self_test, ptrace_scope, pidfd_getfd, hidden_peers, no_fp64, no_usm, free_threading)
