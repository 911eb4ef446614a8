# SPDX-License-Identifier: Apache-2.0
"""Memory that several processes share.  Device USM of a GPU: ``environments/stand_in_gpu``."""

import contextlib
import copy
import errno
import fcntl
import gc
import itertools
import mmap
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from unittest import mock
from uuid import UUID

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import assert_equal, values
from sycl_ext import _core
from sycl_ext._ipc import descriptors as descriptors_module
from sycl_ext._ipc import records, reductions, shared_memory


def shared(shape=(4, 6), dtype="int32", **how):
    return sx.ipc.empty(shape, dtype, device="cpu", **how).copy_from(values(shape, dtype))


#: A process that opens what it is given, says what it sees, and adds one.
OTHER = """
import pickle, sys
import sycl_ext as sx
for line in sys.stdin:
    t = sx.ipc.open(pickle.loads(bytes.fromhex(line)))
    print(t.to_numpy().tolist(), t.readonly, t.strides, flush=True)
    if not t.readonly:
        t.copy_from(t.to_numpy() + 1)
        print("added", flush=True)
"""


class Other(subprocess.Popen):
    """Another process, which knows of this one what it reads."""

    def __init__(self, code):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        super().__init__([sys.executable, "-W", "error", "-c", code], text=True, **pipes)

    def __call__(self, handle):
        print(pickle.dumps(handle).hex(), file=self.stdin, flush=True)
        seen = self.stdout.readline()
        return seen.strip(), not handle.readonly and self.stdout.readline().strip()


# ---- one memory ----------------------------------------------------------------------------------


def test_two_processes_see_one_memory():
    t = shared()
    before = t.to_numpy().copy()
    view, as_seen = t[1::2, ::-2], before[1::2, ::-2]
    with Other(OTHER) as other:
        seen, added = other(sx.ipc.handle(t))
        assert (seen, added) == (f"{before.tolist()} False (6, 1)", "added")
        assert_equal(t, before + 1)
        seen, _ = other(sx.ipc.handle(view))
        assert seen == f"{(as_seen + 1).tolist()} False (12, -2)"
        expected = before + 1
        expected[1::2, ::-2] += 1
        assert_equal(t, expected)
        seen, _ = other(sx.ipc.handle(t.as_readonly()))
        assert seen.endswith("True (6, 1)")


def test_opened_handle_is_the_same_memory():
    t = shared(order="F")
    opened = sx.ipc.open(sx.ipc.handle(t))
    assert opened.ptr != t.ptr  # another mapping
    assert (opened.usm_type, opened.strides, opened.device) == ("system", (1, 4), t.device)
    t.to_numpy()[2, 3] = 77
    assert opened.to_numpy()[2, 3] == 77
    assert sx.ipc.open(sx.ipc.handle(opened[2:])).to_numpy()[0, 3] == 77


def test_read_only_memory_is_mapped_so():
    """Not even C code can write: the kernel would not let it."""
    opened = sx.ipc.open(sx.ipc.handle(shared().as_readonly()))
    assert opened.readonly
    maps = Path("/proc/self/maps").read_text().splitlines()
    (line,) = [line for line in maps if int(line.split("-")[0], 16) == opened.ptr]
    assert line.split()[1] == "r--s"
    assert fcntl.fcntl(opened.base._descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


def test_handle_keeps_the_memory():
    handle = sx.ipc.handle(shared())
    gc.collect()
    assert_equal(sx.ipc.open(handle), values((4, 6), "int32"))
    arrived = pickle.loads(pickle.dumps(handle))
    assert arrived == handle
    assert len(pickle.dumps(handle)) < 400
    del handle
    gc.collect()
    with pytest.raises(BufferError, match=r"has released it|no longer shares this memory"):
        sx.ipc.open(arrived)


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy])
def test_copy_of_a_handle_keeps_the_memory(of):
    copied = of(sx.ipc.handle(shared()))
    gc.collect()
    assert_equal(sx.ipc.open(copied), values((4, 6), "int32"))


