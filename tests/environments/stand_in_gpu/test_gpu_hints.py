# SPDX-License-Identifier: Apache-2.0
"""Hints about shared USM on GPUs: what the driver is told."""

import dpctl
import dpnp
import pytest

import sycl_ext as sx
from sycl_ext._tensor.hints import ADVICE
from sycl_ext.memory import advise, prefetch

NBYTES = 1 << 16
HINTS = {
    "prefetch": prefetch,
    **{
        f"{advice}, undo={undo}": lambda x, advice=advice, undo=undo: advise(x, advice, undo=undo)
        for advice in ("read_mostly", "preferred_location")
        for undo in (False, True)
    },
}


@pytest.fixture
def told(adapter):
    """The bytes of a hint, and the number of an advice, that the driver was told by a call."""

    def by(call, x):
        before = adapter.fakegpu_prefetched(), adapter.fakegpu_advised()
        assert call(x) is True
        sx.as_tensor(x).wait()
        prefetched = adapter.fakegpu_prefetched() - before[0]
        advised = adapter.fakegpu_advised() - before[1]
        return prefetched, advised, adapter.fakegpu_advice() if advised else None

    return by


def shared(gpu):
    return sx.zeros(NBYTES, "uint8", usm_type="shared", device=gpu)


def in_private_context(gpu):
    return shared(sx.register_context(dpctl.SyclContext(gpu.sycl_device), gpu))


def of_dpnp(gpu):
    return dpnp.zeros(NBYTES, dtype="u1", usm_type="shared", sycl_queue=gpu.sycl_queue)


MEMORY = {
    "tensor": (shared, NBYTES),
    "slice": (lambda gpu: shared(gpu)[101:1:-10], 91),
    "private context": (in_private_context, NBYTES),
    "dpnp": (of_dpnp, NBYTES),
}


@pytest.mark.parametrize("memory", MEMORY)
def test_driver_is_told_the_bytes(memory, gpu, told):
    make, nbytes = MEMORY[memory]
    x = make(gpu)
    assert told(prefetch, x) == (nbytes, 0, None)
    assert told(lambda x: advise(x, "read_mostly"), x) == (0, nbytes, 0)


def test_driver_is_told_the_numbers_of_level_zero(gpu, told):
    """Those of ``ze_memory_advice_t``, and not the bits of the runtime, which mean other advice."""
    x = shared(gpu)
    numbers = [told(call, x)[2] for name, call in HINTS.items() if name != "prefetch"]
    assert numbers == [0, 1, 2, 3]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("kind", ["device", "host"])
def test_memory_that_never_moves_is_left_alone(kind, hint, gpu):
    assert HINTS[hint](sx.zeros(NBYTES, "uint8", usm_type=kind, device=gpu)) is False


@pytest.mark.parametrize("hint", HINTS)
def test_hint_says_whether_the_driver_got_it(hint, gpu):
    x = sx.ones(NBYTES, "uint8", usm_type="shared", device=gpu)
    assert HINTS[hint](x) is (gpu.backend in ADVICE)
    assert x.to_numpy().sum() == NBYTES


@pytest.mark.parametrize("hint", HINTS)
def test_block_outlives_its_hint(hint, gpu, hold):
    """The driver counts a block that is freed under a command as a fault."""
    blocks = [shared(gpu) for _ in range(20)]
    with hold() as held:
        while blocks:
            HINTS[hint](blocks.pop())
        sx.memory.release_cached()
        held.release()
    assert sx.zeros(3, device=gpu).tolist() == [0, 0, 0]
