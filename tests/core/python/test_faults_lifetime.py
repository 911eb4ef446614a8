# SPDX-License-Identifier: Apache-2.0
"""The ends of things that a process of its own has to show: exit, interpreters, memory."""

from __future__ import annotations

import os

import pytest

import environments

SOAK = os.environ.get("SYCL_EXT_SOAK") == "1"  # make soak

# ---- constant memory -----------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_million_exchanges_need_no_memory():
    """Of every kind, mixed; the resident set stays where it was after the first of them."""
    rounds = 10 if SOAK else 1
    output = environments.python(
        f"ROUNDS = {rounds}"
        + """
import gc, os, time
import numpy as np
import sycl_ext as sx
from producers import Managed, over
from sycl_ext import _core

PAGE = os.sysconf("SC_PAGE_SIZE")

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE

array = np.arange(1000.0)
tensor = sx.zeros(1000, usm_type="shared")
view = sx.host_view(tensor)

def refused():
    try:
        tensor.__dlpack__(dl_device=(2, 0))
    except BufferError:
        pass

KINDS = {
    "from a NumPy array": (lambda: sx.from_dlpack(array), 200_000),
    "a capsule, dropped": (lambda: tensor.__dlpack__(), 200_000),
    "a capsule, consumed": (lambda: sx.from_dlpack(tensor.__dlpack__(max_version=(1, 3))), 200_000),
    "to NumPy": (lambda: np.from_dlpack(view), 150_000),
    "a view": (lambda: tensor[::2], 50_000),
    "a new tensor": (lambda: sx.empty(100), 100_000),
    "a copy": (lambda: tensor.to_numpy(copy=True), 50_000),
    "a host copy, exported": (lambda: np.from_dlpack(sx.host_view(tensor, copy=True)), 20_000),
    "a buffer": (lambda: sx.as_tensor(memoryview(tensor)), 10_000),
    "a described block": (lambda: sx.as_tensor(tensor), 10_000),
    "a refusal": (refused, 10_000),
}
assert sum(count for _, count in KINDS.values()) == 1_000_000
for work, count in KINDS.values():
    for _ in range(count // 10):
        work()
before = resident()
exports, blocks = sx.memory.live_exports(), _core._test.live_allocations()
for _ in range(ROUNDS):
    for work, count in KINDS.values():
        for _ in range(count):
            work()
gc.collect()
assert (sx.memory.live_exports(), _core._test.live_allocations()) == (exports, blocks)
print(resident() - before)
"""
    )
    assert int(output) < 4 << 20, f"{output} bytes more"


def test_view_without_memory_leaks_nothing():
    """The layout of more than four axes has memory of its own, and fails after the instance."""
    output = environments.python("""
import ctypes, resource, sys
import sycl_ext as sx

tensor = sx.zeros((1,) * 5)
malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", ctypes.CDLL(None)))
[object() for _ in range(10_000)]  # memory for Python
resource.setrlimit(resource.RLIMIT_AS, (0, resource.RLIM_INFINITY))
while malloc(80):
    pass
before = sys.getrefcount(sx.Tensor)
try:
    sx.from_dlpack(tensor)
except MemoryError as error:
    print(error, sys.getrefcount(sx.Tensor) - before)
""")
    assert output == "out of memory 0\n"


# ---- the end of the process ----------------------------------------------------------------------


def test_deleters_run_after_the_interpreter_is_gone():
    """The C library calls them, when nothing of Python is left."""
    environments.python("""
import ctypes
import numpy as np
import sycl_ext as sx
from dlpack_conformance.structs import STRUCTS, take

libc = ctypes.CDLL(None)
tensors = [sx.zeros(1000), sx.host_view(np.zeros(1000)), sx.host_view(sx.zeros(9), copy=True)]
for tensor in tensors:
    for version in (None, (1, 0)):
        address, versioned = take(tensor.__dlpack__(max_version=version))
        deleter = STRUCTS[versioned].from_address(address).deleter
        libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)
""")


