# SPDX-License-Identifier: Apache-2.0
"""Events between processes: the work of one comes after that of another, and no host waits.

The driver of each process holds its own commands, so a command that runs although the other process
is held would read what is not written yet.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._ipc.events import ordered
from sycl_ext._ipc.shared_memory import make_block

#: A process that opens a handle, copies on the device without a wait, and says what it sees.
READER = """
import pickle, sys
import numpy as np
import sycl_ext as sx
from level_zero import control
driver = control.loaded() if sx.devices() else None
def opened():
    return sx.ipc.open(pickle.loads(bytes.fromhex(input())))
"""
COPIES = """
t = opened()
mine = sx.empty(t.shape, t.dtype, device=t.device)
mine.copy_from(t, wait=False)
print("submitted", driver.fakegpu_copies(), flush=True)
input()
print(driver.fakegpu_copies(), mine.tolist(), driver.fakegpu_copies(), flush=True)
"""


@pytest.fixture
def reader():
    """Start a process with code; it gets lines, and its lines are read."""
    started = []
    path = os.pathsep.join([str(environments.HERE), os.environ.get("PYTHONPATH", "")])

    def start(code):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = [sys.executable, "-W", "error", "-c", READER + code]
        variables = {**os.environ, "PYTHONPATH": path}
        process = subprocess.Popen(command, text=True, env=variables, **pipes)
        started.append(process)

        def ask(line):
            print(line, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        ask.process = process
        return ask

    yield start
    for process in started:
        process.kill()
        process.communicate()
    sx.memory.release_cached()


def sent(handle):
    return pickle.dumps(handle).hex()


def test_device_says_whether_it_has_events(gpu, monkeypatch):
    """The real adapters say so on Intel's driver as well: v2 has them, and v1 does not."""
    monkeypatch.setenv("SYCL_EXT_IPC_EVENTS", "1")
    environment = os.environ["SYCL_EXT_ENVIRONMENT"]
    reason = {
        "opencl_gpu": "the device has no inter-process handles",
        "level_zero_v1": "the device has no inter-process events (the aspect ext_oneapi_ipc_event)",
        "neo_v1": "the device has no inter-process events (the aspect ext_oneapi_ipc_event)",
    }
    assert sx.ipc.why_no_events(gpu) == reason.get(environment, "")


def test_events_are_not_used_unless_they_are_turned_on(gpu, with_events, adapter, monkeypatch):
    monkeypatch.delenv("SYCL_EXT_IPC_EVENTS")
    assert "SYCL_EXT_IPC_EVENTS=1 turns them on" in sx.ipc.why_no_events(gpu)
    t = numbers(gpu, 1)
    adapter.fakegpu_set_delay_us(20_000)
    copy = t.copy_from(numbers(gpu, 2), wait=False)
    handle = sx.ipc.handle(t)
    assert (handle.has_event, copy.done()) == (False, True)  # the maker has waited
    (alone,) = sx.ipc.groups(1)
    assert not sx.ipc.symmetric(3, "int32", alone, device=gpu).has_events


def numbers(gpu, value):
    return sx.ipc.empty(3, "int32", device=gpu).copy_from(np.full(3, value, "int32"))


def test_reader_comes_after_a_pending_write_of_the_maker(gpu, with_events, adapter, hold, reader):
    t, new = numbers(gpu, 1), numbers(gpu, 2)
    before = adapter.fakegpu_copies()
    ask = reader(COPIES)
    with hold() as held:
        t.copy_from(new, wait=False)
        handle = sx.ipc.handle(t)
        assert handle.has_event
        assert ask(sent(handle)) == "submitted 0"
        assert adapter.fakegpu_copies() == before  # nobody has waited for it
        held.release()
        assert ask("").endswith("[2, 2, 2] 2")


