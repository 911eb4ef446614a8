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
            f"the group {group} may open it, but something else forbids it",
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
    cause, cure = "the GPU was not passed to this container", "docker run --device /dev/dri IMAGE"
    then = "with the rest of your command"
    if not machine.in_container and not any(gpu.module for gpu in machine.gpus):
        cause, cure = "no kernel module drives it", "sudo modprobe xe"
        then = "or i915 for GPUs before 2024"
    problem = f"there is an Intel GPU ({machine.gpus[0].address}), but no /dev/dri/renderD*"
    yield Finding(problem, cause, cure, then, when_others_work(machine))


def no_gpu_driver(machine: Machine) -> Iterator[Finding]:
    """An Intel GPU can be opened, and no driver lists it."""
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
    """A driver of another vendor's GPUs runs, and SYCL lists none of them."""
    for gpu in machine.other_gpus:
        if any(device.backend == gpu.backend for device in all_devices(machine)):
            continue
        name = f"{icd.ADAPTER}{gpu.backend}.so"
        yield Finding(
            f"the driver of {gpu.vendor} is loaded ({gpu.node}), but SYCL lists none of its GPUs",
            f"the SYCL runtime needs an adapter for it ({name}); its pip packages have only those "
            "of Level Zero and OpenCL",
            "export UR_ADAPTERS_SEARCH_PATH=FOLDER",
            f"where FOLDER has {name} of the version of the runtime, from a build of DPC++ or a "
            "plugin of Codeplay; if it is there already, SYCL_UR_TRACE=-1 python -m sycl_ext "
            "devices shows why it lists no device",
            when_others_work(machine),
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


CHECKS = (permission, no_node, no_gpu_driver, other_gpu, no_by_path)
