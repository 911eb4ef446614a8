# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU and other processes: pickles, staging, and SYCL's inter-process handles."""

import gc
import io
import mmap
import os
import pickle
import shutil
import subprocess
import sys
import threading
from dataclasses import replace

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import environments
import sycl_ext as sx
from generated import alive
from needs import needs
from samples import assert_equal, values
from sycl_ext import _core
from sycl_ext._ipc import records
from sycl_ext._ipc.shared_memory import open_block
from waiting import eventually

PEERS = environments.TESTS / "package" / "ipc" / "test_peers.py"
POOLS = environments.TESTS / "package" / "ipc" / "pools.py"


def numbers(device, usm_type="device", shape=(4, 6), dtype="int32"):
    return sx.empty(shape, dtype, usm_type=usm_type, device=device).copy_from(values(shape, dtype))


# ---- pickles -------------------------------------------------------------------------------------


def test_unpickled_tensor_is_on_its_tile(tiles, gpus):
    for tile in tiles:
        assert pickle.loads(pickle.dumps(sx.zeros(3, device=tile))).device is tile
    other = sx.zeros(3, device=gpus[1])
    assert pickle.loads(pickle.dumps(other)).device is gpus[1]


#: Hides one of two cards, on the stand-in and on Intel's driver.
ONE_CARD = {"FAKEGPU_DEVICES": "1", "CreateMultipleRootDevices": "1"}
SECOND_CARD = {"ONEAPI_DEVICE_SELECTOR": "level_zero:1"}
FLAT = {"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}


def run_in(variables, code):
    return environments.python(code, {**os.environ, **variables}).strip()


@needs("own_uuid")
def test_unpickled_tensor_finds_its_gpu_under_another_number(gpus):
    """Device 2 here is device 0 where the CPU and the first card are hidden."""
    data = [pickle.dumps(numbers(gpu, "shared")) for gpu in gpus]
    code = f"""
import pickle, warnings
warnings.simplefilter("error")
t = pickle.loads({data[1]!r})
print(t.device.filter_string, t.device.id, t.device.uuid)
try:
    pickle.loads({data[0]!r})
except UserWarning as warning:
    print(warning)
"""
    seen, warned = run_in(SECOND_CARD, code).splitlines()
    assert seen == f"level_zero:gpu:0 0 {gpus[1].uuid}"
    assert f"the array was on uuid:{gpus[0].uuid} (level_zero:gpu:0 where it was sent)" in warned
    assert "so it was moved to <Device 0: " in warned
    assert "sycl_ext.pickling.to_device" in warned


@needs("own_uuid")
def test_unpickled_tensor_warns_where_its_gpu_is_missing(gpus):
    code = f"""
import pickle, warnings
with warnings.catch_warnings(record=True) as caught:
    t = pickle.loads({pickle.dumps(numbers(gpus[1]))!r})
print(t.device.filter_string, [warning.filename for warning in caught])
"""
    assert run_in(ONE_CARD, code) == "level_zero:gpu:0 ['<string>']"


@needs("own_uuid")
def test_unpickled_tensor_finds_its_tile_where_the_tiles_are_root_devices(gpus):
    """The tile number 1 of card 1 is the root device 3 there, and 1 is one of card 0."""
    tile = gpus[1].create_sub_devices("next_partitionable")[1]
    code = f"""
import pickle, warnings
warnings.simplefilter("error")
t = pickle.loads({pickle.dumps(sx.zeros(3, device=tile))!r})
print(t.device.kind, t.device.uuid, t.device.filter_string)
data = pickle.dumps(t)
print(data.hex())
"""
    seen, data = run_in(FLAT, code).splitlines()
    assert seen == f"root {tile.uuid} level_zero:gpu:3"
    assert pickle.loads(bytes.fromhex(data)).device is tile
    code = f"""
import pickle, warnings
warnings.simplefilter("error")
device = pickle.loads(bytes.fromhex({data!r})).device
print(device.kind, device.uuid, device.parent.uuid)
"""
    assert run_in({}, code) == f"sub_device {tile.uuid} {gpus[1].uuid}"


def test_advice_for_a_device_in_another_process_finds_it(gpus, tiles):
    for device, variables in (
        *((gpu, {}) for gpu in gpus),
        (gpus[1], SECOND_CARD),
        *((tile, {}) for tile in tiles),
        (tiles[1], FLAT),
    ):
        with pytest.raises(TypeError) as refused:
            pickle.dumps(device)
        advice = str(refused.value).rpartition(": ")[2].partition(" finds")[0]
        code = f"import sycl_ext; print({advice}.uuid)"
        assert run_in(variables, code) == device.uuid, (device, advice)


# ---- staging -------------------------------------------------------------------------------------


def test_device_memory_is_staged_in_pinned_memory(gpu, adapter):
    tensor = numbers(gpu)
    for mode, copies in {"r": 1, "w": 1, "rw": 2}.items():
        before = adapter.fakegpu_copies()
        with sx.staged(tensor, mode) as memory:
            assert memory.base.usm_type == "host"
            if mode != "r":
                np.from_dlpack(memory)[:] = 3
        assert adapter.fakegpu_copies() - before == copies
    assert (tensor.to_numpy() == 3).all()


# ---- work that is not done yet -------------------------------------------------------------------


def write_ones(tensor):
    ones = dpctl.memory.MemoryUSMHost(tensor.nbytes, queue=tensor.sycl_queue)
    memoryview(ones)[:] = b"\1" * tensor.nbytes
    tensor.sycl_queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), ones, tensor.nbytes)
    return ones


