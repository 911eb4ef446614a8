# SPDX-License-Identifier: Apache-2.0
"""Memory that goes from one device to another: GPUs, the CPU, tiles, private contexts."""

import re

import dpctl
import dpctl.memory
import pytest
import tvm_ffi

import environments
import sycl_ext as sx
from needs import needs
from producers import Liar, over
from samples import bits, numbers, values
from sycl_ext import _core
from sycl_ext._devices import pci
from waiting import blocked
from ways.results import Described

# ---- two devices ---------------------------------------------------------------------------------


@needs("own_uuid")
def test_device_is_found_by_its_uuid(gpus, tiles):
    for gpu in gpus:
        assert sx.device(f"uuid:{gpu.uuid}") is gpu
    assert len({device.uuid for device in (*gpus, *tiles)}) == 4
    assert sx.device(f"uuid:{tiles[1].uuid}") is tiles[1]
    assert sx.device().sycl_device == dpctl.SyclDevice()  # the first of two equal ones


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_context_of_two_gpus_leads_to_the_gpu_of_the_memory(gpus, usm_type):
    """A description may name the context alone, which does not say on which of its devices."""
    for gpu in gpus:
        tensor = sx.zeros(3, usm_type=usm_type, device=gpu)
        interface = {**tensor.__sycl_usm_array_interface__, "syclobj": gpu.sycl_context}
        described = sx.as_tensor(Described(interface, keep=tensor))
        assert (described.device, described.ptr) == (gpu, tensor.ptr)


@needs("pci_address")
def test_pci_addresses_differ(gpus):
    addresses = {gpu.pci_address for gpu in gpus}
    assert len(addresses) == 2
    assert all(re.fullmatch(r"0000:0\d:00\.0", address) for address in addresses)


def test_memory_of_a_gpu_is_reported(gpus, tiles):
    for gpu in gpus:
        assert gpu.total_memory > 0
        assert gpu.free_memory is None or 0 <= gpu.free_memory <= gpu.total_memory
    for tile in tiles:
        assert 0 < tile.total_memory <= tile.parent.total_memory


@needs("free_memory")
def test_free_memory_shrinks_with_an_allocation(gpus):
    """The other GPU's does not. The block is larger than those that a pool keeps."""
    before = [gpu.free_memory for gpu in gpus]
    tensor = sx.empty(1 << 27, "uint8", device=gpus[0])
    after = [gpu.free_memory for gpu in gpus]
    assert after[0] <= before[0] - tensor.nbytes
    assert after[1] == before[1]


@needs("pci_address")
def test_node_and_processors_of_a_gpu_are_those_of_its_address(gpu, tmp_path, monkeypatch):
    folder = tmp_path / gpu.pci_address
    folder.mkdir()
    (folder / "numa_node").write_text("1\n")
    (folder / "local_cpulist").write_text("8-10,24\n")
    assert (gpu.numa_node, gpu.local_cpus) == (None, None)  # an address that the host lacks
    monkeypatch.setattr(pci, "DEVICES", tmp_path)
    assert (gpu.numa_node, gpu.local_cpus) == (1, (8, 9, 10, 24))


def test_memory_under_the_wrong_id(gpus, cpu):
    tensor = numbers("device", device=gpus[0])
    for wrong, words in ((gpus[1].id, rf"\(14, {gpus[0].id}\)"), (cpu.id, "not USM")):
        managed = over(tensor, device=(14, wrong))
        with pytest.raises(BufferError, match=words):
            sx.from_dlpack(managed.capsule())
        assert managed.deleted == 1
        liar = Liar(tensor, (14, wrong))
        with pytest.raises(BufferError, match="announced"):
            sx.from_dlpack(liar)
        assert set(liar.deleted) == {1}


def test_extent_beyond_the_allocation_is_refused(gpu, pools):
    """Where memory comes out of a pool, the driver knows only the slab, and its end is seen.

    The runtime is asked for the last byte, so that one has to be nobody's: in the block's own page,
    or far from all blocks.
    """
    memory = dpctl.memory.MemoryUSMDevice(64, queue=gpu.sycl_queue)
    interface = memory.__sycl_usm_array_interface__
    assert sx.as_tensor(memory).nbytes == 64
    has_pages = not pools and gpu.backend == "level_zero"
    for shape in (65, 4096, 2**38) if has_pages else (2**38,):
        memory_like = type(
            "X", (), {"__sycl_usm_array_interface__": {**interface, "shape": (shape,)}}
        )
        with pytest.raises(BufferError, match="beyond"):
            sx.as_tensor(memory_like())


def test_extent_across_two_gpus_is_refused(gpus):
    """Both ends are USM of one context, and what lies between them is nobody's."""
    low, high = sorted(
        (sx.empty(1 << 16, "uint8", device=gpu) for gpu in gpus), key=lambda t: t.ptr
    )
    interface = {**low.__sycl_usm_array_interface__, "shape": (high.ptr + 1 - low.ptr,)}
    spanning = type("Spanning", (), {"__sycl_usm_array_interface__": interface})()
    with pytest.raises(BufferError, match="beyond|spans the memory of two devices"):
        sx.as_tensor(spanning)


def test_device_memory_called_host_memory(gpu):
    """A producer that calls device USM (1, 0): it is taken for what it is, and never touched."""
    tensor = numbers("device", device=gpu)
    managed = over(tensor, device=(1, 0))
    taken = sx.from_dlpack(managed.capsule())
    assert (taken.usm_type, taken.device) == ("device", gpu)
    assert bits(taken.to_numpy()) == bits(values((2, 3)))
    environments.python(  # a process of its own, which dies when the memory is touched
        """
import numpy as np
import sycl_ext as sx
from producers import Ignoring

tensor = sx.zeros(3, device="gpu")
view = sx.host_view(Ignoring(tensor, device=(1, 0)))
assert np.asarray(view).tolist() == [0, 0, 0]
""",
        inherit=True,
    )


# ---- tiles and private contexts ------------------------------------------------------------------


def test_host_usm_of_a_tile_comes_back_to_the_tile(tiles):
    tensor = sx.zeros(4, usm_type="host", device=tiles[1])
    assert sx.as_tensor(tensor.to_numpy()).device is tiles[1]


@pytest.mark.parametrize("on_card", [True, False], ids=["the card's queue", "the tile's queue"])
@pytest.mark.parametrize("way", ["to_numpy", "C table", "drop"])
def test_work_on_memory_of_a_tile_is_waited_for(gpu, tiles, hold, way, on_card):
    """A consumer takes it under the id of the card, and works on the queue of that."""
    tensor = sx.zeros(100, "uint8", device=tiles[0])
    source = sx.empty(100, "uint8", usm_type="host", device=tiles[0]).copy_from(
        values(100, "uint8")
    )
    to, given = (dpctl.memory.as_usm_memory(x) for x in (tensor, source))
    queue, blocks = (gpu if on_card else tiles[0]).sycl_queue, _core._test.live_allocations()
    with hold() as held:
        work = queue.memcpy_async(to, given, 100)
        if way == "drop":
            del to, tensor
            assert _core._test.live_allocations() == blocks
            held.release()
        else:
            take = sx.Tensor.to_numpy if way == "to_numpy" else tvm_ffi.from_dlpack
            thread, _ = blocked(lambda: take(tensor))
            held.release()
            thread.join(60)
    work.wait()
