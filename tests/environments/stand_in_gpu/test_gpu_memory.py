# SPDX-License-Identifier: Apache-2.0
"""Memory that the host cannot touch: every way to it, and from it."""

import threading

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import environments
import samples
import sycl_ext as sx
from producers import Foreign, Liar, Producer, as_strided, check_export, over
from samples import LAYOUTS, SAME_SHAPE, assert_equal, assert_same_view, bits, values
from sycl_ext.testing.structs import IS_COPIED, READ_ONLY, managed_in

VERSIONED = {"max_version": (1, 0)}
HOST = {"dl_device": (1, 0), **VERSIONED}


def numbers(device, usm_type="device", shape=(2, 3), dtype="float32"):
    return sx.empty(shape, dtype, usm_type=usm_type, device=device).copy_from(values(shape, dtype))


def read(capsule):
    managed = managed_in(capsule)
    dl = managed.dl_tensor
    return (dl.device.device_type, dl.device.device_id), managed.flags, dl.data


# ---- the table -----------------------------------------------------------------------------------


def test_ids_are_those_of_dpctl(gpus):
    assert len(gpus) == 2
    for ours, theirs in zip(
        [d for d in sx.devices() if d.kind == "root"], dpctl.get_devices(), strict=True
    ):
        assert ours.id == theirs.get_device_id()
        assert ours.filter_string == theirs.filter_string
        assert ours.sycl_device == theirs


def test_what_a_gpu_has(gpu, cpu, strict):
    assert gpu.usm_types == ("device", "shared", "host")
    assert [gpu.host_accessible(kind) for kind in gpu.usm_types] == [False, True, True]
    assert all(cpu.host_accessible(kind) for kind in cpu.usm_types)
    assert gpu.has_fp64 == (not strict)
    assert gpu.filter_string == f"{gpu.backend}:gpu:0"


def test_one_context_for_both(gpus):
    assert gpus[0].sycl_context == gpus[1].sycl_context
    assert gpus[0].sycl_device != gpus[1].sycl_device


# ---- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_round_trip(gpus, number, usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, array = layout.tensor(dtype, usm_type, device=gpus[number])
            check_export(tensor)
            for again in (
                sx.from_dlpack(tensor.__dlpack__(**VERSIONED)),
                sx.from_dlpack(tensor.__dlpack__()),
                sx.from_dlpack(Producer(tensor)),
            ):
                assert_same_view(again, array)
                assert again.device is gpus[number]
                if array.size:
                    assert (again.ptr, again.usm_type) == (tensor.ptr, usm_type)
            readonly = sx.from_dlpack(tensor.as_readonly().__dlpack__(**VERSIONED))
            assert readonly.readonly


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies(gpus, cpu, name):
    """Host and device, device and device, GPU and CPU, in every dtype."""
    for dtype in samples.DTYPE_NAMES:
        tensor, array = LAYOUTS[name].tensor(dtype, "device", device=gpus[0])
        for order in "CF":
            assert_equal(tensor.copy(order), array)
        assert bits(tensor.to_numpy()) == bits(array)
        assert bits(np.asarray(sx.host_view(tensor))) == bits(array)
        for other in (cpu, gpus[1]):
            assert_equal(tensor.to_device(other, copy=True), array)
            assert_equal(
                sx.empty(array.shape, dtype, device=other, order="F").copy_from(tensor), array
            )
            assert_equal(
                LAYOUTS[name].tensor(dtype, "shared", other)[0].to_device(gpus[0], copy=True), array
            )
        assert_equal(sx.as_tensor(array, device=gpus[0]), array)


