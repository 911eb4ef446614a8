# SPDX-License-Identifier: Apache-2.0
"""Events between processes: the work of one comes after that of another, and no host waits.

The driver of each process holds its own commands, so a command that runs although the other process
is held would read what is not written yet.
"""

import os
import pickle

import sycl_ext as sx
from readers import COPIES, MAKER, numbers, sent

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
