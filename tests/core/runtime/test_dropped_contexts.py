# SPDX-License-Identifier: Apache-2.0
"""Private contexts that nobody uses any more: not asked, nothing kept, and there when wanted."""

import ctypes
import json

import dpctl
import dpctl.memory
import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext import _core
from waiting import eventually

QUESTION = "<--- urUSMGetMemAllocInfo("


def new_context():
    return dpctl.SyclContext([sx.device().sycl_device])


def use(device):
    """Use an entry in every way that gives the context away for a while.

    Its queue is dpctl's, which keeps a queue, and so its context, for ever.
    """
    for usm_type in device.usm_types[:3]:
        tensor = sx.zeros(1000, "uint8", usm_type=usm_type, device=device)
        sx.empty(1000, "uint8", usm_type=usm_type, device=device).copy_from(tensor)
        assert tensor.sycl_context == device.sycl_context
        sx.from_dlpack(tensor, copy=True)


def questions(code):
    """How often the runtime is asked for a pointer, between two marks."""
    trace = environments.python(
        "import dpctl, dpctl.memory, numpy as np, sycl_ext as sx, time\n"
        "from sycl_ext import _core\n"
        "from test_dropped_contexts import new_context, use\n" + code,
        {**environments.cpu(), "SYCL_UR_TRACE": "2"},
        near=__file__,
    )
    return trace.split("@start@")[1].split("@finish@")[0].count(QUESTION)


FREED = """
while _core.deferred_frees():
    time.sleep(0.01)
"""
IMPORT = """
print("@start@", flush=True)
assert sx.from_dlpack(np.zeros(1 << 20, "uint8")).usm_type == "system"
print("@finish@", flush=True)
"""


@pytest.mark.parametrize(
    "register",
    [
        "sx.register_context(new_context())",
        "sx.register_context(dpctl.SyclQueue(new_context(), sx.device().sycl_device))",
        "use(sx.register_context(new_context()))",
        "sx.as_tensor(dpctl.memory.MemoryUSMShared(64, queue=dpctl.SyclQueue("
        "new_context(), sx.device().sycl_device)))",
    ],
)
def test_dropped_contexts_are_not_asked(register):
    none = questions(IMPORT)
    assert none < 10
    # A thread in the background may still hold one of them for a moment.
    program = f"for _ in range(300): {register}\n" + FREED + IMPORT
    assert any(questions(program) == none for _ in range(5))


def test_contexts_in_use_are_asked():
    """Whatever keeps them: the context, a queue, memory."""
    program = """
import json
import dpctl, dpctl.memory, numpy as np, sycl_ext as sx
from test_dropped_contexts import new_context, use

kept, blocks = [], []
for number in range(60):
    context = new_context()
    device = sx.register_context(context)
    if number % 2: use(device)
    queue = dpctl.SyclQueue(context, device.sycl_device)
    if number % 3:
        blocks.append((device.id, dpctl.memory.MemoryUSMShared(1 << 16, queue=queue)))
    elif number % 4:
        blocks.append((device.id, dpctl.memory.MemoryUSMShared(1 << 16, queue=device.sycl_queue)))
    del context, queue
assert sx.from_dlpack(np.zeros(1 << 20, "uint8")).usm_type == "system"  # looks at them all
print(json.dumps([sx.from_dlpack(sx.host_view(np.asarray(block))).device.id == number
                  for number, block in blocks]))
"""
    found = environments.python(program, near=__file__)
    answers = json.loads(found.splitlines()[-1])
    assert len(answers) > 40
    assert all(answers)


def kept_by(devices):
    return sum(n for (device, _), n in sx.memory.cached().items() if device in devices)


NEVER_SEEN = iter(np.zeros((1 << 14, 4096), "uint8"))  # not a byte of it is touched


def is_dropped(*devices):
    """Look again: dpctl's thread lets go of commands some time after them.

    All contexts are looked at when it is asked for the first time whose an address is.
    """
    assert sx.from_dlpack(next(NEVER_SEEN)).usm_type == "system"
    return kept_by(devices) == 0


