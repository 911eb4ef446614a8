# SPDX-License-Identifier: Apache-2.0
"""The owner of memory where Level Zero shows cards, tiles and slices in other ways than as a list.

Each test is a script in a process of its own, on the real adapters and the stand-in driver.
"""

import pytest

import environments
from extensions import labs

#: One of them builds four modules, or waits for another test that does.
pytestmark = pytest.mark.timeout(300)

#: The beginning of the scripts: a pointer that came without SYCL, as another library hands it over.
NATIVE = """
import ctypes, os
import dpctl, dpctl.memory, numpy as np
import sycl_ext as sx

from level_zero import control
from producers import Bytes
from waiting import eventually

gpus = [device for device in sx.devices() if device.backend == "level_zero"]
control = control.loaded()

ze = ctypes.CDLL(os.path.join(os.environ["ZEL_LIBRARY_PATH"], "libze_loader.so.1"))

def handles(function, *first):
    count = ctypes.c_uint32(0)
    assert function(*first, ctypes.byref(count), None) == 0
    found = (ctypes.c_void_p * count.value)()
    assert function(*first, ctypes.byref(count), found) == 0
    return [ctypes.c_void_p(handle) for handle in found]

def native_block(device, nbytes=4096):
    (driver,) = handles(ze.zeDriverGet)
    context, pointer = ctypes.c_void_p(), ctypes.c_void_p()
    described = (ctypes.c_uint64 * 8)(0xD)  # ZE_STRUCTURE_TYPE_CONTEXT_DESC
    assert ze.zeContextCreate(driver, described, ctypes.byref(context)) == 0
    described = (ctypes.c_uint64 * 8)(0x15)  # ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
    size, alignment = ctypes.c_size_t(nbytes), ctypes.c_size_t(64)
    allocated = ze.zeMemAllocDevice(context, described, size, alignment, device,
                                    ctypes.byref(pointer))
    assert allocated == 0
    return pointer.value

def native_gpus():
    (driver,) = handles(ze.zeDriverGet)
    return handles(ze.zeDeviceGet, driver)
"""


@pytest.fixture(params=[pytest.param("level_zero_v1", marks=pytest.mark.long), "level_zero_v2"])
def adapter(request):
    return request.param


@pytest.fixture
def run(adapter, tmp_path):
    def run(code, **settings):
        variables = {**environments.ENVIRONMENTS[adapter].environment(tmp_path), **settings}
        return environments.python(NATIVE + code, variables)

    return run


def test_memory_of_a_tile_that_this_process_has_not_partitioned(run):
    """The tile says then of no partition that it is one of it, but it knows its parent."""
    run("""
cards = native_gpus()
tiles = handles(ze.zeDeviceGetSubDevices, cards[1])
tensor = sx.as_tensor(Bytes(native_block(tiles[1]), 4096, gpus[1].sycl_queue))
tile = tensor.device
assert (tile.kind, tile.parent, tile.root_id) == ("sub_device", gpus[1], gpus[1].id), tile
assert tile.name == "Fake GPU 1.1"
assert tensor.__dlpack_device__() == (14, gpus[1].id)
assert sx.from_dlpack(tensor.__dlpack__(copy=False)).device is tile
assert tile in gpus[1].create_sub_devices("next_partitionable")
""")


def test_tile_that_was_never_partitioned_is_found(run):
    labs.build_all()
    run(
        """
from extensions import labs

table = labs.load("table_lab")
tiles = [handles(ze.zeDeviceGetSubDevices, card) for card in native_gpus()]
tile = sx.device(table.entry_of_native_device(tiles[1][1].value))
assert (tile.kind, tile.parent, tile.root_id) == ("sub_device", gpus[1], gpus[1].id), tile
assert sx.zeros(5, device=tile).__dlpack_device__() == (14, gpus[1].id)
assert sx.register_context(gpus[1].sycl_context, tile) is tile
assert sx.register_context(dpctl.SyclContext([gpus[1].sycl_device]), tile).parent is tile
slices = tile.create_sub_devices("cslice")
assert [(part.parent, part.root_id) for part in slices] == [(tile, gpus[1].id)] * 4
""",
        FAKEGPU_CSLICES="4",
    )


def test_two_contexts_of_one_native_context_are_one_entry(run):
    labs.build_all()
    run("""
from extensions import labs

table = labs.load("table_lab")
private = sx.register_context(dpctl.SyclContext([gpus[0].sycl_device]))
for entry in (gpus[0], private):
    assert table.entry_of_second_context(entry.id) == entry.id
""")