def test_handle_waits_for_pending_work(gpu, adapter, hold):
    """Here the data itself cannot tell: looking at it waits."""
    tensor = sx.ipc.empty(4096, "uint8", device=gpu)
    with hold() as held:
        before = adapter.fakegpu_copies()
        kept = write_ones(tensor)
        threading.Timer(0.1, held.release).start()
        handle = sx.ipc.handle(tensor)
        assert adapter.fakegpu_copies() == before + 1
    tensor.wait()  # the copy reads `kept`
    del kept, handle


def test_bytes_of_a_handle_wait_for_later_work(gpu, with_ipc, adapter):
    t, new = sx.ipc.empty(3, "int32", device=gpu), sx.ones(3, "int32", device=gpu)
    handle = sx.ipc.handle(t)
    before = adapter.fakegpu_copies()
    adapter.fakegpu_set_delay_us(50_000)
    t.copy_from(new, wait=False)
    assert isinstance(handle.to_bytes(), bytes)
    assert adapter.fakegpu_copies() == before + 1


# ---- one memory in two processes -----------------------------------------------------------------

OPENS = """
import pickle, sys
import numpy as np
import sycl_ext as sx
handle = pickle.loads(bytes.fromhex(sys.argv[1]))
t = sx.ipc.open(handle)
device = t.device
print(device.filter_string, device.partition_index, t.usm_type, t.strides, t.to_numpy().tolist())
if not t.readonly:
    t.copy_from(t.to_numpy() + np.asarray(1, t.dtype))
"""


def opened_elsewhere(handle, **variables):
    """The elements in another process, which adds one."""
    code = OPENS.replace("sys.argv[1]", repr(pickle.dumps(handle).hex()))
    return environments.python(code, variables or None, inherit=not variables).strip()


def shared_numbers(device, shape=(4, 6), dtype="int32"):
    return sx.ipc.empty(shape, dtype, device=device).copy_from(values(shape, dtype))


def test_two_processes_see_one_memory(gpus, with_ipc, adapter):
    t = sx.ipc.empty((4, 6), "int32", device=gpus[1]).copy_from(values((4, 6), "int32"))
    expected = values((4, 6), "int32")
    assert t.usm_type == "device"
    before = adapter.fakegpu_ipc_handles()
    handle = sx.ipc.handle(t)
    assert adapter.fakegpu_ipc_handles() == before + 1
    shown = opened_elsewhere(handle)
    assert shown == f"level_zero:gpu:1 None device (6, 1) {expected.tolist()}"
    expected += 1
    assert_equal(t, expected)
    view = sx.ipc.handle(t[1::2, ::-2])
    shown = opened_elsewhere(view)
    assert shown.endswith(f"(12, -2) {expected[1::2, ::-2].tolist()}")
    expected[1::2, ::-2] += 1
    assert_equal(t, expected)
    opened_elsewhere(sx.ipc.handle(t.as_readonly()))
    assert_equal(t, expected)
    del handle, view, t
    # The real adapter v2 gives it back with the block, which may wait for the work on it; v1 never
    # does.
    if os.environ["SYCL_EXT_ENVIRONMENT"] != "level_zero_v1":
        assert eventually(lambda: adapter.fakegpu_ipc_handles() == before)