@pytest.mark.parametrize("name", SAME_SHAPE)
@pytest.mark.parametrize("source_kind", ["device", "other", "shared", "array"])
def test_every_layout_into_every_layout(gpus, name, source_kind):
    for dtype in ("uint8", "float16", "float32", "complex128"):
        base, wanted = SAME_SHAPE[name].arrays(dtype, seed=2)
        if source_kind == "array":
            source = wanted
        else:
            device = gpus[source_kind == "other"]
            kind = "shared" if source_kind == "shared" else "device"
            source, _ = SAME_SHAPE[name].tensor(dtype, kind, device=device, seed=2)
        for layout in SAME_SHAPE.values():
            base, target_array = layout.arrays(dtype)
            whole = sx.empty(layout.shape, dtype, device=gpus[0], order=layout.order)
            whole.copy_from(base)
            target = as_strided(whole, *samples.strided_form(base, target_array))
            target.copy_from(source)
            target_array[...] = wanted
            assert bits(whole.to_numpy()) == bits(base)  # and what lies between is untouched


@pytest.mark.parametrize("key", [
    (slice(None), slice(None, None, 2)),
    (slice(None, None, -1), slice(None)),
    (slice(1, None, 3), slice(5, -5)),
    (slice(None), slice(0, 1)),
])  # fmt: skip
def test_strided_copies_that_do_not_fit_into_one_block(gpus, key):
    """More than the staging memory holds, from and to every kind of neighbour."""
    array = np.arange(3_000_000, dtype="float32").reshape(1500, 2000)
    tensor = sx.empty(array.shape, device=gpus[0]).copy_from(array)
    view, wanted = tensor[key], array[key]
    np.testing.assert_array_equal(view.to_numpy(), wanted)
    np.testing.assert_array_equal(view.T.copy().to_numpy(), wanted.T)
    np.testing.assert_array_equal(view.to_device(gpus[1], copy=True).to_numpy(), wanted)
    tensor.copy_from(-array)
    np.testing.assert_array_equal(view.to_numpy(), -wanted)
    tensor.T.copy_from(sx.as_tensor(np.asfortranarray(array.T), device=gpus[1]))
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    rows = tensor[:, 7:1007]  # into memory with gaps
    rows.copy_from(array[:, 1000:].copy())
    changed = array.copy()
    changed[:, 7:1007] = array[:, 1000:]
    np.testing.assert_array_equal(tensor.to_numpy(), changed)


@pytest.mark.parametrize(
    "slices",
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
    ],
)
def test_overlapping_copies(gpu, slices):
    for count in (10, 5_000_000):
        array = np.arange(count, dtype="int16")
        tensor = sx.empty(count, "int16", device=gpu).copy_from(array)
        tensor[slices[0]].copy_from(tensor[slices[1]])
        array[slices[0]] = array[slices[1]].copy()
        np.testing.assert_array_equal(tensor.to_numpy(), array)


#: Targets whose elements lie on each other: as many bytes as their span has, and gaps all the same.
ON_EACH_OTHER = [
    ((2, 2, 2), (1, 1, 5)),
    ((2, 2, 2), (5, 1, 1)),
    ((2, 2, 2), (1, -1, 5)),
    ((3, 3), (2, 2)),
    ((2, 4), (0, 2)),
    ((4, 2), (2, 0)),
    ((2, 2, 3), (3, 3, 4)),
]


@pytest.mark.parametrize(("shape", "strides"), ON_EACH_OTHER)
def test_the_gaps_of_a_target_are_left_alone(gpu, shape, strides):
    offsets = np.zeros((), int)
    for length, stride in zip(shape, strides, strict=True):
        offsets = offsets[..., None] + stride * np.arange(length)
    first = int(1 - offsets.min())
    size = int(offsets.max()) + first + 2
    whole = sx.empty(size, "int64", device=gpu).copy_from(np.full(size, -1))
    target = as_strided(whole, shape, strides, first)
    target.copy_from(np.arange(target.size).reshape(shape))
    found = whole.to_numpy()
    written = np.isin(np.arange(size), offsets + first)
    assert (found[~written] == -1).all()
    assert (found[written] >= 0).all()


def test_zeros(gpu, usm_type):
    for shape in ((), (0,), (3, 5), 3_000_000):
        sx.empty(shape, usm_type=usm_type, device=gpu).copy_from(np.float32(7))
        tensor = sx.zeros(shape, usm_type=usm_type, device=gpu)
        assert not tensor.to_numpy().any()