def test_memory_of_a_card_whose_tiles_are_the_root_devices(run):
    result = run(
        """
assert [gpu.name[-3:] for gpu in gpus] == ["0.0", "0.1", "1.0", "1.1"]
for card in dpctl.get_composite_devices():
    first = sx.device(card.component_devices()[0])
    whole = sx.device(card)
    assert (whole.kind, whole.parent, whole.root_id) == ("context", first, first.id), whole
    assert whole.sycl_device == card and sx.device(card) is whole
    queue = dpctl.SyclQueue(card)
    for memory in (dpctl.memory.MemoryUSMDevice, dpctl.memory.MemoryUSMShared):
        block = memory(4096, queue=queue)
        tensor = sx.as_tensor(block)
        assert tensor.device.sycl_device == card
        assert tensor.device.sycl_context == queue.sycl_context
        assert tensor.__dlpack_device__() == (14, first.id)
        tensor.copy_from(np.arange(4096).astype("uint8"))
        copy = sx.from_dlpack(tensor.__dlpack__())
        assert copy.device is first and copy.ptr != tensor.ptr
        assert (copy.to_numpy() == np.arange(4096).astype("uint8")).all()
    assert sx.zeros(5, device=whole).to_numpy().tolist() == [0.0] * 5
    print(card.name)
""",
        ZE_FLAT_DEVICE_HIERARCHY="COMBINED",
    )
    assert sorted(result.splitlines()) == ["Fake GPU 0", "Fake GPU 1"]


def test_memory_of_a_card_by_its_pointer(run):
    """With the queue of any of its tiles it is the card's: they reach all of it."""
    run(
        """
root = ctypes.c_void_p()
assert ze.zeDeviceGetRootDevice(native_gpus()[0], ctypes.byref(root)) == 0
pointer = native_block(root)
for tile in gpus[:2]:
    tensor = sx.as_tensor(Bytes(pointer, 4096, tile.sycl_queue))
    assert tensor.device.name == "Fake GPU 0"
    assert (tensor.device.kind, tensor.device.root_id) == ("context", gpus[0].id)
    tensor.copy_from(np.full(4096, 3 + tile.id, "uint8"))
    assert (tensor.to_device(tile, copy=True).to_numpy() == 3 + tile.id).all()
    handed = sx.from_dlpack(tensor.__dlpack__())
    assert handed.device is gpus[0] and (handed.to_numpy() == 3 + tile.id).all()
for tile in gpus[2:]:  # of the other card
    try:
        sx.as_tensor(Bytes(pointer, 4096, tile.sycl_queue))
    except BufferError as error:
        assert "was allocated on device" in str(error), error
    else:
        raise AssertionError
""",
        ZE_FLAT_DEVICE_HIERARCHY="COMBINED",
    )


def test_memory_of_a_tile_with_the_queue_of_its_card(run):
    """It stays the tile's, which is a root device, so handing it on takes no copy."""
    run(
        """
card = next(card for card in dpctl.get_composite_devices() if card.name == "Fake GPU 0")
queue = dpctl.SyclQueue(card, property="in_order")
for tile in gpus[:2]:
    for usm_type in ("device", "shared"):
        memory = sx.zeros(4096, "uint8", usm_type=usm_type, device=tile)
        memory.copy_from(np.full(4096, 3 + tile.id, "uint8"))
        found = sx.as_tensor(Bytes(memory.ptr, 4096, queue))
        assert (found.device, found.usm_type, found.ptr) == (tile, usm_type, memory.ptr)
        assert found.__dlpack_device__() == (14, tile.id)
        assert sx.from_dlpack(found.__dlpack__(copy=False)).device is tile
        assert (found.to_numpy(copy=True) == 3 + tile.id).all()
        # Pending work of the card's queue on it is waited for, and later work follows it.
        more = dpctl.memory.MemoryUSMHost(4096, queue=queue)
        memoryview(more)[:] = bytes([9]) * 4096
        control.fakegpu_set_delay_us(50_000)
        late = dpctl.memory.as_usm_memory(Bytes(memory.ptr, 4096, queue))
        event = queue.memcpy_async(late, more, 4096)
        found = sx.as_tensor(Bytes(memory.ptr, 4096, queue))
        capsule = found.__dlpack__(stream=tile.sycl_queue)
        assert (sx.from_dlpack(capsule).to_numpy(copy=True) == 9).all()
        control.fakegpu_set_delay_us(0)
        event.wait()
for tile in gpus[2:]:  # of the other card
    memory = sx.zeros(4096, "uint8", device=tile)
    try:
        sx.as_tensor(Bytes(memory.ptr, 4096, queue))
    except BufferError as error:
        assert f"was allocated on device (14, {tile.id})" in str(error), error
    else:
        raise AssertionError
""",
        ZE_FLAT_DEVICE_HIERARCHY="COMBINED",
    )


