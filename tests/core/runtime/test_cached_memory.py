# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept for the next allocation: how much, for whom, and the way back."""

import json

import pytest

import environments
import sycl_ext as sx

MIB = 1 << 20
#: The promises of `sx.memory.cached`, in bytes, by the kind of USM.
LIMITS = {
    "device": 11 * MIB // 4,
    "shared": 11 * MIB // 4,
    "host": 11 * MIB // 4 + 8 * MIB,
    "system": 11 * MIB // 4 + 64 * MIB,
}


def cached(usm_type):
    return sx.memory.cached().get((sx.device() if usm_type != "system" else None, usm_type), 0)


def make(usm_type, nbytes):
    """A block of our own; "system": a copy to the host."""
    if usm_type != "system":
        return sx.empty(nbytes, "uint8", usm_type=usm_type)
    return sx.host_view(sx.empty(nbytes, "uint8", usm_type="shared"), copy=True)


@pytest.fixture(autouse=True)
def nothing_cached():
    sx.memory.release_cached()
    yield
    sx.memory.release_cached()


def test_what_is_kept_is_told_and_given_back(usm_type):
    assert sx.memory.cached() == {}
    sizes = [1, 64, 65, 5000, 64 << 10]
    tensors = [make(usm_type, nbytes) for nbytes in sizes]
    assert sx.memory.cached() == {}
    del tensors
    assert sx.memory.cached() == {(sx.device(), usm_type): 64 + 64 + 128 + 8192 + (64 << 10)}
    sx.memory.release_cached()
    assert sx.memory.cached() == {}


def test_nothing_is_kept_of_a_private_context(private):
    for usm_type in ("device", "shared", "host"):
        sx.empty(64, "uint8", usm_type=usm_type, device=private)
        sx.empty(MIB, "uint8", usm_type=usm_type, device=private)
    assert sx.memory.cached() == {}


@pytest.mark.parametrize("kind", ["host", "system"])
def test_a_kept_block_serves_no_larger_request(kind):
    nbytes = MIB + 5
    first = make(kind, nbytes)
    sx.memory.release_cached()
    del first
    for more in (1, 8, 4095, 4096):
        larger = make(kind, nbytes + more)
        assert cached(kind) == nbytes  # the block is still there: this one is another
        del larger
        sx.memory.release_cached()
        again = make(kind, nbytes)
        sx.memory.release_cached()
        del again
    fitting = make(kind, nbytes)
    assert cached(kind) == 0
    del fitting
    smaller = make(kind, nbytes - 100)
    assert cached(kind) == 0
    del smaller
    assert cached(kind) == nbytes  # and not the size of the last request


@pytest.mark.timeout(300)
@pytest.mark.parametrize("allocations", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_allocations_of_random_sizes(allocations):
    found = environments.python(
        f"ALLOCATIONS = {allocations}"
        """
import ctypes, json, random
import sycl_ext as sx

class Mallinfo(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo

def allocated():
    # By malloc, whose own free memory comes and goes.
    info = mallinfo()
    return info.uordblks + info.hblkhd >> 20  # MiB

def make(usm_type, nbytes):
    if usm_type == "system":
        return sx.host_view(source[:nbytes], copy=True)
    return sx.empty(nbytes, "uint8", usm_type=usm_type)

random.seed(5)
usm_types = ("device", "shared", "host", "system")
source = sx.zeros(40 << 20, "uint8", usm_type="shared")
for usm_type in usm_types:
    make(usm_type, 40 << 20)
before = allocated()
most = dict.fromkeys(usm_types, 0)
last = dict.fromkeys(usm_types, 1)
held = [None] * 6
for number in range(ALLOCATIONS):
    usm_type = random.choice(usm_types)
    # Few are large, since the copies take their time; many fit into the block before them.
    last[usm_type] = nbytes = 1 + (
        int(last[usm_type] * random.uniform(0.5, 1))
        if random.random() < 0.8
        else int((40 << 20) * random.random() ** 8)
    )
    held[number % len(held)] = None
    held[number % len(held)] = make(usm_type, nbytes)
    for (_device, where), kept in sx.memory.cached().items() if number % 10 == 0 else ():
        most[where] = max(most[where], kept)
held.clear()
print(json.dumps([most, allocated() - before]))
"""
    )
    most, grown = json.loads(found.splitlines()[-1])
    assert all(0 < most[usm_type] <= limit for usm_type, limit in LIMITS.items()), most
    assert grown <= sum(LIMITS.values()) // MIB