def test_next_writer_comes_after_a_pending_read_of_the_reader(gpu, with_events, adapter, reader):
    t = numbers(gpu, 1)
    ask = reader("""
driver.fakegpu_set_delay_us(20_000_000)
t = opened()
mine = sx.empty(t.shape, t.dtype, device=t.device)
mine.copy_from(t, wait=False)
handle = sx.ipc.handle(t)
print(pickle.dumps(handle).hex() if handle.has_event else "waited", flush=True)
input()
driver.fakegpu_set_delay_us(0)
print(mine.tolist(), flush=True)
""")
    first = sx.ipc.handle(t)
    assert not first.has_event
    mine = sx.ipc.open(pickle.loads(bytes.fromhex(ask(sent(first)))))
    assert mine.ptr == t.ptr
    assert sx.ipc.handle(mine).has_event  # what comes next is pending, too
    new = numbers(gpu, 2)
    before = adapter.fakegpu_copies()
    mine.copy_from(new, wait=False)
    assert adapter.fakegpu_copies() == before
    assert ask("") == "[1, 1, 1]"
    assert mine.tolist() == [2, 2, 2]
    assert t.tolist() == [2, 2, 2]


def test_handle_of_opened_memory_leads_to_the_process_that_made_it(gpu, with_events, reader):
    """Of three processes, one has the memory, the second one the work, and the third one reads."""
    t = numbers(gpu, 1)
    kept = sx.ipc.handle(t)
    second = reader("""
t = opened()
new = sx.empty(2, "int32", device=t.device).copy_from(np.full(2, 2, "int32"))
driver.fakegpu_set_delay_us(20_000_000)
t[1:].copy_from(new, wait=False)
handle = sx.ipc.handle(t[1:])
print(pickle.dumps(handle).hex() if handle.has_event else "waited", flush=True)
input()
driver.fakegpu_set_delay_us(0)
t.wait()
print("done", flush=True)
input()
""")
    third = reader(COPIES)
    assert third(second(sent(kept))) == "submitted 0"
    assert second("") == "done"
    assert third("").endswith("[2, 2] 2")
    assert t.tolist() == [1, 2, 2]


def test_work_that_is_done_needs_no_event(gpu, with_events):
    t = numbers(gpu, 1)
    assert not sx.ipc.handle(t).has_event
    assert sx.ipc.open(sx.ipc.handle(t)).tolist() == [1, 1, 1]


def test_handle_may_be_opened_twice_and_by_its_maker(gpu, with_events, adapter, hold, reader):
    before = adapter.fakegpu_opened_events()  # of earlier tests
    t, new = numbers(gpu, 1), numbers(gpu, 2)
    ask = reader("""
line = input()
both = [sx.ipc.open(pickle.loads(bytes.fromhex(line))) for _ in range(2)]
copies = [sx.empty_like(t) for t in both]
for copy, t in zip(copies, both):
    copy.copy_from(t, wait=False)
print(driver.fakegpu_copies(), flush=True)
input()
print(*(copy.tolist() for copy in copies), flush=True)
""")
    with hold() as held:
        t.copy_from(new, wait=False)
        handle = sx.ipc.handle(t)
        opened = sx.ipc.open(handle)
        assert ask(sent(handle)) == "0"
        held.release()
        assert ask("") == "[2, 2, 2] [2, 2, 2]"
    assert opened.tolist() == [2, 2, 2]
    assert adapter.fakegpu_opened_events() <= before  # its own queue needs none


def test_event_stays_while_it_is_opened(gpu, with_events, reader):
    """Of memory that the process with the work has opened itself, which keeps only the event."""
    t = numbers(gpu, 1)
    kept = sx.ipc.handle(t)
    second = reader("""
import time
from sycl_ext import _core
t = opened()
new = sx.full(3, 2, "int32", device=t.device)
driver.fakegpu_set_delay_us(20_000_000)
t.copy_from(new, wait=False)
handle = sx.ipc.handle(t)
print(pickle.dumps(handle).hex() if handle.has_event else "waited", flush=True)
input()
del handle
driver.fakegpu_set_delay_us(0)
t.wait()
sx.memory.release_cached()
while _core._test.deferred_frees():
    time.sleep(0.01)
print("done", flush=True)
input()
""")
    third = reader("""
from sycl_ext import _core
make = _core.on_own_queue
def pause(tensor):
    print("has read", flush=True)
    input()
    return make(tensor)
_core.on_own_queue = pause
t = opened()
print(t.tolist(), flush=True)
""")
    assert third(second(sent(kept))) == "has read"
    assert second("") == "done"
    assert third("") == "[2, 2, 2]"


