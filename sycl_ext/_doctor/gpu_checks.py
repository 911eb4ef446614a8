# SPDX-License-Identifier: Apache-2.0
"""Doctor checks: GPUs on the bus, their device nodes, and their drivers."""

import shlex
from collections.abc import Iterator

from sycl_ext._doctor.finding import (
    INSTALL_GPU,
    Finding,
    all_devices,
    were_listed,
    when_others_work,
)
from sycl_ext._doctor.machine import Machine, Node
from sycl_ext._setup import icd


def permission(machine: Machine) -> Iterator[Finding]:
    """The user has no permission to open a GPU."""
    closed: dict[tuple[str, str, str], list[Node]] = {}
    for node in machine.nodes:
        if not node.accessible:
            closed.setdefault(how_to_open(node, machine), []).append(node)
    for (cause, cure, then), nodes in closed.items():
        paths = " ".join(shlex.quote(node.path) for node in nodes)
        yield Finding(
            f"{machine.user.name} has no permission to open {paths} ({nodes[0].mode} "
            f"{nodes[0].owner} {nodes[0].group}), so these GPUs are missing",
            cause,
            cure.format(paths=paths),
            then,
        )


def how_to_open(node: Node, machine: Machine) -> tuple[str, str, str]:
    """Return why a node cannot be opened, the cure, and what to do after it."""
    name, group = machine.user.name, node.group
    if group.isdecimal():
        return (
            f"you are not in group {group} of the node, which has no name in this container",
            f"docker run --device /dev/dri --group-add {group} IMAGE",
            "together with your other options",
        )
    if node.mode[4:6] != "rw" or group == "root":
        return (
            f"the mode of the node lets only {node.owner} open it",
            "sudo chgrp render {paths} && sudo chmod g+rw {paths}",
            f"and make sure that you are in that group: sudo usermod -aG render {name}",
        )
    if group in machine.user.groups:
        return (
            f"the group {group} has permission, but something else, such as an ACL, denies it",
            "getfacl {paths}",
            "",
        )
    if group in machine.user.groups_at_login:
        cause = f"{name} joined the group {group} after this session began"
        return cause, f"newgrp {group}", "or log in again"
    cause = f"{name} is not in the group {group}"
    return cause, f"sudo usermod -aG {group} {name}", "and log in again"


def no_node(machine: Machine) -> Iterator[Finding]:
    """A GPU is on the bus, but programs cannot access it."""
    if not machine.gpus or machine.nodes:
        return
    cause, cure = "the GPU was not passed to this container", "docker run --device /dev/dri IMAGE"
    then = "together with your other options"
    if not machine.in_container and not any(gpu.module for gpu in machine.gpus):
        cause, cure = "no kernel driver is bound to it", "sudo modprobe xe"
        then = "or i915 for GPUs before 2024"
    problem = f"there is an Intel GPU ({machine.gpus[0].address}), but no /dev/dri/renderD*"
    yield Finding(problem, cause, cure, then, when_others_work(machine))


def no_gpu_driver(machine: Machine) -> Iterator[Finding]:
    """An Intel GPU can be opened, but no driver lists it."""
    is_listed = any(device.device_type == "gpu" for device in all_devices(machine))
    can_be_opened = any(node.accessible for node in machine.nodes)
    if is_listed or not machine.gpus or not can_be_opened or not were_listed(machine):
        return
    errors = "; ".join(d.error for d in machine.drivers if d.named_by == "Level Zero" and d.error)
    yield Finding(
        f"there is an Intel GPU ({machine.gpus[0].address}), but no driver lists it",
        errors or "the installed driver is probably older than the GPU",
        INSTALL_GPU,
        severity=when_others_work(machine),
    )


def other_gpu(machine: Machine) -> Iterator[Finding]:
    """A driver for GPUs of another vendor is loaded, but SYCL lists none of them."""
    for gpu in machine.other_gpus:
        if any(device.backend == gpu.backend for device in all_devices(machine)):
            continue
        name = f"{icd.ADAPTER}{gpu.backend}.so"
        yield Finding(
            f"the driver of {gpu.vendor} is loaded ({gpu.node}), but SYCL lists none of its GPUs",
            f"the SYCL runtime needs an adapter for it ({name}); its pip packages contain only "
            "those for Level Zero and OpenCL",
            "export UR_ADAPTERS_SEARCH_PATH=FOLDER",
            f"where FOLDER contains {name} of the same version as the runtime, from a DPC++ "
            "build or a Codeplay plugin; if it is already there, SYCL_UR_TRACE=-1 python -m "
            "sycl_ext devices shows why it lists no device",
            when_others_work(machine),
        )


def no_by_path(machine: Machine) -> Iterator[Finding]:
    """A container has the device nodes of GPUs, but not the links from their PCI addresses."""
    if machine.node_links or not machine.nodes:
        return
    yield Finding(
        "there is no /dev/dri/by-path, which links PCI addresses to the device nodes of GPUs",
        "docker run --device passes the nodes without these links; oneCCL needs them to find the "
        "cards of other ranks",
        "docker run --device /dev/dri -v /dev/dri/by-path:/dev/dri/by-path IMAGE",
        "together with your other options",
        "warning",
    )


CHECKS = (permission, no_node, no_gpu_driver, other_gpu, no_by_path)