def test_handle_opens_on_the_named_device(halves):
    handle = sx.ipc.handle(shared())
    assert sx.ipc.open(handle, device=halves[0]).device is halves[0]
    on_half = sx.ipc.empty(3, device=halves[1])
    assert sx.ipc.open(sx.ipc.handle(on_half)).device is halves[1]


# ---- what cannot be shared -----------------------------------------------------------------------


def test_handle_of_other_memory_is_refused_with_a_copy_that_works(usm_type):
    usm, memory = sx.zeros(3, usm_type=usm_type), np.zeros(3)
    for t in (usm, sx.host_view(usm), sx.from_dlpack(memory), sx.host_view(memory)):
        with pytest.raises(BufferError, match="not in memory that processes can share") as refused:
            sx.ipc.handle(t)
        assert sx.ipc.handle(eval(str(refused.value).partition("copy it first: ")[2]))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="it must be a Handle or bytes"):
        sx.ipc.open("handle")
    for half in ({}, {"device": "cpu"}, {"shape": 24}):
        with pytest.raises(TypeError, match="bytes contain neither device nor shape"):
            sx.ipc.open(b"handle", **half)
    with pytest.raises(TypeError, match="contains its shape and dtype"):
        sx.ipc.open(sx.ipc.handle(shared()), shape=24)
    with pytest.raises(ValueError, match="an empty array"):
        sx.ipc.open(b"handle", device="cpu", shape=0)
    with pytest.raises(BufferError, match="inter-process handles"):
        _core.IpcExport(sx.zeros(3))


def test_shared_memory_without_room_is_a_memory_error(monkeypatch):
    with pytest.raises(MemoryError, match="bytes of shared memory exceed this machine"):
        sx.ipc.empty(1 << 62, "uint8", device="cpu")
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * mmap.PAGESIZE + (1 << 30)  # for whatever else is allocated meanwhile
    resource.setrlimit(resource.RLIMIT_AS, (room, before[1]))
    try:
        with pytest.raises(MemoryError, match="cannot allocate 2147483648 bytes of shared memory"):
            sx.ipc.empty(1 << 31, "uint8", device="cpu")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    monkeypatch.setattr(os, "sysconf", lambda name: 8)  # a machine of eight pages of eight bytes
    assert sx.ipc.empty(64, "uint8", device="cpu").size == 64


@contextlib.contextmanager
def descriptors(free):
    """Only so many more files can be opened."""
    next_descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(next_descriptor)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_descriptor + free, before[1]))
    try:
        yield next_descriptor + free
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("free", [0, 1])  # none for the file, none for its mapping
def test_exhausted_descriptors_are_an_error_that_names_the_limit(free):
    t, offer = shared(), records.Offer(b"a SYCL handle", 96, None)
    handle = sx.ipc.handle(t)
    calls = {
        "empty": lambda: sx.ipc.empty(3, device="cpu"),
        "open": lambda: sx.ipc.open(handle),
        "handle of device USM": lambda: records.Offer(b"a SYCL handle", 96, None),
        "open of device USM": lambda: records.borrow(offer.key, 96),
        "multiprocessing": lambda: records.mark_as_arrived(offer.key),
    }
    for name, call in calls.items():
        with descriptors(free) as limit, pytest.raises(OSError, match="ulimit -n") as refused:
            call()
        assert isinstance(refused.value, BufferError), name
        assert refused.value.errno == errno.EMFILE
        assert f"this process has {limit} open files" in str(refused.value)
        for untrue in ("has ended", "is not shared memory", "any more"):
            assert untrue not in str(refused.value), name
        del refused  # its traceback has a descriptor


def test_advice_about_descriptors_works():
    """As the shell understands it, with the hard limit above the soft one."""
    program = """
import resource, sycl_ext as sx
held = []
try:
    held += (sx.ipc.empty(3, device="cpu") for _ in range(100))
except OSError as error:
    print(str(error).rpartition(": ")[2])
print(len(held) == 100)
"""
    shell = ["sh", "-c", 'ulimit -S -n 120 && ulimit -H -n 400 && $1 && exec "$0" -c "$2"']
    command = [*shell, sys.executable, "true", program]
    how = {"capture_output": True, "text": True, "check": True, "env": dict(os.environ)}
    advice, made = subprocess.run(command, **how).stdout.split("\n")[:2]
    assert (advice, made) == ("ulimit -n 400", "False")
    command[-2] = advice
    assert subprocess.run(command, **how).stdout == "True\n"