def test_number_of_copies(gpu, cpu, adapter):
    """One command where one does it, none where a view does it."""
    tensor, shared = numbers(gpu), numbers(gpu, "shared")
    array = values((2, 3))

    def copies(call):
        before = adapter.fakegpu_copies()
        result = call()
        assert result is not None
        return adapter.fakegpu_copies() - before

    assert copies(lambda: tensor.copy()) == 1
    assert copies(lambda: tensor.to_numpy()) == 1
    assert copies(lambda: tensor.copy_from(array)) == 1
    assert copies(lambda: tensor.to_device(cpu)) == 1
    assert copies(lambda: tensor.__dlpack__(**HOST)) == 1
    assert copies(lambda: tensor.__dlpack__(copy=True)) == 1
    assert copies(lambda: sx.from_dlpack(Producer(tensor), copy=True)) == 1
    assert copies(lambda: sx.from_dlpack(array, device=gpu)) == 1
    for view in (
        lambda: tensor[1:],
        lambda: tensor.T,
        lambda: sx.from_dlpack(tensor),
        lambda: sx.from_dlpack(Producer(tensor)),
        lambda: sx.as_tensor(tensor),
        lambda: tensor.to_device(gpu),
        lambda: tensor.__dlpack__(),
        lambda: sx.host_view(tensor),
        lambda: shared.to_numpy(),
        lambda: np.from_dlpack(sx.host_view(shared)),
        lambda: np.from_dlpack(shared, device="cpu", copy=False),
        lambda: memoryview(shared),
        lambda: sx.from_dlpack(shared.to_numpy()),
    ):
        assert copies(view) == 0


# ---- to the host ---------------------------------------------------------------------------------


def test_to_the_host(gpu):
    tensor = numbers(gpu)
    for copy in (None, True):
        capsule = tensor.__dlpack__(copy=copy, **HOST)
        device, flags, pointer = read(capsule)
        assert (device, flags) == ((1, 0), IS_COPIED)
        assert pointer % 4096 == 0
        assert bits(sx.from_dlpack(capsule, device="cpu").to_numpy()) == bits(values((2, 3)))
        assert bits(np.from_dlpack(tensor, device="cpu", copy=copy)) == bits(values((2, 3)))
    for refused in (
        lambda: tensor.__dlpack__(copy=False, **HOST),
        lambda: np.from_dlpack(tensor, device="cpu", copy=False),
        lambda: tensor.to_numpy(copy=False),
        lambda: sx.host_view(tensor, copy=False),
    ):
        with pytest.raises(sx.CopyRefusedError, match="copy=False.*(cannot reach|host)"):
            refused()


def test_numpy_is_told_what_to_do(gpu):
    """No hidden copy behind ``np.asarray``."""
    with pytest.raises(TypeError, match=r"'device' USM.*to_numpy\(\).*host_view.*'shared'"):
        np.asarray(numbers(gpu))
    with pytest.raises(BufferError, match="'device' USM.*usm_type='shared'"):
        memoryview(numbers(gpu))
    for usm_type in ("shared", "host"):
        tensor = numbers(gpu, usm_type)
        assert np.asarray(tensor).ctypes.data == tensor.ptr
        assert np.asarray(memoryview(tensor)).ctypes.data == tensor.ptr


def test_a_lazy_host_view(gpu, adapter):
    """One copy, made when the bytes are first needed, and kept."""
    tensor, array = LAYOUTS["sliced"].tensor("float32", "device", device=gpu)
    before = adapter.fakegpu_copies()
    view = sx.host_view(tensor)
    assert view.is_copy
    assert view.__dlpack_device__() == (1, 0)
    assert (view.shape, view.dtype, view.size, view.nbytes) == ((3, 3), "float32", 9, 36)
    assert (view.ndim, view.itemsize, view.readonly) == (2, 4, False)
    assert adapter.fakegpu_copies() == before
    first = np.from_dlpack(view)
    made = adapter.fakegpu_copies() - before
    assert made >= 1
    assert bits(first) == bits(array)
    second, third = np.asarray(view), np.asarray(memoryview(view))
    assert adapter.fakegpu_copies() == before + made
    assert first.ctypes.data == second.ctypes.data == third.ctypes.data == view.ptr
    assert view.is_copy
    assert view.strides == (3, 1)
    check_export(view)


