# SPDX-License-Identifier: Apache-2.0
"""Device memory of any library, in its own allocation or among other blocks, in other processes."""

import gc
import os
import pickle
import signal
import subprocess
import sys

import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from samples import assert_equal
from sycl_ext import _core
from sycl_ext._ipc import records
from waiting import eventually


@pytest.fixture(autouse=True)
def with_ipc(gpu):
    if not _core.has_ipc(gpu._entry):
        pytest.fail("the stand-in GPU has no inter-process handles")


def numbers(device, count=100):
    return sx.empty(count, "uint8", device=device).copy_from(np.arange(count, dtype="uint8"))


#: A process that does what it is told: "open HEX", "add", "close", "empty SHAPE", "die".
OTHER = """
import gc, os, pickle, signal, sys, time
import numpy as np
import sycl_ext as sx
from sycl_ext import _core
t = None
def done(text="done"):
    print(text, flush=True)
for line in sys.stdin:
    what, _, rest = line.strip().partition(" ")
    try:
        if what == "open":
            t = sx.ipc.open(pickle.loads(bytes.fromhex(rest)))
        elif what == "bytes":
            data, size = rest.split()
            t = sx.ipc.open(bytes.fromhex(data), device="level_zero:gpu:0", shape=int(size))
        elif what == "relay":
            sx.ipc.handle(dpnp.from_dlpack(t[10:]))
        elif what == "add":
            t.copy_from(t.to_numpy() + np.asarray(1, t.dtype))
        elif what == "close":
            t = None
            gc.collect()
            while _core._test.deferred_frees():
                time.sleep(0.01)
        elif what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        done("None" if t is None else str(t.to_numpy().tolist()))
    except (BufferError, sx.SyclError) as error:
        done(f"{type(error).__name__}: {error}".replace(chr(10), " "))
"""