def test_what_dropped_contexts_keep_is_bounded():
    sx.memory.release_cached()
    devices = []
    for _ in range(200):
        devices.append(sx.register_context(new_context()))
        use(devices[-1])
    assert eventually(lambda: not _core.deferred_frees())
    least = kept_by([devices[-1]])
    assert least > 0
    # Which are dropped is looked at when their number has doubled.
    assert eventually(lambda: kept_by(devices) <= 40 * least)
    assert eventually(lambda: is_dropped(*devices))


def test_a_dropped_context_is_there_when_it_is_wanted():
    device = sx.register_context(new_context())
    use(device)
    for way in range(3):
        assert eventually(lambda: is_dropped(device))
        assert sx.device(device.id) is device
        context = device.sycl_context  # gets it back into use
        if way == 0:
            assert sx.register_context(context) is device
            array = np.asarray(sx.empty(1 << 16, "uint8", usm_type="shared", device=device))
        else:
            queue = dpctl.SyclQueue(context, sx.device().sycl_device)
            kind = dpctl.memory.MemoryUSMShared if way == 1 else dpctl.memory.MemoryUSMHost
            array = np.asarray(kind(1 << 16, queue=queue))
            del queue
        del context
        assert sx.from_dlpack(np.zeros(1 << 20, "uint8")).usm_type == "system"
        assert sx.as_tensor(array).device is device
        del array


def test_a_block_that_outlives_its_context():
    """What is freed after its context was dropped does not stay in the pools of the context."""
    sx.memory.release_cached()
    devices = [sx.register_context(new_context()) for _ in range(20)]
    tensors = [sx.empty(1000, "uint8", device=device) for device in devices]
    assert is_dropped(*devices)  # nothing but the tensors holds the contexts
    del tensors
    assert kept_by(devices) > 0
    assert eventually(lambda: is_dropped(*devices))


def test_an_address_of_a_context_has_no_reference():
    """An extension has it from the C table, for ever."""
    device = sx.register_context(new_context())
    sx.empty(1000, device=device)
    assert eventually(lambda: is_dropped(device))
    address = ctypes.c_void_p(device._entry.context_address)
    is_dropped(device)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    context = dpctl.SyclContext(new(address, b"SyclContextRef", None))
    queue = dpctl.SyclQueue(context, sx.device().sycl_device)
    array = np.asarray(dpctl.memory.MemoryUSMShared(1 << 16, queue=queue))
    assert sx.as_tensor(array).device is device


def test_what_has_no_reference_is_in_use():
    """The address of the queue that the C exchange table hands out is valid for ever."""
    device = sx.register_context(new_context())
    _core.entry(device.id).queue().share()
    queue = dpctl.SyclQueue(device.sycl_queue._get_capsule())
    array = np.asarray(dpctl.memory.MemoryUSMShared(1 << 16, queue=queue))
    del queue
    assert sx.from_dlpack(np.zeros(1 << 20, "uint8")).usm_type == "system"
    assert sx.as_tensor(array).device is device


def test_a_child_of_a_fork_is_not_hung_by_a_lock_of_the_parent():
    """Threads register contexts and allocate in them while the process forks.

    The child does what takes our locks and not the runtime's, which it cannot mend.
    """
    program = """
import os, signal, sys, threading
import sycl_ext as sx
from test_dropped_contexts import new_context

sys.setswitchinterval(1e-5)
stop = threading.Event()
context = new_context()
device = sx.register_context(context)

def hold(device, count):
    return [sx.empty(64, "uint8", usm_type="shared", device=device) for _ in range(count)]

def work():
    mine = sx.register_context(new_context())
    while not stop.is_set():
        hold(mine, 50)

def register():
    while not stop.is_set():
        sx.register_context(new_context())

threads = [threading.Thread(target=one) for one in (work, work, register)]
for thread in threads: thread.start()
hung = 0
for _ in range(100):
    hold(device, 5)  # from the pool, in the child
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        hold(device, 5)
        sx.register_context(context)
        os._exit(0)
    hung += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads: thread.join()
print(hung)
"""
    found = environments.python(program, near=__file__)
    assert int(found.splitlines()[-1]) == 0