def test_a_lazy_host_view_of_read_only_memory(gpu):
    """A copy is its owner's own, before it is made and after."""
    view = sx.host_view(numbers(gpu).as_readonly())
    assert not view.readonly
    assert np.from_dlpack(view).flags.writeable
    assert not view.readonly
    assert not managed_in(view.__dlpack__(**VERSIONED)).flags & READ_ONLY


def test_a_lazy_host_view_is_what_the_memory_was_when_it_was_needed(gpu):
    tensor = numbers(gpu)
    view = sx.host_view(tensor)
    tensor.copy_from(np.float32(5))
    assert (np.asarray(view) == 5).all()
    tensor.copy_from(np.float32(6))
    assert (np.asarray(view) == 5).all()


def test_threads_share_one_lazy_copy(gpu, adapter):
    for _ in range(10):
        view = sx.host_view(numbers(gpu, shape=(1000,)))
        before, found, start = adapter.fakegpu_copies(), [], threading.Barrier(4)

        def look(view=view, found=found, start=start):
            start.wait()
            found.append(np.from_dlpack(view).ctypes.data)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len(set(found)) == 1
        assert adapter.fakegpu_copies() == before + 1


def test_a_host_view_keeps_its_source(gpu):
    view = sx.host_view(numbers(gpu))
    noise = [sx.zeros((2, 3), device=gpu) for _ in range(20)]
    assert bits(np.asarray(view)) == bits(values((2, 3)))
    del noise


def test_shared_and_host_memory_is_seen_as_it_is(gpu):
    for usm_type in ("shared", "host"):
        tensor = numbers(gpu, usm_type)
        view = sx.host_view(tensor)
        assert not view.is_copy
        assert view.ptr == tensor.ptr
        again = sx.from_dlpack(np.from_dlpack(view))
        assert (again.ptr, again.usm_type) == (tensor.ptr, usm_type)
        assert again.device.root_id in (gpu.id, gpu.id + 1)  # host USM belongs to a context


# ---- from the host -------------------------------------------------------------------------------


def test_host_memory_is_copied(gpu):
    """The GPU does not read it (no system USM)."""
    array = values((2, 3))
    for take in (sx.from_dlpack, sx.as_tensor):
        for copy in (None, True):
            tensor = take(array, device=gpu, copy=copy)
            assert (tensor.usm_type, tensor.device) == ("device", gpu)
            assert bits(tensor.to_numpy()) == bits(array)
        with pytest.raises(sx.CopyRefusedError, match="copy=False.*host memory"):
            take(array, device=gpu, copy=False)


def test_no_second_hop_is_hidden(gpu):
    """From a device elsewhere over the host to a GPU are two copies: only when told so."""
    producer = Foreign(values((2, 3)))
    with pytest.raises(BufferError, match="copy=True"):
        sx.from_dlpack(producer, device=gpu)
    tensor = sx.from_dlpack(producer, device=gpu, copy=True)
    assert tensor.device is gpu
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))


# ---- two devices ---------------------------------------------------------------------------------