class Other:
    """Another process, which opens what it is given."""

    def __init__(self, preamble=""):
        self.process = subprocess.Popen(
            [sys.executable, "-c", preamble + OTHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def tell(self, what, rest=""):
        print(what, rest, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def open(self, handle):
        return self.tell("open", pickle.dumps(handle).hex())

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


# ---- whose memory it is --------------------------------------------------------------------------


def ours(gpu):
    return numbers(gpu)


def dpnps(gpu):
    x = dpnp.empty(100, dtype="uint8", device=gpu.filter_string)
    sx.from_dlpack(x).copy_from(np.arange(100, dtype="uint8"))
    return x


def dpctls(gpu):
    x = dpctl.memory.MemoryUSMDevice(100, queue=gpu.sycl_queue)
    sx.as_tensor(x).copy_from(np.arange(100, dtype="uint8"))
    return x


@pytest.mark.parametrize("make", [ours, dpnps, dpctls])
def test_memory_of_anybody(make, gpu):
    """Among others in a slab: who opens it sees it, and its neighbours stay as they are."""
    expected = np.arange(100, dtype="uint8")
    x = [make(gpu) for _ in range(3)]
    with Other() as other:
        handle = sx.ipc.handle(x[1])
        assert other.open(handle) == str(expected.tolist())
        other.tell("add")
        for number, more in zip(x, (0, 1, 0), strict=True):
            assert_equal(sx.as_tensor(number), expected + np.uint8(more))


@pytest.mark.parametrize("key", [slice(7, None), slice(80, 10, -7)])
@pytest.mark.parametrize("make", [ours, dpnps])
def test_handle_of_a_slice_opens_that_slice(make, key, gpu):
    expected = np.arange(100, dtype="uint8")
    make(gpu)
    whole = make(gpu)
    view = whole[key]
    with Other() as other:
        assert other.open(sx.ipc.handle(view)) == str(expected[key].tolist())
        other.tell("add")
    expected[key] += 1
    assert_equal(sx.as_tensor(whole), expected)


def test_opened_tensor_can_be_indexed(gpu):
    """Its own maker is the one that counts; here it is opened twice in this process."""
    t = numbers(gpu)
    opened = sx.ipc.open(sx.ipc.handle(t))
    assert_equal(opened[10:], np.arange(10, 100, dtype="uint8"))


def test_opened_memory_has_no_handle_of_its_own(gpu):
    """As dpnp's array.  Level Zero refuses; the handle that it came with can be sent on."""
    handle, seen = sx.ipc.handle(numbers(gpu)), str(list(range(100)))
    with Other("import dpnp\n") as other, Other() as third:
        assert other.open(handle) == seen
        answer = other.tell("relay")
        assert answer.startswith("BufferError: the tensor's memory was not allocated by ")
        assert "forward that process's Handle" in answer
        assert third.open(pickle.loads(pickle.dumps(handle))) == seen


def test_handle_says_how_much_it_exposes(gpu):
    """Memory of `ipc.empty` is an allocation of its own, of more than 4 MiB."""
    own, pooled = sx.ipc.handle(sx.ipc.empty(100, device=gpu)), sx.ipc.handle(numbers(gpu))
    assert own.exposed > 4 << 20
    assert pooled.exposed == pickle.loads(pickle.dumps(pooled)).exposed > 100
    assert pooled.exposed < 4 << 20


# ---- bytes, as dpctl.memory.IPCMemoryHandle has them ---------------------------------------------


def test_bytes_of_a_handle(gpu):
    t = numbers(gpu)[20:]
    handle = sx.ipc.handle(t)
    with Other() as other:
        shown = other.tell("bytes", f"{handle.to_bytes().hex()} {t.nbytes}")
        assert shown == str(list(range(20, 100)))
        other.tell("add")
    assert t.to_numpy()[0] == 21
    opened = sx.ipc.open(handle.to_bytes(), device=gpu, shape=(2, 10), dtype="uint32")
    assert (opened.shape, opened.dtype, opened.strides) == ((2, 10), np.uint32, (10, 1))
    with pytest.raises(BufferError, match=f"created by process {os.getpid()}"):
        pickle.loads(pickle.dumps(handle)).to_bytes()


def test_bytes_that_do_not_hold_so_much(gpu):
    """A terabyte, where the block has a hundred bytes."""
    data = sx.ipc.handle(numbers(gpu)).to_bytes()
    with pytest.raises(BufferError, match="bytes"):
        sx.ipc.open(data, device=gpu, shape=1 << 38)
    for wrong in (b"", data[:-1], data + b"x"):
        with pytest.raises(sx.SyclError, match="opening an inter-process handle failed"):
            sx.ipc.open(wrong, device=gpu, shape=1)


def test_bytes_that_were_changed(gpu):
    """One at a time: the memory, other memory of that process, or an error, and never the end."""
    handle = sx.ipc.handle(numbers(gpu))
    data = handle.to_bytes()
    with Other() as other:
        for index in range(len(data)):
            changed = bytearray(data)
            changed[index] ^= 0xFF
            shown = other.tell("bytes", f"{changed.hex()} 100")
            assert shown.startswith(("[", "BufferError", "SyclError")), index
            other.tell("close")


# ---- open mappings -------------------------------------------------------------------------------


def test_memory_stays_as_long_as_somebody_has_it_open(gpu):
    """The maker drops all of it: no other tensor gets the block until the other process closes."""
    before = records.waiting()
    t = numbers(gpu)
    handle, message = sx.ipc.handle(t), None
    with Other() as other, Other() as late:
        other.open(handle)
        message = pickle.dumps(handle).hex()
        address = t.ptr
        del handle, t
        gc.collect()
        assert eventually(lambda: records.waiting() == before + 1)
        new = [numbers(gpu).copy_from(np.zeros(100, "uint8")) for _ in range(50)]
        assert address not in [tensor.ptr for tensor in new]
        assert other.tell("add") == str(list(range(1, 101)))
        assert "no longer shares this memory" in late.tell("open", message)
        other.tell("close")
        assert eventually(lambda: records.waiting() == before)
        assert "cannot be opened" in late.tell("open", message)


def test_killed_process_has_no_block_open(gpu):
    before = records.waiting()
    handle = sx.ipc.handle(numbers(gpu))
    with Other() as other:
        other.open(handle)
        del handle
        gc.collect()
        assert eventually(lambda: records.waiting() == before + 1)
        other.process.send_signal(signal.SIGKILL)
        other.process.wait(60)
        assert eventually(lambda: records.waiting() == before)


MAKES = """
import pickle, sys
import numpy as np
import sycl_ext as sx
t = sx.empty(100, "uint8", device="level_zero:gpu:0").copy_from(np.arange(100, dtype="uint8"))
handle = sx.ipc.handle(t)
print(pickle.dumps(handle).hex(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_handle_of_a_dead_process_is_refused_and_opened_views_live_on(how, gpu):
    with subprocess.Popen(
        [sys.executable, "-c", MAKES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        handle = pickle.loads(bytes.fromhex(process.stdout.readline()))
        opened = sx.ipc.open(handle)
        if how is None:
            process.stdin.close()
        else:
            process.send_signal(how)
        process.wait(60)
    with pytest.raises(BufferError, match="cannot be opened"):
        sx.ipc.open(handle)
    assert_equal(opened, np.arange(100, dtype="uint8"))  # here: Level Zero does not promise it


def test_handle_of_a_reused_process_id_is_refused(gpu, monkeypatch):
    """The runtime would take its handle for that of the one that has ended."""
    handle = sx.ipc.handle(numbers(gpu))
    sx.ipc.open(handle)
    for process in list(records.opened_images):
        monkeypatch.setitem(records.opened_images, process, "earlier")
    with pytest.raises(BufferError, match="reuses the id of one"):
        sx.ipc.open(handle)


# ---- multiprocessing -----------------------------------------------------------------------------

RECEIVES = """
import multiprocessing, sys
import dpnp, numpy as np
import sycl_ext as sx
from sycl_ext._ipc import records

def work(argument, inbox, outbox):
    sx.ipc.register_multiprocessing("dpnp")
    while (x := inbox.get()) is not None:
        t = sx.as_tensor(x)
        outbox.put((type(x).__module__, t.device.filter_string, t.to_numpy().tolist()))
        t.copy_from(t.to_numpy() + np.asarray(1, t.dtype))
        outbox.put("added")
    sx.as_tensor(argument).copy_from(np.full(3, 9, "float32"))
    outbox.put(sx.empty(3, "int8", device="level_zero:gpu:0").copy_from(np.full(3, 7, "int8")))
    inbox.get()

if __name__ == "__main__":
    sx.ipc.register_multiprocessing("dpnp")
    context = multiprocessing.get_context("spawn")
    gpu = sx.device("level_zero:gpu:0")
    argument = dpnp.empty(3, dtype="float32", device="level_zero:gpu:0")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=work, args=(argument, inbox, outbox))
    process.start()
    t = sx.empty(3, "int32", device=gpu).copy_from(np.arange(3, dtype="int32"))
    d = dpnp.empty(3, dtype="int32", device="level_zero:gpu:0")
    sx.as_tensor(d).copy_from(np.arange(3, dtype="int32"))
    h = sx.zeros(3, "int32", usm_type="host", device=gpu)
    for x in (t, d[1:], h):
        inbox.put(x)
        print(*outbox.get())
        assert outbox.get() == "added"
        print(sx.as_tensor(x).to_numpy().tolist())
    inbox.put(None)
    print(outbox.get().to_numpy().tolist(), sx.as_tensor(argument).to_numpy().tolist())
    inbox.put(None)
    process.join()
    print("waiting", records.waiting())
"""


def test_multiprocessing_sends_handles(gpu, tmp_path):
    script = tmp_path / "receives.py"
    script.write_text(RECEIVES)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "sycl_ext level_zero:gpu:0 [0, 1, 2]",
        "[1, 2, 3]",
        "dpnp.dpnp_array level_zero:gpu:0 [1, 2]",
        "[2, 3]",
        "sycl_ext level_zero:gpu:0 [0, 0, 0]",  # host USM: a copy
        "[0, 0, 0]",
        "[7, 7, 7] [9.0, 9.0, 9.0]",
        "waiting 0",
    ]