def test_deleter_of_other_code_runs_with_the_gil_on_the_thread_that_frees():
    """torch's takes the GIL in a noexcept destructor, which ends a process that is ending."""
    environments.python(
        """
import dpctl, threading
import sycl_ext as sx
from extensions import labs
from producers import over
from sycl_ext import _core
from waiting import eventually

class Blocks:
    def __del__(self):
        gate.wait()

class Producer:
    def __init__(self, tensor):
        self.sycl_queue = tensor.sycl_queue
        self.managed = over(tensor)
        self.managed._struct.deleter = lab.address()
    def __dlpack_device__(self):
        return block.__dlpack_device__()
    def __dlpack__(self, **_):
        return self.managed.capsule()

lab = labs.load("deleter_lab")
gate = threading.Event()
device = sx.device()
queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
block = sx.zeros(100, device=queue)
view = sx.from_dlpack(Producer(block))
queue._submit_keep_args_alive((Blocks(),), [])
sx.empty(100, usm_type="host").copy_from(view, wait=False)
del view
frees, noted = _core._test.deferred_frees(), lab.noted()  # of the view, and soon of the copy
gate.set()
assert frees >= 1 and noted == (0, 0), (frees, noted)
assert eventually(lambda: not _core._test.deferred_frees())
assert lab.noted() == (1, 1)
queue.wait()
"""
    )


@pytest.mark.parametrize(
    "release",
    [
        "lab.delete_in_thread(address)",
        "threading.Thread(target=lab.delete_under_lock, args=(address,)).start(); lab.take_lock()",
    ],
    ids=["in a thread of C", "under a lock of C"],
)
@pytest.mark.parametrize("memory", ["bytearray(9)", "np.zeros(9)"], ids=["buffer", "DLPack"])
def test_memory_of_others_dropped_without_the_gil_waits_for_no_gil(memory, release):
    """A thread of the runtime drops it, and a thread with the GIL waits for that one."""
    environments.python(
        f"""
import faulthandler, sys, threading
import numpy as np
import sycl_ext as sx
from dlpack_conformance.structs import take
from extensions import labs
from waiting import PATIENCE, eventually

memory = {memory}
lab = labs.load("deleter_lab")
faulthandler.dump_traceback_later(PATIENCE, exit=True)
live = sx.memory.live_exports()
address, _ = take(sx.host_view(memory).__dlpack__(max_version=(1, 0)))
references = sys.getrefcount(memory)
{release}
assert sx.memory.live_exports() == live
assert eventually(lambda: sys.getrefcount(memory) < references)
"""
    )


def test_capsules_die_with_the_interpreter():
    """In the globals of modules, in frames of daemon threads, and in a cycle with `__del__`."""
    environments.python("""
import sys, threading, time
import numpy as np
import sycl_ext as sx

tensor = sx.zeros(1000, usm_type="shared")
kept = [tensor.__dlpack__(), np.from_dlpack(sx.host_view(tensor)), memoryview(tensor)]
sys.modules["kept"] = kept

class Late:
    def __init__(self):
        self.itself, self.capsule = self, tensor.__dlpack__(max_version=(1, 0))
    def __del__(self):
        self.capsule = None

late = Late()

def daemon():
    capsule = sx.zeros(10).__dlpack__()
    while True:
        sx.from_dlpack(np.zeros(3)).copy()

for _ in range(3):
    threading.Thread(target=daemon, daemon=True).start()
time.sleep(0.2)
""")


def test_daemon_thread_that_ends_in_a_call_drops_nothing():
    """Its stack is unwound without the GIL: what we hold there must not be dropped."""
    environments.python("""
import sys, threading, time
import numpy as np
import sycl_ext as sx

class Number(int):
    def __del__(self):
        [0] * 3

class Sleepy:
    array = np.zeros(3)
    def __dlpack_device__(self):
        return Number(1), Number(0)
    def __dlpack__(self, sleep=time.sleep, **keywords):
        sleep(0.3)
        return self.array.__dlpack__(**keywords)

class AtEnd:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

for _ in range(3):
    threading.Thread(target=sx.from_dlpack, args=(Sleepy(),), daemon=True).start()
time.sleep(0.1)
sys.at_end = AtEnd()
""")


