# SPDX-License-Identifier: Apache-2.0
"""Events between processes that never end: of a process that is killed, or that cannot be made."""

import contextlib
import os
import pickle
import signal

import pytest

import sycl_ext as sx
from readers import MAKER, WAITS, numbers
from sycl_ext._ipc.events import ordered
from sycl_ext._ipc.shared_memory import make_block


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
