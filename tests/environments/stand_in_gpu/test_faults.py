# SPDX-License-Identifier: Apache-2.0
"""Each call of the runtime fails in turn, for each public operation (R4).

The error is one of R4, everything that was alive before is alive after and nothing more, sources
are untouched, and the same operation then works.
"""

import gc

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
import ways
from generated import alive, attempt
from samples import bits, values
from ways import Tag

SMALL, LARGE = (30, 40), (1500, 2000)  # by one command; staged in several blocks


class World:
    """The arguments of the operations, made before a call fails."""

    def __init__(self, gpus, cpu):
        self.gpu, self.other, self.cpu = gpus[0], gpus[1], cpu
        self.small = values(SMALL, "int16")
        self.large = values(LARGE, "int16")
        self.a = sx.as_tensor(self.small, device=self.gpu)
        self.b = sx.as_tensor(self.large, device=self.gpu)
        self.shared = sx.zeros(SMALL, "int16", device=self.gpu, usm_type="shared")
        self.queue = dpctl.SyclQueue(
            self.gpu.sycl_context, self.gpu.sycl_device, property="in_order"
        )
        self.unordered = dpctl.SyclQueue(self.gpu.sycl_context, self.gpu.sycl_device)
        self.tiles = self.gpu.create_sub_devices("next_partitionable")
        self.private = sx.register_context(dpctl.SyclContext([self.gpu.sycl_device]))
        self.secret = sx.as_tensor(self.small, device=self.private)
        self.common = sx.ipc.empty(SMALL, "int16", device=self.gpu).copy_from(self.small)
        self.foreign = dpctl.memory.MemoryUSMDevice(64, queue=self.queue)

    def sources(self):
        return bits(self.a.to_numpy()), bits(self.b.to_numpy())


def taken(capsule):
    return sx.from_dlpack(capsule).to_numpy()


def copied_into(shape, view, source, device):
    target = sx.zeros(shape, "int16", device=device)
    view(target).copy_from(source)
    return target.to_numpy()


def begun(source, device):
    target = sx.zeros(source.shape, "int16", device=device)
    target.copy_from(source, wait=False).wait()
    return target.to_numpy(wait=False).result()


def seen(result):
    """The elements, if they are known without a command of somebody else."""
    return None if isinstance(result, ways.Address) else bits(ways.content(result))


def written(world, way):
    target = sx.zeros(SMALL, "int16", device=world.gpu)
    way.call(target, world.small)
    return bits(target.to_numpy())


#: Ways with commands of other libraries, or of a test; parts, which not every GPU has; and memory
#: with anything in it.
OTHERS = {
    *(Tag.DPNP, Tag.TORCH, Tag.TVM_FFI, Tag.DPCTL, Tag.FIRST_COMMAND),
    *(Tag.SUB_DEVICE, Tag.UNINITIALIZED),
}


def of_ways():
    """The ways of the registry, in the memory of a GPU."""
    for name, way in ways.select(without=OTHERS, host=False, dtype="int64").items():
        if way.gives in (ways.VIEW, ways.HOST, ways.COPY, ways.NEW):
            yield name, lambda w, way=way: seen(way.call(w.a))
        elif way.gives == ways.WRITES:
            yield name, lambda w, way=way: written(w, way)


#: name -> the operation; the result is compared with that of a run without failures
OPERATIONS = {
    **dict(of_ways()),
    "empty": lambda w: sx.empty(SMALL, device=w.gpu).nbytes,
    "empty, large": lambda w: sx.empty(LARGE, device=w.gpu).nbytes,
    "zeros, shared": lambda w: bits(sx.zeros(SMALL, usm_type="shared", device=w.gpu).to_numpy()),
    "zeros, host": lambda w: bits(sx.zeros(LARGE, usm_type="host", device=w.gpu).to_numpy()),
    "zeros, a tile": lambda w: bits(sx.zeros(SMALL, device=w.tiles[1]).to_numpy()),
    "zeros, a private context": lambda w: bits(sx.zeros(SMALL, device=w.private).to_numpy()),
    "to_numpy, large": lambda w: bits(w.b.to_numpy()),
    "to_numpy, strided": lambda w: bits(w.a[::2, ::-3].to_numpy()),
    "to_numpy, large and strided": lambda w: bits(w.b.T[::3].to_numpy()),
    "host_view, now": lambda w: bits(np.asarray(sx.host_view(w.b[::2], copy=True))),
    "copy, large": lambda w: bits(w.b[:, ::2].copy().to_numpy()),
    "copy_from, gaps": lambda w: bits(copied_into((60, 40), lambda t: t[::2], w.small, w.gpu)),
    "copy_from, large": lambda w: bits(copied_into(LARGE, lambda t: t[:, ::-1], w.large, w.gpu)),
    "copy_from, another GPU": lambda w: bits(copied_into(SMALL, lambda t: t.T.T, w.a, w.other)),
    "copy_from, itself": lambda w: bits(copied_into(SMALL, lambda t: t, w.a[::-1], w.gpu)),
    "copy_from, large, wait=False": lambda w: bits(begun(w.large, w.gpu)),
    "copy_from, another GPU, wait=False": lambda w: bits(begun(w.b, w.other)),
    "ipc": lambda w: bits(sx.ipc.open(sx.ipc.handle(w.common)).to_numpy()),
    "as_tensor of a NumPy array": lambda w: bits(sx.as_tensor(w.large, device=w.gpu).to_numpy()),
    "as_tensor of dpctl.memory": lambda w: sx.as_tensor(w.foreign).nbytes,
    "from_dlpack to a device": lambda w: bits(sx.from_dlpack(w.small, device=w.gpu).to_numpy()),
    "to_device, another GPU": lambda w: bits(w.b.to_device(w.other, copy=True).to_numpy()),
    "to_device, a tile": lambda w: bits(w.a.to_device(w.tiles[0], copy=True).to_numpy()),
    "__dlpack__, the host": lambda w: bits(taken(w.b.__dlpack__(dl_device=(1, 0)))),
    "__dlpack__, a private context": lambda w: bits(taken(w.secret.__dlpack__())),
    "exchange, numpy": lambda w: bits(sx.exchange(w.a[::2], np)),
    "exchange, device": lambda w: bits(sx.exchange(w.small, w.gpu).to_numpy()),
    "exchange, dpnp": lambda w: bits(sx.as_tensor(sx.exchange(w.a, dpnp)).to_numpy()),
    "interface": lambda w: bits(sx.as_tensor(w.shared).to_numpy()),
    "device": lambda w: sx.device(w.queue).id,
    "sub-devices": lambda w: [t.id for t in w.gpu.create_sub_devices("next_partitionable")],
}