def test_bytes_of_a_handle_wait_for_the_work(gpu, with_events, adapter, hold):
    t, new = numbers(gpu, 1), numbers(gpu, 2)
    before = adapter.fakegpu_copies()
    adapter.fakegpu_set_delay_us(50_000)
    t.copy_from(new, wait=False)
    handle = sx.ipc.handle(t)
    assert handle.has_event
    assert isinstance(handle.to_bytes(), bytes)
    assert adapter.fakegpu_copies() == before + 1


# ---- exceptions ----------------------------------------------------------------------------------

WAITS = """
t = opened()
mine = sx.empty(t.shape, t.dtype, device=t.device)
mine.copy_from(t, wait=False)
print("submitted", flush=True)
for number, wait in enumerate((t.tolist, mine.wait, t.wait), 1):
    try:
        print("waits", number, flush=True)
        wait()
    except (sx.SyclError, KeyboardInterrupt) as error:
        print(type(error).__name__, error, flush=True)
del t, mine
print("ends", flush=True)
"""
MAKER = """
import os, pickle, sys
import numpy as np
import sycl_ext as sx
from level_zero import control
t = sx.ipc.empty(3, "int32", device="level_zero:gpu:0")
new = sx.ipc.empty(3, "int32", device="level_zero:gpu:0").copy_from(np.full(3, 2, "int32"))
control.loaded().fakegpu_set_delay_us(20_000_000)
t.copy_from(new, wait=False)
handle = sx.ipc.handle(t)
print(os.getpid(), pickle.dumps(handle).hex(), flush=True)
input()
control.loaded().fakegpu_set_delay_us(0)
t.wait()
"""


#: Opens each of three handles many times, copies from the tensor, and never waits for it.
DROPS = """
import time
from pathlib import Path
from sycl_ext import _core
for _ in range(3):
    handle = pickle.loads(bytes.fromhex(input()))
    for _ in range(30):
        t = sx.ipc.open(handle)
        mine = sx.empty(t.shape, t.dtype, device=t.device)
        mine.copy_from(t, wait=False)
        mine.wait()
        del t
    while _core._test.deferred_frees():
        time.sleep(0.01)
    print(len(list(Path("/proc/self/fd").iterdir())), driver.fakegpu_opened_events(), flush=True)
"""


def test_tensors_that_nobody_waits_for_leave_nothing_open(gpu, with_events, adapter, reader):
    ask, t, kept, counts = reader(DROPS), numbers(gpu, 1), [], []
    for value in (2, 3, 4):
        adapter.fakegpu_set_delay_us(10_000)
        t.copy_from(numbers(gpu, value), wait=False)
        kept.append(sx.ipc.handle(t))
        adapter.fakegpu_set_delay_us(0)
        assert kept[-1].has_event
        counts.append([int(number) for number in ask(sent(kept[-1])).split()])
    assert counts[2][0] < counts[0][0] + 10
    assert counts[2][1] < 10


def test_death_of_the_maker_is_an_error_of_whoever_waits(with_events, reader):
    maker, ask = reader(MAKER), reader(WAITS)
    process, data = maker.process.stdout.readline().split()
    assert ask(data) == "submitted"
    maker.process.kill()
    for name in ("waits 1", "waits 2", "waits 3"):
        assert ask.process.stdout.readline() == name + "\n"
        shown = ask.process.stdout.readline()
        assert shown.startswith("SyclError ")
        assert f"process {process} has ended before its work" in shown
    assert ask.process.stdout.readline() == "ends\n"
    assert ask.process.wait(30) == 0


def test_wait_for_an_event_that_never_ends_is_interrupted(with_events, reader):
    maker, ask = reader(MAKER), reader(WAITS)
    _, data = maker.process.stdout.readline().split()
    assert ask(data) == "submitted"
    for name in ("waits 1", "waits 2", "waits 3"):
        assert ask.process.stdout.readline() == name + "\n"
        ask.process.send_signal(signal.SIGINT)
        assert ask.process.stdout.readline().startswith("KeyboardInterrupt")
    assert ask.process.stdout.readline() == "ends\n"
    assert ask.process.wait(30) == 0


def test_event_of_a_process_that_has_ended_is_refused(with_events, reader):
    maker = reader(MAKER)
    process, data = maker.process.stdout.readline().split()
    maker.process.kill()
    maker.process.wait()
    with pytest.raises(BufferError, match=f"{process}"):
        sx.ipc.open(pickle.loads(bytes.fromhex(data)))