def test_opened_memory_is_shared_with_a_third_process(gpu, with_ipc):
    """Its handle leads to the process that made the memory; a part of it keeps its place there."""
    t = sx.ipc.empty(3, "int32", device=gpu).copy_from(np.arange(3, dtype="int32"))
    handle = sx.ipc.handle(t)
    shown = environments.python(
        f"""
import pickle, subprocess, sys
import sycl_ext as sx
t = sx.ipc.open(pickle.loads({pickle.dumps(handle)!r}))
handle = sx.ipc.handle(t[1:])
message = pickle.dumps(handle).hex()
code = {OPENS!r}
subprocess.run([sys.executable, "-c", code, message], check=True)
print(handle._key.process, t.tolist())
""",
        inherit=True,
    )
    assert shown.split("\n")[0].endswith("device (1,) [1, 2]")
    assert shown.split("\n")[1] == f"{os.getpid()} [0, 2, 3]"
    assert t.tolist() == [0, 2, 3]


def test_memory_of_a_tile_is_opened_on_the_tile(tiles, with_ipc):
    t = sx.ipc.empty(3, "int8", device=tiles[1])
    t.copy_from(np.array([1, 2, 3], "int8"))
    assert opened_elsewhere(sx.ipc.handle(t)).startswith("level_zero:gpu:0 1 device")
    assert t.to_numpy().tolist() == [2, 3, 4]


def test_memory_of_a_private_context(gpu, with_ipc):
    private = sx.register_context(dpctl.SyclContext([gpu.sycl_device]))
    t = shared_numbers(private)
    assert opened_elsewhere(sx.ipc.handle(t)).startswith("level_zero:gpu:0 None device")
    assert_equal(t, values((4, 6), "int32") + 1)


def test_handle_finds_its_device_by_uuid(gpus, with_ipc):
    """The number in a handle counts for nothing where the device says who it is."""
    handle = sx.ipc.handle(shared_numbers(gpus[1]))
    renamed = replace(handle, _device=handle._device._replace(number=0))
    assert sx.ipc.open(renamed).device is gpus[1]
    nowhere = replace(handle, _device=handle._device._replace(root_uuid=bytes(16), uuid=bytes(16)))
    with pytest.raises(BufferError, match="not available in this process"):
        sx.ipc.open(nowhere)
    with pytest.raises(BufferError, match="cannot be opened on"):
        sx.ipc.open(handle, device=gpus[0])


def test_handle_without_uuid_finds_its_device_by_number(gpus, with_ipc):
    """Its number in the table of its backend has to do."""
    handle = sx.ipc.handle(shared_numbers(gpus[1]))
    handle = replace(handle, _device=handle._device._replace(root_uuid=b"", uuid=b""))
    assert sx.ipc.open(handle).device is gpus[1]


def test_handle_of_a_missing_tile_is_refused(tiles, with_ipc):
    handle = sx.ipc.handle(sx.ipc.empty(3, device=tiles[1]))
    for path in ((("next_partitionable", 7),), (("equally 3", 0),)):
        device = handle._device._replace(path=path, uuid=b"")
        with pytest.raises(BufferError, match="not available in this process"):
            sx.ipc.open(replace(handle, _device=device))


def test_handle_is_opened_on_the_root_device_that_is_its_tile(gpus, with_ipc):
    tile = gpus[1].create_sub_devices("next_partitionable")[1]
    handle = sx.ipc.handle(shared_numbers(tile))
    shown = opened_elsewhere(handle, **{**os.environ, **FLAT})
    assert shown.startswith("level_zero:gpu:3 None device")
    assert_equal(sx.ipc.open(handle), values((4, 6), "int32") + 1)


