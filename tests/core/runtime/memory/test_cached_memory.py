# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept for the next allocation: how much, for whom, and the way back."""

import pytest

import sycl_ext as sx

MIB = 1 << 20
#: The promises of `sx.memory.cached`, in bytes, by the kind of USM.
LIMITS = {"device": 2 * MIB, "shared": 2 * MIB, "host": 8 * MIB, "system": 64 * MIB}


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


def test_cached_memory_is_told_and_released(usm_type):
    """Small blocks are powers of two from 64 bytes; the last size is the largest of them."""
    assert sx.memory.cached() == {}
    sizes = [1, 64, 65, 5000, 64 << 10]
    tensors = [make(usm_type, nbytes) for nbytes in sizes]
    assert sx.memory.cached() == {}
    del tensors
    assert sx.memory.cached() == {(sx.device(), usm_type): 64 + 64 + 128 + 8192 + (64 << 10)}
    sx.memory.release_cached()
    assert sx.memory.cached() == {}


def test_private_context_caches_no_memory(private):
    for usm_type in ("device", "shared", "host"):
        sx.empty(64, "uint8", usm_type=usm_type, device=private)
        sx.empty(MIB, "uint8", usm_type=usm_type, device=private)
    assert sx.memory.cached() == {}


@pytest.mark.parametrize("kind", ["host", "system"])
def test_cached_block_serves_no_larger_request(kind):
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


def test_cached_memory_stays_below_its_limit(usm_type):
    """Sizes on both sides of each limit: of small blocks, of one block, and of a pool."""
    most = 0
    for nbytes in (64, 5000, 64 << 10, 100_000, MIB, 3 * MIB, 9 * MIB, 40 * MIB):
        tensors = [make(usm_type, nbytes) for _ in range(min(200, 100 * MIB // nbytes))]
        del tensors
        most = max(most, cached(usm_type))
    assert 0 < most <= LIMITS[usm_type]
