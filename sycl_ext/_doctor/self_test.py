# SPDX-License-Identifier: Apache-2.0
"""The tests of a device, which `probe` runs in a process of its own because each may crash or hang.

A test returns what it found out, or None; it raises `Skip` if the device lacks the feature, and any
other exception if the feature does not work. A new test is a function and a row at the end.
"""

import pickle
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import sycl_ext as sx
from sycl_ext._doctor import processes
from sycl_ext._negotiation.usm_types import ALLOCATED

#: The bytes that the tests move around.
DATA = bytes(range(256)) * 16
#: How a device is partitioned: by the first of these that it supports.
PARTITIONS: dict[str, Any] = {
    "tiles": "next_partitionable",
    "sub-devices of one compute unit": [1, 1],
}


class Skip(Exception):  # noqa: N818 - not an error
    """The device, or this machine, lacks the feature; the message says why."""


def skip(why: str) -> NoReturn:
    """Leave a test out."""
    raise Skip(why)


def tensors(device: sx.Device) -> Iterator[sx.Tensor]:
    """Yield a tensor with DATA for each kind of USM that the device allocates."""
    for kind in ALLOCATED:
        if kind in device.usm_types:
            yield sx.empty(len(DATA), "uint8", usm_type=kind, device=device).copy_from(DATA)


def expect_data(tensor: sx.Tensor, problem: str, wanted: bytes = DATA) -> None:
    """Raise an error with `problem` unless the tensor has the wanted bytes."""
    if tensor.to_numpy(copy=True).tobytes() != wanted:
        raise AssertionError(problem)


def expect_view(view: sx.Tensor, tensor: sx.Tensor, who: str) -> None:
    """Raise an error unless one tensor is a view of the other's memory."""
    if view.ptr != tensor.ptr:
        raise AssertionError(
            f"{who} returned no view of {tensor.usm_type} USM: the address differs"
        )


def copy(device: sx.Device) -> None:
    """Allocate each kind of USM, and copy bytes there and back."""
    for tensor in tensors(device):
        expect_data(tensor, f"{tensor.usm_type} USM does not have the bytes copied to it")


def capsule(device: sx.Device) -> None:
    """Export memory as a DLPack capsule, legacy and versioned, and import it as a view."""
    for tensor in tensors(device):
        for version in (None, (1, 0)):
            taken = sx.from_dlpack(tensor.__dlpack__(max_version=version))
            expect_view(taken, tensor, "a DLPack capsule")


def with_dpnp(device: sx.Device) -> None:
    """Let dpnp view the memory, and view dpnp's array in turn."""
    import dpnp

    for tensor in tensors(device):
        taken = sx.from_dlpack(dpnp.from_dlpack(tensor))
        expect_view(taken, tensor, "dpnp")
        expect_data(taken, f"dpnp changed the bytes of {tensor.usm_type} USM")


def with_torch(device: sx.Device) -> None:
    """Pass the bytes to torch, as a view where possible."""
    import torch

    for tensor in tensors(device):
        if bytes(sx.exchange(tensor, torch).cpu().tolist()) != DATA:
            raise AssertionError(f"torch read wrong bytes from {tensor.usm_type} USM")


def sub_devices(device: sx.Device) -> str:
    """Use the tiles of a device, or else two sub-devices of one compute unit each."""
    what, devices = partitioned(device)
    for sub_device in devices:
        copy(sub_device)
        moved = next(tensors(sub_device)).to_device(device, copy=True)
        expect_data(moved, "a copy from a sub-device to the whole device has wrong bytes")
    return f"{len(devices)} {what}"


def partitioned(device: sx.Device) -> tuple[str, tuple[sx.Device, ...]]:
    """Return the kind of the partition, and the sub-devices."""
    refused = ""
    for what, partition in PARTITIONS.items():
        try:
            return what, device.create_sub_devices(partition)
        except (sx.SyclError, BufferError, ValueError) as error:
            refused = str(error)
    raise Skip(f"it cannot be partitioned: {refused}")


def strided_copy(device: sx.Device) -> str:
    """Copy transposed memory, and say whether a kernel of the device does so."""
    for tensor in tensors(device):
        transposed = tensor.reshape(64, len(DATA) // 64).T
        expect_data(
            transposed.copy().T, f"a transposed copy of {tensor.usm_type} USM has wrong bytes"
        )
    reason = device._entry.reason_against_kernels()
    return f"without a kernel, because {reason}" if reason else "by a kernel of the device"


#: A process that opens a handle, checks the bytes, and reverses them.
PEER = """
import pickle, sys
print("ready", flush=True)
handle = pickle.loads(bytes.fromhex(sys.stdin.readline()))
import sycl_ext as sx
tensor = sx.ipc.open(handle)
data = tensor.to_numpy(copy=True)
tensor.copy_from(data[::-1].copy())
print("done", bytes(data[:256]) == bytes(range(256)), tensor.device.filter_string, flush=True)
"""


def second_process(device: sx.Device) -> str:
    """Let another process open memory, and read what it wrote."""
    try:
        tensor = sx.ipc.empty(len(DATA), "uint8", device=device).copy_from(DATA)
    except BufferError as error:
        raise Skip(str(error)) from error
    command, pipe = processes.command(PEER), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as peer:
        handle = sx.ipc.handle(tensor, peer=peer.pid)
        said, errors = peer.communicate(pickle.dumps(handle).hex() + "\n")
    if "done True" not in said:
        lines = errors.strip().splitlines() or [
            f"it read wrong bytes; its output is {said.split()}"
        ]
        raise RuntimeError(f"the other process: {lines[-1]}")
    expect_data(tensor, "data written by the other process is not visible in this one", DATA[::-1])
    return "device USM" if handle.mechanism == "sycl" else "shared host memory"


#: The tests that follow the import of each package: of every run, and of ``--full``.
SHORT: dict[str, dict[str, Callable[[sx.Device], str | None]]] = {
    "sycl_ext": {"copy": copy, "capsule": capsule},
    "dpnp": {"dpnp": with_dpnp},
    "torch": {"torch": with_torch},
}
MORE = {"strided copy": strided_copy, "sub-devices": sub_devices, "second process": second_process}
FULL = SHORT | {"sycl_ext": SHORT["sycl_ext"] | MORE}