def test_opened_block_is_closed_with_its_last_view(gpu, with_ipc, adapter):
    """The real adapters keep the mapping for the next time, so that there is one, and not two.

    They give up one of an earlier block at the same address, so that there may be none more.
    """
    t = shared_numbers(gpu)
    handle = sx.ipc.handle(t)
    before = adapter.fakegpu_live_allocations()
    opened = sx.ipc.open(handle)
    view = opened[1:]
    there = adapter.fakegpu_live_allocations()
    assert there - before in (0, 1)
    del opened
    assert_equal(view, values((4, 6), "int32")[1:])
    assert adapter.fakegpu_live_allocations() == there
    del view
    alive()
    assert there - adapter.fakegpu_live_allocations() in (0, 1)
    again = sx.ipc.open(handle)
    assert_equal(again, values((4, 6), "int32"))
    assert adapter.fakegpu_live_allocations() == there


def test_lies_about_device_memory(gpu, with_ipc, adapter):
    t = sx.ipc.empty(1 << 16, "uint8", device=gpu)
    handle = sx.ipc.handle(t)
    before = adapter.fakegpu_live_allocations()
    for lie in (
        {"_nbytes": 1 << 30},
        {"_nbytes": 1 << 15},
        {"_key": handle._key._replace(inode=1)},
        {"_key": handle._key._replace(descriptor=0)},
        {"_key": handle._key._replace(process=1 << 30)},
    ):
        with pytest.raises(BufferError):
            sx.ipc.open(replace(handle, **lie))
    assert adapter.fakegpu_live_allocations() == before  # nothing was mapped
    for lie in ({"_offset": 1}, {"shape": (1 << 17,)}, {"_strides": (-1,)}):
        with pytest.raises(BufferError):
            sx.ipc.open(replace(handle, **lie))


def test_message_of_a_handle_has_no_bytes_of_the_driver(gpu, with_ipc):
    """A message has no bytes that the driver uses; each of its bytes may be changed."""
    handle = sx.ipc.handle(shared_numbers(gpu))
    message = pickle.dumps(handle)
    assert handle.to_bytes() not in message
    assert handle.to_bytes()[:24] not in message
    record = open_block(handle._key, 4096, readonly=True)
    assert handle.to_bytes() in record.read()


@pytest.mark.parametrize("size", [0, 40, 5000])
def test_wrong_record_of_a_handle_is_refused(size, gpu, with_ipc):
    handle = sx.ipc.handle(shared_numbers(gpu))
    record = open_block(handle._key, 4096, readonly=False)
    kept = record.read()
    record.write(b"another mark".ljust(16))
    with pytest.raises(BufferError, match="does not share the memory that the handle names"):
        sx.ipc.open(handle)
    header = records._RECORD.pack(records._MARK, False, records.own_image, 96, size)
    record.write(header + b"x" * min(size, 4000))
    if size > 4048:
        with pytest.raises(BufferError, match="does not share the memory"):
            sx.ipc.open(handle)
    else:
        with pytest.raises(sx.SyclError, match="opening an inter-process handle failed"):
            sx.ipc.open(handle)
    record.write(kept)
    assert_equal(sx.ipc.open(handle), values((4, 6), "int32"))


@pytest.mark.parametrize("beyond", [1, 100, mmap.PAGESIZE])
def test_handle_beyond_the_block_is_refused(beyond, gpu, with_ipc):
    """It is refused before it is borrowed: the runtime would close another mapping there.

    The bytes are another library's: those of a handle of ours are a view, without the runtime.
    """
    t = shared_numbers(gpu)
    export = _core.IpcExport(t)
    data, whole = export.data, export.exposed
    words = (
        rf"describes {whole + beyond} bytes at \S+, but the driver reports an allocation of "
        rf"{whole} bytes"
    )
    if not whole:  # there is no driver to ask, and SYCL does not know memory that is far behind
        whole, words = 64 << 20, "the inter-process handle"
    before = _core._test.live_allocations()
    with pytest.raises(BufferError, match=words):
        sx.ipc.open(data, device=gpu, shape=whole + beyond)
    assert _core._test.live_allocations() == before
    assert_equal(
        sx.ipc.open(data, device=gpu, shape=(4, 6), dtype="int32"), values((4, 6), "int32")
    )


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_only_device_memory_has_handles(usm_type, gpu, with_ipc):
    with pytest.raises(BufferError, match="only 'device' USM has"):
        sx.ipc.handle(numbers(gpu, usm_type))
    theirs = dpnp.empty(3, device="level_zero:gpu:0", usm_type=usm_type)
    with pytest.raises(BufferError, match="only 'device' USM has"):
        sx.ipc.handle(theirs)