def test_to_the_other_gpu(gpus, strict):
    """Directly where they reach each other; else through the host, and only when told so."""
    tensor = numbers(gpus[0])
    target = (14, gpus[1].id)
    if strict:
        moved = tensor.to_device(gpus[1])
        assert bits(moved.to_numpy()) == bits(values((2, 3)))
        assert read(tensor.__dlpack__(dl_device=target, **VERSIONED))[:2] == (target, IS_COPIED)
    else:
        for refused in (
            lambda: tensor.to_device(gpus[1]),
            lambda: tensor.__dlpack__(dl_device=target, **VERSIONED),
            lambda: sx.from_dlpack(Producer(tensor), device=gpus[1]),
        ):
            with pytest.raises(BufferError, match="two copies.*through the host.*copy=True"):
                refused()
    moved = tensor.to_device(gpus[1], copy=True)
    assert (moved.device, moved.usm_type) == (gpus[1], "device")
    assert bits(moved.to_numpy()) == bits(values((2, 3)))
    capsule = tensor.__dlpack__(dl_device=target, copy=True, **VERSIONED)
    assert read(capsule)[:2] == (target, IS_COPIED)
    assert bits(sx.from_dlpack(capsule).to_numpy()) == bits(values((2, 3)))
    for refused in (
        lambda: tensor.to_device(gpus[1], copy=False),
        lambda: tensor.__dlpack__(dl_device=target, copy=False),
    ):
        with pytest.raises(sx.CopyRefusedError, match="copy=False"):
            refused()


def test_shared_memory_reaches_the_other_gpu_directly(gpus):
    for usm_type in ("shared", "host"):
        moved = numbers(gpus[0], usm_type).to_device(gpus[1])
        assert (moved.device, moved.usm_type) == (gpus[1], usm_type)
        assert bits(moved.to_numpy()) == bits(values((2, 3)))


def test_gpu_and_cpu(gpu, cpu):
    """One copy each way: the CPU's memory is the host's."""
    tensor = numbers(gpu)
    down = tensor.to_device(cpu)
    assert down.device is cpu
    assert bits(down.to_numpy()) == bits(values((2, 3)))
    up = down.to_device(gpu)
    assert up.device is gpu
    assert bits(up.to_numpy()) == bits(values((2, 3)))


def test_memory_under_the_wrong_id(gpus, cpu):
    tensor = numbers(gpus[0])
    for wrong, words in ((gpus[1].id, rf"\(14, {gpus[0].id}\)"), (cpu.id, "not USM")):
        managed = over(tensor, device=(14, wrong))
        with pytest.raises(BufferError, match=words):
            sx.from_dlpack(managed.capsule())
        assert managed.deleted == 1
        liar = Liar(tensor, (14, wrong))
        with pytest.raises(BufferError, match="announced"):
            sx.from_dlpack(liar)
        assert set(liar.deleted) == {1}


def test_an_extent_beyond_the_allocation(gpu, pools):
    """Where memory comes out of a pool, the driver knows the slab alone: that one's end is seen.

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


def test_an_extent_from_one_gpu_to_the_other(gpus):
    """Both ends are USM of one context, and what lies between them is nobody's."""
    low, high = sorted(
        (sx.empty(1 << 16, "uint8", device=gpu) for gpu in gpus), key=lambda t: t.ptr
    )
    interface = {**low.__sycl_usm_array_interface__, "shape": (high.ptr + 1 - low.ptr,)}
    spanning = type("Spanning", (), {"__sycl_usm_array_interface__": interface})()
    with pytest.raises(BufferError, match="beyond|two devices"):
        sx.as_tensor(spanning)


def test_device_memory_called_host_memory(gpu):
    """A producer that calls device USM (1, 0): it is taken for what it is, and never touched."""
    tensor = numbers(gpu)
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


def test_tiles(gpu, tiles, strict, usm_type):
    assert len(tiles) == 2
    for tile in tiles:
        assert (tile.kind, tile.root_id, tile.parent) == ("sub_device", gpu.id, gpu)
        tensor = numbers(tile, usm_type)
        assert tensor.device is tile
        assert tensor.__dlpack_device__() == (14, gpu.id)
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))
        own = tensor.__dlpack__(dl_device=(14, tile.id), **VERSIONED)
        assert read(own) == ((14, tile.id), 0, tensor.ptr)
        again = sx.from_dlpack(own)
        assert (again.device, again.ptr) == (tile, tensor.ptr)
        if not strict:  # Level Zero: tiles live in the default context of their GPU
            assert tile.default_context
            assert read(tensor.__dlpack__(**VERSIONED)) == ((14, gpu.id), 0, tensor.ptr)
            assert sx.from_dlpack(tensor.__dlpack__()).ptr == tensor.ptr
        for other in (gpu, *tiles):
            assert bits(tensor.to_device(other, copy=True).to_numpy()) == bits(values((2, 3)))