def test_forked_child_of_the_reader_gets_an_error(with_events, reader):
    maker = reader(MAKER)
    ask = reader("""
import os
t = opened()
child = os.fork()
if child == 0:
    try:
        t.tolist()
    except sx.SyclError as error:
        os.write(1, b"refused " + str(error).encode() + b"\\n")
    os._exit(7)
os.waitpid(child, 0)
print("ends", flush=True)
os._exit(0)
""")
    _, data = maker.process.stdout.readline().split()
    assert ask(data).startswith("refused ")
    assert ask.process.stdout.readline() == "ends\n"


def test_forked_child_of_the_reader_drops_what_it_has_opened(with_events, reader):
    maker = reader(MAKER)
    ask = reader("""
import os
t = opened()
child = os.fork()
if child:
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
del t
sys.exit(7)
""")
    _, data = maker.process.stdout.readline().split()
    assert ask(data) == "ended with 7"


def test_event_that_cannot_be_made_is_waited_for(gpu, with_events, adapter):
    """The call of the driver that fails is the first one, the next one, and so on."""
    t, new, waited = numbers(gpu, 1), numbers(gpu, 2), 0
    for number in range(1, 9):
        adapter.fakegpu_set_delay_us(20_000)
        copy = t.copy_from(new, wait=False)
        adapter.fakegpu_fail_at(number)
        with contextlib.suppress(sx.SyclError):  # a queue that cannot be made
            if not sx.ipc.handle(t).has_event:
                assert copy.done()
                waited += 1
        adapter.fakegpu_fail_at(0)
        copy.wait()
    assert waited


def test_event_that_cannot_be_opened_is_an_error(with_events, reader):
    maker = reader(MAKER)
    ask = reader("""
handle = pickle.loads(bytes.fromhex(input()))
opened = sx.ipc.open(handle)  # the mapping is kept for the next time
for number in range(1, 9):  # queues are made as well
    driver.fakegpu_fail_at(number)
    try:
        sx.ipc.open(handle)
    except sx.SyclError as error:
        print(str(error).partition(":")[0], driver.fakegpu_opened_events(), end=", ")
driver.fakegpu_fail_at(0)
print(flush=True)
""")
    _, data = maker.process.stdout.readline().split()
    assert "opening an inter-process event failed" in ask(data)
    assert ask.process.wait(30) == 0


def test_place_without_an_event_is_refused(gpu, with_events):
    t = numbers(gpu, 1)
    block = make_block(4096)
    with pytest.raises(BufferError, match=f"process {os.getpid()} shares other memory there"):
        ordered(t, block.key)
    memory = sx.ipc.handle(t)
    with pytest.raises(BufferError, match=f"process {os.getpid()} shares other memory there"):
        ordered(t, memory._key)


def test_command_queue_is_replaced_when_a_maker_has_died(with_events, reader):
    """Later work on the device does not come after work that never runs; what does is an error."""
    maker = reader(MAKER)
    ask = reader("""
device = sx.device("level_zero:gpu:0")
new, other, idle = (sx.full(3, value, "int32", device=device) for value in (5, 6, 7))
t = opened()
mine, behind = (sx.empty(3, "int32", device=device) for _ in range(2))
mine.copy_from(t, wait=False)
behind.copy_from(other, wait=False)  # its queue comes to it after the copy above
print("submitted", flush=True)
input()
print(idle.tolist(), new.copy().tolist(), idle.copy_from(new).tolist())
for tensor in (behind, mine, t, t):
    try:
        print(tensor.tolist())
    except sx.SyclError as error:
        print(error)
try:
    print(new.copy_from(t, wait=False).wait())
except sx.SyclError as error:
    print(error)
print(other.tolist(), new.tolist(), behind.copy_from(other).tolist(), flush=True)
""")
    process, data = maker.process.stdout.readline().split()
    assert ask(data) == "submitted"
    maker.process.kill()
    maker.process.wait()
    assert ask("") == "[7, 7, 7] [5, 5, 5] [5, 5, 5]"
    for _ in range(5):
        assert f"process {process} has ended" in ask.process.stdout.readline()
    assert ask.process.stdout.readline() == "[6, 6, 6] [5, 5, 5] [6, 6, 6]\n"
    assert ask.process.wait(30) == 0


