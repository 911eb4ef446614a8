# SPDX-License-Identifier: Apache-2.0
"""Copies between pageable memory and a device, in blocks of host memory that are used in turn."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sycl_ext as sx
from samples import bits, values
from sycl_ext import _core

MIB = 1 << 20
ALL = 1 << 60


@pytest.fixture
def plan():
    """Sets the staging of all copies of a test."""
    yield _core._test.set_staging_plan
    _core._test.set_staging_plan(0, 0, 0)


def in_flight(adapter, copy):
    """The most commands that the device had at one time during a copy."""
    adapter.fakegpu_set_delay_us(50_000)  # longer than the host copies a block, on a busy machine
    adapter.fakegpu_most_in_flight()
    try:
        result = copy()
    finally:
        adapter.fakegpu_set_delay_us(0)
    return result, adapter.fakegpu_most_in_flight()


@pytest.mark.parametrize(("nbytes", "number"), [(3 * MIB, 3), (8 * MIB, 3), (20 * MIB, 2)])
def test_host_copies_while_the_device_has_the_other_blocks(gpu, adapter, nbytes, number):
    """In one command, neither would work while the other does; the pool keeps 8 MiB."""
    array = values((nbytes // 4,), "int32")
    tensor = sx.empty(array.shape, "int32", device=gpu)
    _, most = in_flight(adapter, lambda: tensor.copy_from(array))
    assert most == number
    back, most = in_flight(adapter, lambda: tensor.to_numpy())
    assert most == number
    assert bits(back) == bits(array)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_device_has_as_many_commands_as_there_are_blocks(gpu, adapter, plan, number):
    array = values((4 * MIB,), "uint8")
    tensor = sx.empty(array.shape, "uint8", device=gpu)
    plan(MIB // 2, number, 1)
    _, most = in_flight(adapter, lambda: tensor.copy_from(array))
    assert most == number
    back, most = in_flight(adapter, lambda: tensor.to_numpy())
    assert most == number
    assert bits(back) == bits(array)


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("key", [
    (slice(None), slice(None)),
    (slice(None, None, -1), slice(None)),
    (slice(None), slice(100, 900)),
    (slice(7), slice(None)),
])  # fmt: skip
def test_threads_of_the_host_copy_the_same_elements(gpu, plan, threads, key):
    array = values((1500, 1000), "int32")
    tensor = sx.empty(array.shape, "int32", device=gpu)
    plan(MIB, 3, threads)
    tensor[key].copy_from(array[key])
    assert bits(tensor[key].to_numpy()) == bits(array[key])
    tensor.T.copy_from(array.T[::-1])
    assert bits(tensor.T.to_numpy()) == bits(array.T[::-1])
    apart = array[:, 1::2]  # on the host alone: on the device each element would be a command
    assert bits(sx.as_tensor(apart, device=gpu).to_numpy()) == bits(apart)


def test_fetch_of_gaps_fits_into_a_block(gpu, adapter, plan):
    """The elements alone would fit into one."""
    array = values((1024, 4096), "uint8")
    tensor = sx.as_tensor(array, device=gpu)
    plan(MIB, 3, 1)
    before = adapter.fakegpu_copies()
    back = tensor[:, :1024].to_numpy()
    assert adapter.fakegpu_copies() - before >= 4
    assert bits(back) == bits(array[:, :1024])


def test_copies_of_several_threads_at_once(gpu, plan):
    """The helpers take one job at a time; the other copies do without."""
    plan(MIB, 3, 4)

    def there_and_back(seed):
        array = values((3 * MIB,), "uint8", seed=seed)
        return bits(sx.as_tensor(array, device=gpu).to_numpy()) == bits(array)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(there_and_back, range(12)))


def test_copy_with_room_for_one_block(gpu, adapter, plan):
    """Memory for the others is missing: the copy takes longer, and does not fail."""
    array = values((20 * MIB,), "uint8")
    tensor = sx.empty(array.shape, "uint8", device=gpu)
    plan(5 * MIB, 3, 1)  # above the limit of the runtime's pools
    sx.memory.release_cached()
    for room in (1, 0):
        adapter.fakegpu_leave_host_allocations(room)
        try:
            if room:
                _, most = in_flight(adapter, lambda: tensor.copy_from(array))
                assert most == 1
            else:
                sx.memory.release_cached()
                with pytest.raises(MemoryError, match="of 'host' USM"):
                    tensor.to_numpy()
        finally:
            adapter.fakegpu_leave_host_allocations(ALL)
    back, most = in_flight(adapter, lambda: tensor.to_numpy())
    assert most == 3
    assert bits(back) == bits(array)


# ---- strided copies on one device ----------------------------------------------------------------

#: Shape of both blocks, source and target as views of them, and the commands of the copy.
STRIDED = {
    "rows to rows": ((100, 2048), np.s_[:, :1024], np.s_[:, 1024:], 100),
    "rows from a compact block": ((100, 2048), np.s_[:50], np.s_[:, :1024], 100),
    "long rows to a compact block": ((20, 65536), np.s_[:, :32768], np.s_[:10], 20),
    "short rows to a compact block": ((1000, 512), np.s_[:, :256], np.s_[:500], 3),
    "backwards": ((512, 512), np.s_[::-1, ::-1], np.s_[:], 2),
    "every second": ((1, 1 << 18), np.s_[:, ::2], np.s_[:, : 1 << 17], 2),
}


@pytest.mark.parametrize("case", STRIDED)
def test_strided_copy_takes_as_few_commands_as_the_rule_says(gpu, adapter, case):
    """Of int32: one for each run, or through the host: a few fetch all, and one stores all."""
    shape, source_key, target_key, commands = STRIDED[case]
    source, target = values(shape, "int32"), values(shape, "int32", seed=2)
    ours, theirs = (sx.as_tensor(array, device=gpu) for array in (source, target))
    copied, written = ours[source_key], theirs[target_key]
    if source_key == np.s_[:50]:
        copied = copied.reshape(written.shape)
    else:
        written = written.reshape(copied.shape)
    before = adapter.fakegpu_copies()
    written.copy_from(copied)
    assert adapter.fakegpu_copies() - before == commands
    target[target_key] = source[source_key].reshape(target[target_key].shape)
    assert bits(theirs.to_numpy()) == bits(target)


@pytest.mark.parametrize("way", ["fill", "from the host", "to the host", "from itself"])
def test_host_copies_elements_of_shared_memory_without_kernels(gpu, adapter, way):
    """The driver has no compiler, and a command for each element takes far longer."""
    array = values((1000, 8), "int32")
    tensor = sx.empty(array.shape, "int32", usm_type="shared", device=gpu).copy_from(array)
    columns = np.s_[:, ::2]
    before = adapter.fakegpu_copies()
    if way == "fill":
        tensor[columns].fill(7)
        array[columns] = 7
    elif way == "from the host":
        tensor[columns].copy_from(array[::-1, 1::2])
        array[columns] = array[::-1, 1::2].copy()
    elif way == "to the host":
        assert bits(tensor[columns].to_numpy(copy=True)) == bits(
            np.ascontiguousarray(array[columns])
        )
    else:
        tensor[columns].copy_from(tensor[:, 1::2])
        array[columns] = array[:, 1::2]
    assert adapter.fakegpu_copies() == before
    assert bits(tensor.to_numpy()) == bits(array)


def test_host_packs_elements_of_shared_memory_for_the_device(gpu, adapter):
    array = values((1000, 8), "int32")
    tensor = sx.empty(array.shape, "int32", usm_type="shared", device=gpu).copy_from(array)
    target = sx.empty((1000, 4), "int32", usm_type="device", device=gpu)
    before = adapter.fakegpu_copies()
    target.copy_from(tensor[:, ::2])
    assert adapter.fakegpu_copies() == before + 1
    assert bits(target.to_numpy()) == bits(np.ascontiguousarray(array[:, ::2]))


def test_card_stores_while_another_one_fetches(gpus, adapter, peers):
    """Through the host, if the cards do not reach each other's memory."""
    array = values((8 * MIB,), "uint8")
    source = sx.as_tensor(array, device=gpus[0])
    target = sx.empty(array.shape, "uint8", device=gpus[1])
    before = adapter.fakegpu_copies()
    _, most = in_flight(adapter, lambda: target.copy_from(source))
    copies = adapter.fakegpu_copies() - before
    assert (copies, most) == ((1, 1) if peers else (8, 2))
    assert bits(target.to_numpy()) == bits(array)