def test_a_tile_is_always_the_same_entry(gpu, tiles):
    assert gpu.create_sub_devices("next_partitionable") == tiles
    assert gpu.create_sub_devices("numa") == tiles


def test_a_private_context(gpu, usm_type):
    private = sx.register_context(dpctl.SyclContext([gpu.sycl_device]))
    assert (private.kind, private.root_id) == ("context", gpu.id)
    tensor = numbers(private, usm_type)
    own = tensor.__dlpack__(dl_device=(14, private.id), **VERSIONED)
    assert read(own) == ((14, private.id), 0, tensor.ptr)
    assert sx.from_dlpack(own).device is private
    if gpu.backend == "opencl" and usm_type == "device":  # whose contexts share no memory
        with pytest.raises(BufferError, match="two copies, through the host.*pass copy=True"):
            tensor.__dlpack__(**VERSIONED)
        taken = sx.from_dlpack(tensor.__dlpack__(copy=True, **VERSIONED))
        assert bits(taken.to_numpy()) == bits(values((2, 3)))
        return
    assert read(tensor.__dlpack__(**VERSIONED))[:2] == ((14, gpu.id), IS_COPIED)
    taken = sx.from_dlpack(tensor.__dlpack__(**VERSIONED))
    assert taken.device is gpu
    assert bits(taken.to_numpy()) == bits(values((2, 3)))


# ---- other libraries -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_dpnp(gpus, number, usm_type):
    gpu = gpus[number]
    queue = dpctl.SyclQueue(gpu.sycl_device)
    array = dpnp.asarray(values((2, 3)), usm_type=usm_type, sycl_queue=queue)
    for way in (sx.from_dlpack, sx.as_tensor):
        tensor = way(array)
        assert (tensor.device, tensor.usm_type) == (gpu, usm_type)
        assert bits(tensor.to_numpy()) == bits(values((2, 3)))
        again = dpnp.from_dlpack(tensor)
        assert again.__sycl_usm_array_interface__["data"][0] == tensor.ptr
        if usm_type != "host":  # that belongs to both devices of the context
            assert again.sycl_device == gpu.sycl_device


def test_dpctl_memory(gpu, usm_type):
    memory = getattr(dpctl.memory, f"MemoryUSM{usm_type.title()}")(24, queue=gpu.sycl_queue)
    memory.copy_from_host(np.frombuffer(bits(values((2, 3))), "uint8"))
    tensor = sx.as_tensor(memory)
    assert (tensor.ptr, tensor.usm_type, tensor.device) == (memory._pointer, usm_type, gpu)
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))
    assert not tensor.readonly
    out = dpctl.memory.as_usm_memory(numbers(gpu, usm_type))
    assert out.copy_to_host().tobytes() == bits(values((2, 3)))


def test_torch_and_numpy_take_device_memory(gpu):
    import torch

    for layout in LAYOUTS.values():
        tensor, array = layout.tensor("float32", "device", device=gpu)
        assert bits(np.from_dlpack(sx.host_view(tensor))) == bits(array)
        assert torch.from_dlpack(sx.host_view(tensor)).numpy().tobytes() == bits(array)
        assert sx.exchange(tensor, torch).numpy().tobytes() == bits(array)
        assert bits(sx.exchange(tensor, np)) == bits(array)
        back = sx.from_dlpack(torch.from_dlpack(sx.host_view(tensor)), device=gpu)
        assert back.device is gpu
        assert bits(back.to_numpy()) == bits(array)


def test_explain_names_what_the_device_cannot_do(gpu, strict):
    plan = sx.explain(np.zeros(3), gpu)
    assert plan.copies == 1
    assert ("float64" in str(plan)) == strict