def test_memory_is_not_sent_as_bytes_where_no_descriptor_is_left(monkeypatch):
    """The receiver would write to a copy."""
    t = shared()
    error = descriptors_module.DescriptorError(errno.EMFILE, "ulimit -n")
    monkeypatch.setattr(reductions.handles, "handle", mock.Mock(side_effect=error))
    with pytest.raises(OSError, match="ulimit -n"):
        reductions.reduce_tensor(t)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "another user, or cannot be traced"),
        (errno.EPERM, "another user, or cannot be traced"),
        (errno.ENOENT, "has released it"),
        (errno.ESRCH, "has released it"),
        (errno.ENXIO, "No such device or address"),
        (errno.ENFILE, "sysctl fs.file-max"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_open_refused_by_the_kernel_names_the_reason(monkeypatch, number, words):
    """The process lives, and is never said to have ended."""
    handle, real = sx.ipc.handle(shared()), os.open
    offer = records.Offer(b"a SYCL handle", 96, None)

    def refuse(path, *arguments, **how):
        if str(path).startswith("/proc/"):
            raise OSError(number, os.strerror(number))
        return real(path, *arguments, **how)

    monkeypatch.setattr(os, "open", refuse)
    for call in (lambda: sx.ipc.open(handle), lambda: records.borrow(offer.key, 96)):
        with pytest.raises(BufferError, match=re.escape(words)) as refused:
            call()
        assert "has ended" not in str(refused.value)


def test_open_without_proc_names_it(monkeypatch, tmp_path):
    """As in a chroot."""
    handle = sx.ipc.handle(shared())
    gone = replace(handle, _key=handle._key._replace(descriptor=1 << 20))
    monkeypatch.setattr(descriptors_module, "PROC", tmp_path / "missing")
    with pytest.raises(BufferError, match=r"through /proc, which is not mounted here; mount it"):
        sx.ipc.open(gone)


def test_limit_of_file_sizes_is_named():
    """Shared memory is a file, so ``ulimit -f`` limits it."""
    shown = environments.python("""
import resource, sys
import numpy as np
import sycl_ext as sx
sys.dont_write_bytecode = True  # a .pyc of more bytes is a SIGXFSZ
sx.ipc.empty(3, device="cpu")
array = np.zeros(1001, "u1")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
errors = []
for call in (
    lambda: sx.ipc.empty(1001, "u1", device="cpu"),
    lambda: sx.ipc.pack(array, how="shared memory"),
):
    try:
        errors.append(call())
    except MemoryError as error:
        errors.append(error)
packed = sx.ipc.pack(array)
assert packed.how == "bytes" and "unlimited" in packed.reason, packed
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
for error in errors:
    print(error)
""")
    words = (
        r"cannot allocate 1001 bytes .* limited to 1000 bytes "
        r"\(`ulimit -f`.*run `ulimit -f unlimited` .*"
    )
    assert all(re.fullmatch(words, line) for line in shown.splitlines()), shown
    assert len(shown.splitlines()) == 2


def test_processes_whose_memory_was_opened_are_remembered_once(monkeypatch):
    """The table has a bound: the number of ids that the kernel has for processes."""
    monkeypatch.setattr(records, "opened_images", {})
    for _ in range(20):
        offer = records.Offer(os.urandom(64), 96, None)
        records.borrow(offer.key, 96)
    assert len(records.opened_images) == 1
    monkeypatch.setattr(records, "opened_images", {os.getpid(): b"of an earlier one"})
    with pytest.raises(BufferError, match="reuses the id of one"):
        records.borrow(offer.key, 96)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # where threads are
def test_forked_child_is_another_process_image():
    """A later child may get the id of an earlier one."""
    image = records.own_image
    assert len(image) == 16
    child = os.fork()
    if child == 0:
        os._exit(records.own_image == image)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert records.own_image == image


@pytest.mark.parametrize(
    ("mechanism", "keep"), [("sycl", "the handle"), ("shared memory", "the tensor or the handle")]
)
def test_error_names_what_to_keep(mechanism, keep):
    """Memory of a GPU goes with its handle, though its tensor is kept."""
    t = shared()
    handle = replace(sx.ipc.handle(t), mechanism=mechanism)
    del t
    gone = replace(handle, _keep=None, _key=handle._key._replace(descriptor=1 << 20))
    with pytest.raises(BufferError, match=f"; keep {keep} there until it is opened here"):
        sx.ipc.open(gone)


# ---- handles that lie ----------------------------------------------------------------------------


def test_handle_beyond_its_block_is_refused():
    own = sx.ipc.handle(shared())
    lies = {"shape": [(5, 6)], "_offset": [4, 3], "dtype": ["int64"], "_nbytes": [1 << 40, 95]}
    for name, values_of_it in {**lies, "_strides": [(7, 1), (-6, 1)]}.items():
        for value in values_of_it:
            with pytest.raises(BufferError):
                sx.ipc.open(replace(own, **{name: value}))


@pytest.mark.parametrize("name", [f.name for f in fields(sx.ipc.Handle) if f.name != "_keep"])
def test_changed_handle_is_refused_by_field(name):
    own = sx.ipc.handle(shared())
    wrong = {
        "mechanism": ["bus", ""],
        "dtype": ["float31", ""],
        "shape": [(4, -6), (4, 6.0), (1 << 60, 2)],
        "_strides": [(6,), (6, "1")],
        "_offset": [-1, 97],
        "_nbytes": [-1, 1 << 63],
        "_key": [(1, 2), (1, 2, 3, None)],
        "exposed": [-1, 1 << 63],
        "_device": [("opencl", "cpu", -1, ()), ("opencl",)],
    }
    for value in [None, 1.5, ..., *wrong.get(name, [])]:
        with pytest.raises(ValueError, match=f"{name} of the sycl_ext.ipc.Handle"):
            sx.ipc.open(replace(own, **{name: value}))
    assert sx.ipc.open(replace(own)).shape == (4, 6)


def test_descriptor_of_another_file_is_refused(tmp_path):
    own = sx.ipc.handle(shared())
    read_end, write_end = os.pipe()
    plain = os.open(tmp_path / "plain", os.O_RDWR | os.O_CREAT)
    os.truncate(plain, own._nbytes)
    unsealed = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    os.truncate(unsealed, own._nbytes)
    try:
        for file in (read_end, plain, unsealed):
            status = os.fstat(file)
            key = shared_memory.BlockKey(os.getpid(), file, status.st_dev, status.st_ino)
            with pytest.raises(BufferError, match=r"is not shared memory|no longer shares"):
                sx.ipc.open(replace(own, _key=key))
            with pytest.raises(BufferError, match="no longer shares this memory"):
                sx.ipc.open(replace(own, _key=own._key._replace(descriptor=file)))
    finally:
        for file in (read_end, write_end, plain, unsealed):
            os.close(file)


@pytest.mark.parametrize("process", [0, -1, 1 << 31, 1 << 63, -(1 << 70)])
def test_handle_of_an_impossible_process_is_refused(process):
    own = sx.ipc.handle(shared())
    with pytest.raises(BufferError, match="there is no such process here"):
        sx.ipc.open(replace(own, _key=own._key._replace(process=process)))


def test_shared_memory_cannot_shrink():
    """Memory that shrinks under a mapping is a SIGBUS for its reader."""
    own = sx.ipc.handle(shared())
    with pytest.raises(PermissionError):
        os.truncate(own._key.descriptor, 0)
    assert fcntl.fcntl(own._key.descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SEAL


def test_handle_of_another_machine_is_refused():
    memory = sx.ipc.handle(shared())
    here = replace(memory, mechanism="sycl")
    uuid = b"of another one  "
    there = f"uuid:{UUID(bytes=uuid)} (opencl:cpu:0 where it was sent), which is not available"
    with pytest.raises(BufferError, match=re.escape(there)):
        sx.ipc.open(replace(here, _device=here._device._replace(root_uuid=uuid, uuid=uuid)))
    sub_device = "opencl:cpu:0, numa number 1, which is not available in this process"
    with pytest.raises(BufferError, match=re.escape(sub_device)):
        sx.ipc.open(replace(here, _device=here._device._replace(path=(("numa", 1),), uuid=b"")))
    with pytest.raises(BufferError, match="the block has 96 bytes, but the handle says 4096"):
        sx.ipc.open(here)  # shared host memory is not a record of a SYCL handle
    offer = records.Offer(b"a SYCL handle", 96, None)
    with pytest.raises(BufferError, match="does not support inter-process handles"):
        sx.ipc.open(replace(here, _key=offer.key))


def test_ctrl_c_frees_no_memory_that_is_needed(monkeypatch):
    before, offer = records.waiting(), records.Offer(b"", 0, None)
    offer.keep_until_arrived()
    with monkeypatch.context() as patch:
        patch.setattr(shared_memory.Block, "read", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            records.reclaim()
    assert records.waiting() == before + 1
    records.mark_as_arrived(offer.key)
    assert records.waiting() == before


def test_ctrl_c_leaves_no_file_open(open_files, monkeypatch):
    """At each call and each return, one after the other."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # of `__del__`; pytest keeps frames
    block = shared_memory.make_block(8)
    before = open_files()
    for make in (
        shared_memory.make_block,
        lambda n: shared_memory.open_block(block.key, n, readonly=True),
    ):
        for step in itertools.count():
            steps = itertools.count()

            def interrupt(*_, step=step, steps=steps):
                if next(steps) == step:
                    raise KeyboardInterrupt

            with contextlib.suppress(KeyboardInterrupt):
                sys.setprofile(interrupt)  # until it raises
                make(8)
                sys.setprofile(None)
            assert open_files() == before, step
            if next(steps) <= step:
                break


def test_forked_child_withdraws_no_offer(monkeypatch):
    offer = records.Offer(b"", 0, None)
    record = offer._memory.record
    monkeypatch.setattr(os, "getpid", lambda: 7)
    del offer
    assert record.read().startswith(records._MARK)


# ---- processes that die --------------------------------------------------------------------------

#: A process that shares a tensor, says so, and waits.
SHARES = """
import pickle, sys
import sycl_ext as sx
t = sx.ipc.empty(1 << 20, "uint8", device="cpu").copy_from(bytearray(b"\5" * (1 << 20)))
handle = sx.ipc.handle(t)
print(pickle.dumps(handle).hex(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_memory_of_a_process_that_died(how):
    """A process that has it open keeps it, no other can open it, and nothing is left of it."""
    with Other(SHARES) as process:
        handle = pickle.loads(bytes.fromhex(process.stdout.readline()))
        opened = sx.ipc.open(handle)
        process.send_signal(how) if how else process.stdin.close()
        process.wait(60)
        assert process.stdout.read() == ""
    with pytest.raises(BufferError, match="there is no such process here; it has ended"):
        sx.ipc.open(handle)
    assert opened.to_numpy().sum() == 5 << 20


def test_shared_memory_survives_a_fork():
    shown = environments.python("""
import os, warnings, sycl_ext as sx
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork where threads are
t = sx.ipc.empty(3, "uint8", device="cpu")
if os.fork() == 0:
    sx.ipc.open(sx.ipc.handle(t)).to_numpy()[:] = 9
    os._exit(0)
assert os.wait()[1] == 0
print(t.to_numpy().tolist(), sx.ipc.open(sx.ipc.handle(t)).to_numpy().tolist())
""")
    assert shown.split("\n")[0] == "[9, 9, 9] [9, 9, 9]"


def test_without_memfd(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(BufferError, match="needs Linux"):
        sx.ipc.empty(3, device="cpu")


def test_tensor_of_multiprocessing_may_be_the_first_use_of_the_package():
    """The pickle names a function of this package, which nobody has imported there."""
    buffer = pickle.dumps(reductions.reduce_tensor(shared(3)))
    environments.python(f"""
import pickle

function, arguments = pickle.loads({buffer!r})
assert function(*arguments).tolist() == {shared(3).tolist()}
""")
    sx.memory.release_cached()  # the other process has closed it