def test_shared_memory_goes_through_no_pool(gpu, with_ipc, adapter):
    """Neither comes it from another tensor, nor does another tensor get it: the handle may live."""
    sx.empty(256, "uint8", device=gpu)
    before = adapter.fakegpu_live_allocations()
    t = sx.ipc.empty(256, "uint8", device=gpu)
    assert adapter.fakegpu_live_allocations() == before + 1
    others = [sx.empty(256, "uint8", device=gpu) for _ in range(20)]
    # Memory with a handle is mapped in pages of its own.
    assert not any(other.ptr in range(t.ptr, t.ptr + mmap.PAGESIZE) for other in others)
    held = adapter.fakegpu_live_allocations()
    del t
    assert eventually(lambda: adapter.fakegpu_live_allocations() == held - 1)


def test_refusal_of_the_linux_kernel_is_a_buffer_error(gpu, with_ipc):
    """The runtime says that every device on Linux has handles, and fails when one is opened."""
    t = shared_numbers(gpu)
    handle = sx.ipc.handle(t)
    code = OPENS.replace("sys.argv[1]", repr(pickle.dumps(handle).hex()))
    code = code.replace(
        "t = sx.ipc.open(handle)",
        "from test_peers import REFUSE; exec(REFUSE); refuse(1)\n"
        "try: sx.ipc.open(handle)\n"
        "except BufferError as error: print(error); raise SystemExit",
    )
    shown = environments.python(code, inherit=True, near=PEERS)
    assert f"may not open the device memory of process {os.getpid()} (pidfd_getfd: EPERM)" in shown
    assert_equal(t, values((4, 6), "int32"))


def test_forked_child_leaves_handles_to_its_parent(gpu, with_ipc, adapter):
    t = shared_numbers(gpu)
    handle = sx.ipc.handle(t)
    opened = sx.ipc.open(handle)
    before = adapter.fakegpu_ipc_handles(), adapter.fakegpu_live_allocations()
    child = os.fork()
    if child == 0:
        del handle, opened
        gc.collect()
        after = adapter.fakegpu_ipc_handles(), adapter.fakegpu_live_allocations()
        os._exit(0 if after == before else 1)
    del opened
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert opened_elsewhere(handle).startswith("level_zero:gpu:0")


def test_forked_child_closes_no_handle(gpu, with_ipc):
    """UMF keeps what it has opened, so the driver sees no close; the trace of the calls does."""
    shown = environments.python(
        """
import os
import sycl_ext as sx
t = sx.ipc.empty(3, device=sx.device("gpu"))
export = sx._core.IpcExport(t)  # not a handle of ours, which would be a view
opened = sx.ipc.open(export.data, device=t.device, shape=12)
child = os.fork()
if child == 0:
    print("child:", flush=True)
    del opened
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent:", flush=True)
del opened
""",
        {**os.environ, "SYCL_UR_TRACE": "2"},
    )
    child, parent = shown.split("child:")[1].split("parent:")
    assert "IPCCloseMemHandle" in parent
    assert "IPCCloseMemHandle" not in child


#: Opens memory, and passes it on after its maker has dropped the handle, or has ended.
PASSES_ON = """
import pickle, sys
import sycl_ext as sx
t = sx.ipc.open(pickle.loads(bytes.fromhex(sys.stdin.readline())))
print("open", flush=True)
sys.stdin.readline()
try:
    sx.ipc.handle(t[1:])
except BufferError as error:
    print(error)
packed = sx.ipc.pack(t[1:])
print(packed.how, packed.open().tolist())
"""


