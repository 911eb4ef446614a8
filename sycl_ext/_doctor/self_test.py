# SPDX-License-Identifier: Apache-2.0
"""The tests of a device.

`probe` runs it in a process of its own, since a device may crash or hang in each test.  A test
returns facts for the user, raises `Skip` where a device cannot do such a thing, and
any other exception where it should have.
"""

import pickle
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import sycl_ext as sx
from sycl_ext._negotiation.kinds import ALLOCATED
from sycl_ext._setup import child

#: The data of the tests.
DATA = bytes(range(256)) * 16
#: How a device is partitioned: the first of these that it allows.
PARTITIONS: dict[str, Any] = {"tiles": "next_partitionable", "parts of one compute unit": [1, 1]}


class Skip(Exception):  # noqa: N818 - no error
    """The device, or this machine, has nothing of that kind."""


def skip(why: str) -> NoReturn:
    """Leave a test out."""
    raise Skip(why)


def tensors(device: sx.Device) -> Iterator[sx.Tensor]:
    """Yield a tensor with DATA for each kind of USM that the driver allocates."""
    for kind in ALLOCATED:
        if kind in device.usm_types:
            yield sx.empty(len(DATA), "uint8", usm_type=kind, device=device).copy_from(DATA)


def expect(found: object, wanted: object, what: str) -> None:
    """Complain about a value."""
    if found != wanted:
        raise AssertionError(what)


def expect_data(tensor: sx.Tensor, what: str, wanted: bytes = DATA) -> None:
    """Complain about the bytes of a tensor."""
    expect(tensor.to_numpy(copy=True).tobytes(), wanted, what)


def allocate(device: sx.Device) -> None:
    """Allocate each kind of USM."""
    for kind in ALLOCATED:
        if kind in device.usm_types:
            expect(sx.empty(1 << 20, "uint8", usm_type=kind, device=device).usm_type, kind, kind)


def copy(device: sx.Device) -> None:
    """Copy there and back."""
    for tensor in tensors(device):
        expect_data(tensor, f"{tensor.usm_type} USM lost its bytes")


def export(device: sx.Device) -> None:
    """Hand out capsules, old and new."""
    for tensor in tensors(device):
        for version in (None, (1, 0)):
            expect(tensor.__dlpack__(max_version=version) is None, False, "no capsule")


def import_(device: sx.Device) -> None:
    """Take a capsule in."""
    for tensor in tensors(device):
        taken = sx.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
        expect(taken.ptr, tensor.ptr, f"{tensor.usm_type} USM came back at another address")


def with_dpnp(device: sx.Device) -> None:
    """Let dpnp view the memory, and take it back."""
    import dpnp

    for tensor in tensors(device):
        taken = sx.from_dlpack(dpnp.from_dlpack(tensor))
        expect(taken.ptr, tensor.ptr, f"dpnp moved {tensor.usm_type} USM to another address")
        expect_data(taken, "the bytes are not the same")


def with_torch(device: sx.Device) -> None:
    """Let torch have the bytes."""
    import torch

    for tensor in tensors(device):
        found = sx.exchange(tensor, torch)
        expect(bytes(found.cpu().tolist()), DATA, f"the bytes of {tensor.usm_type} USM are others")


def sub_devices(device: sx.Device) -> str:
    """Use the tiles of a device, or two parts of it."""
    what, parts = partitioned(device)
    for part in parts:
        copy(part)
        moved = next(tensors(part)).to_device(device, copy=True)
        expect_data(moved, "a copy to the root device is not the same")
    return f"{len(parts)} {what}"


def partitioned(device: sx.Device) -> tuple[str, tuple[sx.Device, ...]]:
    """Return the partition of the device, and the sub-devices."""
    refused = ""
    for what, partition in PARTITIONS.items():
        try:
            return what, device.create_sub_devices(partition)
        except (sx.SyclError, BufferError, ValueError) as error:
            refused = str(error)
    raise Skip(f"it cannot be partitioned: {refused}")


#: A process that opens a handle, checks the bytes, and changes them.
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
    """Let another process open memory, and see what it writes."""
    try:
        tensor = sx.ipc.empty(len(DATA), "uint8", device=device).copy_from(DATA)
    except BufferError as error:
        raise Skip(str(error)) from error
    command, pipe = child.command(PEER), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as peer:
        handle = sx.ipc.handle(tensor, peer=peer.pid)
        said, errors = peer.communicate(pickle.dumps(handle).hex() + "\n")
    if "done True" not in said:
        lines = errors.strip().splitlines() or [f"it saw other bytes, and said {said.split()}"]
        raise RuntimeError(f"the other process: {lines[-1]}")
    expect_data(tensor, "its write is not visible here", DATA[::-1])
    return "device USM" if handle.mechanism == "sycl" else "shared host memory"


#: The tests after each import, always and in the full self-test.
SHORT: dict[str, dict[str, Callable[[sx.Device], str | None]]] = {
    "sycl_ext": {"allocate": allocate, "copy": copy, "export": export, "import": import_},
    "dpnp": {"dpnp": with_dpnp},
    "torch": {"torch": with_torch},
}
MORE = {"sub-devices": sub_devices, "second process": second_process}
FULL = SHORT | {"sycl_ext": SHORT["sycl_ext"] | MORE}