def test_process_that_is_forked_after_that_ends(with_events, reader):
    maker = reader(MAKER)
    ask = reader("""
import os
t = opened()
mine, idle = (sx.full(3, value, "int32", device=t.device) for value in (5, 6))
mine.copy_from(t, wait=False)
print("submitted", flush=True)
input()
print(idle.tolist(), flush=True)
child = os.fork()
if child:
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
try:
    mine.wait()
except sx.SyclError as error:
    print(error, flush=True)
del t, mine, idle
sys.exit(7)
""")
    _, data = maker.process.stdout.readline().split()
    assert ask(data) == "submitted"
    maker.process.kill()
    maker.process.wait()
    assert ask("") == "[6, 6, 6]"
    assert "a copy to this memory has failed" in ask.process.stdout.readline()
    assert ask.process.stdout.readline() == "ended with 7\n"


def test_every_tensor_on_a_queue_tells_of_a_dead_maker(with_events, reader):
    """The queue of a user comes after the event by one tensor, and is waited for by another."""
    maker = reader(MAKER)
    ask = reader("""
import dpctl
t = opened()
queue = dpctl.SyclQueue(t.sycl_context, t.device.sycl_device, property="in_order")
taken = t.__dlpack__(stream=queue)
other = sx.empty(3, "int32", device=queue)
print("ordered", flush=True)
input()
try:
    other.wait()
except sx.SyclError as error:
    print(error, flush=True)
""")
    process, data = maker.process.stdout.readline().split()
    assert ask(data) == "ordered"
    maker.process.kill()
    maker.process.wait()
    assert f"process {process} has ended" in ask("")


def test_death_of_the_first_of_three_is_an_error_of_the_last(with_events, reader):
    """The second process lives, and its event comes after one that never ends."""
    maker = reader(MAKER)
    second = reader("""
t = opened()
mine = sx.ipc.empty(3, "int32", device=t.device)
mine.copy_from(t, wait=False)
handle = sx.ipc.handle(mine)
print(pickle.dumps(handle).hex() if handle.has_event else "waited", flush=True)
input()
""")
    third = reader(WAITS)
    process, data = maker.process.stdout.readline().split()
    assert third(second(data)) == "submitted"
    maker.process.kill()
    assert third.process.stdout.readline() == "waits 1\n"
    assert f"process {process} has ended" in third.process.stdout.readline()


def test_first_of_three_may_end_when_its_work_is_done(with_events, reader):
    """Although the event of the second one, which came after it, is still pending."""
    maker = reader(MAKER)
    second = reader("""
t = opened()
mine, new = sx.ipc.empty(3, "int32", device=t.device), sx.full(3, 5, "int32", device=t.device)
mine.copy_from(t, wait=False)
driver.fakegpu_set_delay_us(20_000_000)
mine[1:].copy_from(new[1:], wait=False)
handle = sx.ipc.handle(mine)
print(pickle.dumps(handle).hex() if handle.has_event else "waited", flush=True)
input()
driver.fakegpu_set_delay_us(0)
mine.wait()
print("done", flush=True)
input()
""")
    third = reader(COPIES)
    _, data = maker.process.stdout.readline().split()
    assert third(second(data)) == "submitted 0"
    print(file=maker.process.stdin, flush=True)
    assert maker.process.wait(30) == 0
    assert second("") == "done"
    assert third("").endswith("[2, 5, 5] 2")


def test_coroutine_does_not_wait_for_a_dead_maker(with_events, reader):
    maker = reader(MAKER)
    ask = reader("""
import asyncio
t = opened()
mine = sx.empty(3, "int32", device=t.device)
copy = mine.copy_from(t, wait=False)
print(copy.done(), flush=True)
input()
print(copy.done())
async def wait():
    await copy
try:
    asyncio.run(wait())
except sx.SyclError as error:
    print(error, flush=True)
""")
    process, data = maker.process.stdout.readline().split()
    assert ask(data) == "False"
    maker.process.kill()
    maker.process.wait()
    assert ask("") == "True"
    assert f"process {process} has ended" in ask.process.stdout.readline()