def test_garbage_collector_may_run_in_each_call():
    """Cycles die at each allocation of Python, and so in the middle of everything."""
    environments.python("""
import gc
import numpy as np
import sycl_ext as sx
import ways
from producers import Producer

array = np.arange(24)
tensor = sx.as_tensor(array, copy=True)

class Cycle:
    def __init__(self):
        self.itself = self
        self.held = (tensor.__dlpack__(), sx.host_view(tensor), tensor[1:], sx.zeros(3))

OTHERS = {ways.Tag.DPNP, ways.Tag.TORCH, ways.Tag.TVM_FFI}
CALLS = [
    lambda way=way: way.call(tensor)
    for way in ways.select(without=OTHERS).values()
    if way.gives != ways.WRITES and way.takes(tensor)
]
CALLS += [lambda: sx.from_dlpack(Producer(array)), lambda: tensor.copy_from(array[:1])]
live = sx.memory.live_exports()
gc.set_threshold(1)
for _ in range(2):
    for call in CALLS:
        Cycle()
        call()
gc.collect()
assert sx.memory.live_exports() == live
""")


# ---- interpreters --------------------------------------------------------------------------------


def test_sub_interpreters_are_refused():
    """The core would hang there; the first use says so, and the main interpreter goes on."""
    output = environments.python("""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import pickle
import sycl_ext as sx

other = interpreters.create()
script = f"pickled = {pickle.dumps(sx.zeros(3))}" + '''
import pickle, sycl_ext
for use in (lambda: sycl_ext.zeros, lambda: pickle.loads(pickled)):
    try:
        use()
    except ImportError as error:
        assert "sub-interpreters" in str(error), error
    else:
        raise AssertionError("loaded")
'''
failure = interpreters.run_string(other, script)
assert failure is None, failure
interpreters.destroy(other)
print(sx.zeros(3).to_numpy().sum())
""")
    assert output == "0.0\n"


@pytest.mark.parametrize("is_loaded", [False, True], ids=["first", "after the main interpreter"])
def test_sub_interpreters_are_refused_by_the_core(is_loaded):
    """Its import by name, which asks nobody before; pybind11 waited for the GIL for ever."""
    output = environments.python(f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import sycl_ext as sx

if {is_loaded}:
    sx.zeros(3)
script = '''
import importlib.util
def made():
    return importlib.util.module_from_spec(importlib.util.find_spec("sycl_ext._core"))
def imported():
    import sycl_ext._core
# Python refuses before the core can where an interpreter has a GIL of its own.
reasons = ("does not support sub-interpreters", "does not support loading in subinterpreters")
for load in 2 * (imported, made):
    try:
        load()
    except ImportError as error:
        assert any(reason in str(error) for reason in reasons), error
    else:
        raise AssertionError("loaded")
'''
other = interpreters.create()
failure = interpreters.run_string(other, script)
assert failure is None, failure
interpreters.destroy(other)
print(sx.zeros(3).to_numpy().sum())
""")
    assert output == "0.0\n"


# ---- threads -------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_threads_mix_exchanges():
    """Eight threads, each with everything."""
    rounds = 100_000 if SOAK else 2000
    environments.python(
        f"rounds = {rounds}"
        + """
import gc, sys, threading, time
import numpy as np
import sycl_ext as sx
from sycl_ext import _core

shared = sx.as_tensor(np.arange(500, dtype="int64"), copy=True)
view = sx.host_view(shared)
errors = []
gc.collect()
before = sx.memory.live_exports(), _core._test.live_allocations()

def work(number):
    try:
        for i in range(rounds):
            match (i + number) % 8:
                case 0:
                    assert sx.from_dlpack(shared.__dlpack__()).ptr == shared.ptr
                case 1:
                    assert np.from_dlpack(view)[499] == 499
                case 2:
                    assert shared[::-1].copy().to_numpy()[0] == 499
                case 3:
                    assert sx.zeros(number + 1, usm_type="host").to_numpy().sum() == 0
                case 4:
                    assert memoryview(shared).nbytes == 4000
                case 5:
                    try:
                        shared.__dlpack__(dl_device=(2, 0))
                    except BufferError:
                        pass
                case 6:
                    assert sx.from_dlpack(np.arange(4)).shape == (4,)
                case 7:
                    shared.T.reshape(5, 100).as_readonly().__dlpack__(max_version=(1, 0))
    except BaseException as error:
        errors.append(repr(error))

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors[:3]
gc.collect()
assert (sx.memory.live_exports(), _core._test.live_allocations()) == before
"""
    )