@pytest.fixture(scope="module")
def world(gpus, cpu):
    return World(gpus, cpu)


def release_and_count():
    """The live counters, without the memory that is kept for the next allocation."""
    counts = alive()
    sx.memory.release_cached()
    return counts


@pytest.mark.parametrize("name", OPERATIONS)
def test_failing_runtime_call_leaves_everything_as_before(name, world, adapter, blocks):
    operation = OPERATIONS[name]
    # exchange passes on the error of the consumer
    allowed = (MemoryError, sx.SyclError, *([BufferError] if "exchange" in name else []))
    wanted = operation(world)
    sources = world.sources()
    release_and_count()
    before = adapter.fakegpu_calls()
    assert operation(world) == wanted
    calls = adapter.fakegpu_calls() - before
    live, allocations = release_and_count(), blocks()
    for number in range(1, calls + 1):
        adapter.fakegpu_fail_at(number)
        try:
            result = attempt(lambda: operation(world), *allowed)
        finally:
            adapter.fakegpu_fail_at(0)
        # No error: what failed was tried again, or was a convenience.
        assert result in (None, wanted), f"call {number} of {calls}"
        assert release_and_count() == live, f"call {number} of {calls}"
        assert blocks() == allocations, f"call {number} of {calls}"
    assert world.sources() == sources
    assert operation(world) == wanted


def test_failing_registration_leaves_no_half_entry(gpu, adapter):
    """An entry is appended whole, or not at all."""
    for number in range(1, 8):
        context = dpctl.SyclContext([gpu.sycl_device])
        entries = len(sx.devices())
        adapter.fakegpu_fail_at(number)
        try:
            sx.register_context(context).sycl_queue  # noqa: B018
        except (sx.SyclError, MemoryError):
            pass
        finally:
            adapter.fakegpu_fail_at(0)
        entry = sx.register_context(context)
        assert len(sx.devices()) == entries + 1
        assert bits(sx.zeros(10, "uint8", device=entry).to_numpy()) == bytes(10)


def test_failed_queue_of_an_entry_is_made_later(gpus, adapter):
    """The queue of an entry is made when it is first needed; a failure there is not for ever."""
    sub_devices = gpus[1].create_sub_devices("next_partitionable")
    adapter.fakegpu_fail_at(1)
    try:
        sx.zeros(10, "uint8", device=sub_devices[1])
    except (sx.SyclError, MemoryError):
        pass
    finally:
        adapter.fakegpu_fail_at(0)
    assert bits(sx.zeros(10, "uint8", device=sub_devices[1]).to_numpy()) == bytes(10)


def test_failing_free_of_a_block_is_silent(gpu, adapter):
    """A deleter never raises, whatever the runtime says."""
    tensor = sx.zeros(1 << 20, "uint8", device=gpu)
    capsule = tensor.__dlpack__()
    adapter.fakegpu_fail_at(1)
    del tensor, capsule
    gc.collect()
    adapter.fakegpu_fail_at(0)


def test_asynchronous_error_is_raised_and_never_ends_the_process(world, adapter):
    """It comes out of the call that waits, as SyclError, for every operation that submits."""
    surfaced = 0
    for name, operation in OPERATIONS.items():
        wanted = operation(world)
        live = release_and_count()
        adapter.fakegpu_async_error_next()
        try:
            result = operation(world)
        except (sx.SyclError, BufferError):
            surfaced += 1
        else:
            assert result == wanted, name
        try:  # an operation without a command leaves the error to the next command
            world.a.to_numpy()
        except sx.SyclError:
            surfaced += 1
        assert release_and_count() == live
        assert operation(world) == wanted
    assert surfaced >= len(OPERATIONS) // 2