@pytest.mark.parametrize("ends", [False, True])
def test_handle_of_memory_whose_maker_gives_no_more_is_refused(gpu, with_ipc, ends):
    """The sender learns it, and not the receiver, where a pool would hang."""
    code = "import sycl_ext as sx; t = sx.ipc.empty(3, 'int32', device='gpu').fill(7)\n"
    code += "import pickle; h = sx.ipc.handle(t); print(pickle.dumps(h).hex(), flush=True)\n"
    code += "input(); del h; print('dropped', flush=True); input()"

    def started(code):
        return subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True)

    with started(code) as maker, started(PASSES_ON) as holder:
        holder.stdin.write(maker.stdout.readline())
        holder.stdin.flush()
        assert holder.stdout.readline() == "open\n"
        maker.stdin.write("\n")
        maker.stdin.flush()
        assert maker.stdout.readline() == "dropped\n"
        if ends:
            maker.communicate("\n")
        error, packed = holder.communicate("\n")[0].splitlines()
        assert f"belongs to process {maker.pid}, and no further process can open it" in error
        assert error.endswith("copy it: sx.ipc.empty(t.shape, t.dtype, device=1).copy_from(t)")
        assert packed == "shared memory [7, 7]"
        if not ends:
            maker.communicate("\n")


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ("results_of_a_pool_are_arguments_of_the_next", "[[[1, 1, 1], [2, 2, 2]]]\nshared memory "),
        ("results_of_an_executor", "[[1, 1, 1]]"),
        ("workers_of_one_task", str([[i] * 3 for i in range(5)])),
        ("received_after_a_while", "True [[4, 4, 4]]"),
    ],
)
def test_pools_pass_memory_on(how, shown, gpu, with_ipc):
    command = [sys.executable, str(POOLS), how, "level_zero:gpu:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(shown)


#: Shares memory, and then replaces itself by execv and shares other memory: one process id, one
#: start time, and without address space randomization one address.
REPLACES_ITSELF = """
import os, pickle, sys
import sycl_ext as sx
value, code = int(sys.argv[1]), sys.argv[2]
t = sx.ipc.empty(64, "int32", device="gpu").fill(value)
handle = sx.ipc.handle(t)
print(pickle.dumps(handle).hex(), flush=True)
if not sys.stdin.buffer.raw.read(1):
    sys.exit()
del handle, t
os.execv(sys.executable, [sys.executable, "-c", code, str(value + 1), code])
"""


def test_memory_of_a_replaced_process_is_not_taken_for_that_of_the_earlier(with_ipc):
    """The runtime keeps the mapping of the earlier one, and would return it."""
    command = [sys.executable, "-c", REPLACES_ITSELF, "1", REPLACES_ITSELF]
    if (setarch := shutil.which("setarch")) is not None:
        command[:0] = [setarch, "-R"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, bufsize=0) as maker:
        lines = io.TextIOWrapper(maker.stdout)
        first = pickle.loads(bytes.fromhex(lines.readline()))
        assert (sx.ipc.open(first).to_numpy() == 1).all()
        maker.stdin.write(b"x")
        second = pickle.loads(bytes.fromhex(lines.readline()))
        assert first._key.process == second._key.process == maker.pid
        for handle, reason in ((first, "no longer shares"), (second, "has replaced itself")):
            with pytest.raises(BufferError, match=reason):
                sx.ipc.open(handle)
        shown = opened_elsewhere(second)  # a process that has not opened the earlier memory
        assert shown.startswith("level_zero:gpu:0 None device (1,) [2, 2, ")
        maker.stdin.close()


def test_shared_host_memory_and_a_gpu(gpu, cpu):
    t = sx.ipc.empty(3, "int8", device=cpu).copy_from(np.array([1, 2, 3], "int8"))
    assert opened_elsewhere(sx.ipc.handle(t)).startswith("opencl:cpu:0 None system")
    assert t.to_numpy().tolist() == [2, 3, 4]
    with pytest.raises(BufferError, match="share memory of the CPU device"):
        sx.ipc.open(sx.ipc.handle(t), device=gpu)