def test_context_of_all_gpus_is_registered(run, adapter):
    """The second adapter gives it the driver's default context, as XLA's: then it is that one."""
    run(f"""
same = {adapter == "level_zero_v2"}
context = dpctl.SyclContext([gpu.sycl_device for gpu in gpus])
for gpu in gpus:
    assert context != gpu.sycl_context
    found = sx.register_context(context, gpu)
    assert (found is gpu) == same and found.default_context == same
    queue = dpctl.SyclQueue(context, gpu.sycl_device)
    assert sx.device(queue) is found
    for memory in (dpctl.memory.MemoryUSMDevice, dpctl.memory.MemoryUSMShared):
        block = memory(4096, queue=queue)
        tensor = sx.as_tensor(block)
        assert tensor.device is found and tensor.sycl_queue == queue
        view = sx.from_dlpack(tensor.__dlpack__())
        assert (view.ptr == tensor.ptr) == same
        tensor.copy_from(np.full(4096, 7, "uint8"))
        assert (sx.from_dlpack(tensor.__dlpack__()).to_numpy() == 7).all()
        for target in (gpu, queue):
            mine = sx.zeros(4096, "uint8", device=target)
            mine.copy_from(tensor)
            assert (mine.to_numpy() == 7).all()
    tile = gpu.create_sub_devices("next_partitionable")[0]
    assert (sx.register_context(context, tile) is tile) == same
assert len(sx.devices()) == (7 if same else 7 + 4), sx.devices()
""")


@pytest.mark.parametrize("hierarchy", ["FLAT", "COMBINED"])
def test_tiles_that_are_root_devices(run, hierarchy):
    run(
        """
assert [gpu.name[-3:] for gpu in gpus] == ["0.0", "0.1", "1.0", "1.1"]
assert [gpu.kind for gpu in gpus] == ["root"] * 4
for gpu in gpus:
    tensor = sx.zeros(8, "uint8", device=gpu)
    again = sx.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
    assert (again.device, again.ptr) == (gpu, tensor.ptr)
assert not tensor.to_device(gpus[2]).to_numpy().any()  # of the same card
""",
        ZE_FLAT_DEVICE_HIERARCHY=hierarchy,
    )


def test_devices_that_are_lost(run):
    """As after a hang: every call fails, for ever; none hangs, crashes, answers or keeps memory."""
    run("""
gpu = gpus[0]
tensor, source = sx.zeros((30, 40), "int16", device=gpu), np.zeros((30, 40), "int16")
other, memory, queue = tensor.copy(), dpctl.memory.as_usm_memory(tensor), tensor.sycl_queue
pinned = dpctl.memory.MemoryUSMHost(100, queue=queue)
control.fakegpu_set_delay_us(20_000_000)
other.copy_from(source, wait=False)
queue.memcpy_async(memory, pinned, 100)
control.fakegpu_lose_devices()
assert eventually(lambda: not sx._core._test.deferred_frees())
for call in (
    lambda: tensor.to_numpy(),
    lambda: tensor.copy(),
    lambda: tensor[::2].copy_from(source[::2]),
    lambda: tensor.to_device("opencl:cpu:0"),
    lambda: np.asarray(sx.host_view(tensor)),
    lambda: sx.exchange(tensor, np),
    lambda: sx.as_tensor(source, device=gpu),
    lambda: sx.zeros(1 << 24, device=gpu),
    lambda: tensor.__dlpack__(dl_device=(1, 0)),
):
    try:
        call()
    except (sx.SyclError, BufferError):
        continue
    raise AssertionError("no error")
assert not sx.zeros(3, device="opencl:cpu:0").to_numpy().any()
""")


def test_host_memory_is_viewed_by_a_device_with_system_usm(run):
    run(
        """
array = np.arange(1000, dtype="int32")
tensor = sx.from_dlpack(array, device=gpus[0], copy=False)
assert (tensor.ptr, tensor.usm_type) == (array.ctypes.data, "system")
assert tensor.copy().to_numpy().tolist() == array.tolist()
other = sx.zeros(1000, "int32", device=gpus[0]).copy_from(tensor)
assert other.to_numpy().tolist() == array.tolist()
""",
        FAKEGPU_SYSTEM_USM="1",
    )
