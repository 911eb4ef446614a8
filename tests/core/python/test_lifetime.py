# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: views, capsules and consumers that die in any order, anywhere (R5)."""

import contextlib
import gc
import itertools
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import call_deleter, take
from producers import Managed, Producer, over
from samples import bits, values
from sycl_ext import _core

VERSIONED = {"max_version": (1, 0)}


def settle():
    """A thread that has made no tensor leaves its blocks to the one that frees."""
    while _core._test.deferred_frees():
        time.sleep(0.001)


def numbers(nbytes=1000, **where):
    return sx.empty(nbytes, "uint8", **where).copy_from(values(nbytes, "uint8"))


#: Everything that can hold the memory of a tensor.
HOLDERS = {
    "tensor": lambda t: t,
    "view": lambda t: t[::-2],
    "reshaped": lambda t: t.reshape(-1, 2),
    "capsule": lambda t: t.__dlpack__(**VERSIONED),
    "legacy capsule": lambda t: t.__dlpack__(),
    "import of an export": lambda t: sx.from_dlpack(t.__dlpack__(**VERSIONED)),
    "from_dlpack": sx.from_dlpack,
    "host view": sx.host_view,
    "NumPy array": lambda t: t.to_numpy(),
    "NumPy through DLPack": lambda t: np.from_dlpack(sx.host_view(t)),
    "memoryview": memoryview,
    "tensor of an array": lambda t: sx.as_tensor(t.to_numpy()),
    "interface": lambda t: sx.as_tensor(type("X", (), {
        "__sycl_usm_array_interface__": t.__sycl_usm_array_interface__, "keep": t,
    })()),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDERS)
def test_each_holder_alone_keeps_the_memory(name):
    managed = over(numbers(usm_type="shared"))
    holder = HOLDERS[name](sx.from_dlpack(managed.capsule()))
    gc.collect()
    assert managed.deleted == 0
    del holder
    if not managed.deleted:
        gc.collect()
    assert managed.deleted == 1


ORDERS = list(itertools.permutations(["view", "capsule", "host view", "memoryview"]))


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_holders_die_in_any_order(order):
    managed = over(numbers(usm_type="shared"))
    tensor = sx.from_dlpack(managed.capsule())
    holders = {name: HOLDERS[name](tensor) for name in HOLDERS if name != "interface"}
    del tensor
    rest = [name for name in holders if name not in order]
    for name in (*rest, *order):
        assert managed.deleted == 0
        del holders[name]
    assert managed.deleted == 1


def test_what_is_seen_stays_right():
    """After the exporter is gone and its memory would long be somebody else's."""
    views = [HOLDERS[name](numbers()) for name in HOLDERS if "capsule" not in name]
    capsules = [HOLDERS[name](numbers()) for name in HOLDERS if "capsule" in name]
    noise = [sx.empty(1000, "uint8").copy_from(np.full(1000, 0xEE, "uint8")) for _ in range(50)]
    wanted = values(1000, "uint8")
    for capsule in capsules:
        assert bits(sx.from_dlpack(capsule).to_numpy()) == bits(wanted)
    for view in views:
        found = np.asarray(view)
        assert bits(found) in (bits(wanted), bits(wanted[::-2]))
    del noise


def test_a_chain_of_imports():
    managed = over(numbers(usm_type="shared"))
    tensor = sx.from_dlpack(managed.capsule())
    for _ in range(100):
        tensor = sx.from_dlpack(tensor.__dlpack__(**VERSIONED))
        tensor = sx.from_dlpack(sx.host_view(tensor).__dlpack__())
    assert bits(tensor.to_numpy()) == bits(values(1000, "uint8"))
    assert managed.deleted == 0
    del tensor
    assert managed.deleted == 1


@pytest.mark.parametrize("handed_out", [False, True])
def test_what_is_borrowed_goes_back_at_once_where_no_work_is_pending(handed_out):
    memory = numbers(usm_type="shared")
    producer = type("X", (), {})()
    producer.__sycl_usm_array_interface__ = memory.__sycl_usm_array_interface__
    owner = weakref.ref(producer)
    tensor = sx.as_tensor(producer)
    del producer
    if handed_out:
        tensor.sycl_queue.wait()
    del tensor
    assert owner() is None


def test_base():
    array = values(4)
    tensor = sx.as_tensor(array)
    view = tensor[1:]
    assert view.base is array
    assert view[1:].base is view.base
    reference = weakref.ref(array)
    del array, tensor
    assert reference() is not None
    del view
    assert reference() is None


def test_cycles_are_collected():
    class Node:
        pass

    node = Node()
    node.tensor = sx.from_dlpack(over(numbers(usm_type="shared")).capsule())
    node.host = sx.host_view(node.tensor)
    node.itself = node
    reference = weakref.ref(node)
    del node
    gc.collect()
    assert reference() is None


def test_a_pending_exception_survives_the_deleter():
    """Here the deleter is Python code, and it runs while an exception is on its way."""
    for array in (numbers(usm_type="shared"), values(1000, "uint8")):
        managed = over(array)
        with pytest.raises(ZeroDivisionError):
            print(sx.from_dlpack(managed.capsule()), 1 / 0)
        assert managed.deleted == 1
        managed = over(array)  # and a capsule that nobody has consumed
        with pytest.raises(ZeroDivisionError):
            print(sx.dlpack.capsule_from_pointer(managed.address), 1 / 0)
        assert managed.deleted == 1


def test_the_garbage_collector_may_run_at_any_time():
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            tensor = numbers(usm_type="shared")
            again = sx.from_dlpack(Producer(tensor[::2]))
            sx.as_tensor(np.from_dlpack(sx.host_view(again)))
            sx.from_dlpack(over(np.zeros(3)).capsule()).copy()
            with contextlib.suppress(BufferError):
                sx.from_dlpack(Managed(0, (3,)).capsule())
    finally:
        gc.set_threshold(*threshold)


# ---- threads -------------------------------------------------------------------------------------


def in_threads(work, count=8):
    """Run `work` in threads that start together and switch often; raise what they raise."""
    errors, start = [], threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def test_threads_that_exchange():
    live = sx.memory.live_exports()
    shared = numbers(100_000, usm_type="shared")
    wanted = bits(values(100_000, "uint8"))

    def work(number):
        for _ in range(30):
            mine = sx.empty(5000, "uint8").copy_from(np.full(5000, number, "uint8"))
            assert bits(sx.from_dlpack(shared.__dlpack__(**VERSIONED)).to_numpy()) == wanted
            assert bits(shared[::-1].copy()[::-1].to_numpy()) == wanted
            assert np.from_dlpack(sx.host_view(mine)).max() == number
            assert sx.as_tensor(bytes(3)).copy().to_numpy().tolist() == [0, 0, 0]
            with contextlib.suppress(BufferError):
                sx.from_dlpack(shared.__dlpack__(dl_device=(2, 0)))
            assert mine.to_numpy().min() == number

    in_threads(work)
    settle()
    assert sx.memory.live_exports() == live


def test_threads_that_register_one_context():
    import dpctl

    context = dpctl.SyclContext([sx.device().sycl_device])
    entries = len(sx.devices())
    found = []
    in_threads(lambda number: found.append(sx.register_context(context)))
    assert len(set(found)) == 1
    assert len(sx.devices()) == entries + 1


def test_threads_that_drop_the_last_view():
    managed = [over(numbers(usm_type="shared")) for _ in range(400)]
    tensors = [sx.from_dlpack(one.capsule()) for one in managed]

    def work(number):
        for index in range(number, len(tensors), 8):
            tensors[index] = None

    in_threads(work)
    settle()
    assert [one.deleted for one in managed] == [1] * 400


def test_a_deleter_without_the_gil_drops_python_objects():
    """The memory is a NumPy array's; the deleter runs in a thread that has never seen Python."""

    class Array(np.ndarray):
        pass

    arrays = [np.arange(10.0).view(Array) for _ in range(50)]
    alive = [weakref.ref(array) for array in arrays]
    owned = [take(sx.host_view(array).__dlpack__()) for array in arrays]
    del arrays
    assert all(reference() is not None for reference in alive)
    in_threads(
        lambda number: [
            call_deleter(address, versioned=versioned) for address, versioned in owned[number::8]
        ]
    )
    settle()
    gc.collect()
    assert all(reference() is None for reference in alive)


# ---- the end -------------------------------------------------------------------------------------


def test_other_threads_run_while_a_large_block_is_dropped():
    """Without a release of the GIL in there, no other thread gets it: the interval is hours."""
    ticks, is_over = 0, False

    def tick():
        nonlocal ticks
        while not is_over:
            ticks += 1
            time.sleep(0)  # lets the GIL go

    def ticks_in_a_drop():
        memory = [sx.host_view(np.zeros(1 << 29, "uint8"), copy=True)]  # not USM: freed right there
        before = ticks
        memory.clear()
        return ticks - before

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    thread.start()
    try:
        sys.setswitchinterval(3600)
        assert any(ticks_in_a_drop() for _ in range(5))
    finally:
        sys.setswitchinterval(interval)
        is_over = True
        thread.join()


def test_the_end_of_the_process():
    """With everything alive, in globals, cycles, threads and other libraries."""
    output = environments.python("""
import atexit, sys, threading
import dpctl.memory, dpnp, numpy as np, torch
import sycl_ext as sx

t = sx.zeros(1000, usm_type="shared")
capsules = [t.__dlpack__(), t.__dlpack__(max_version=(1, 0))]
host = sx.host_view(t)
copied = sx.host_view(t[::-1])
arrays = [np.from_dlpack(host), torch.from_dlpack(host), dpnp.from_dlpack(t), t.to_numpy()]
back = [sx.from_dlpack(a) for a in arrays] + [sx.as_tensor(dpctl.memory.MemoryUSMShared(8))]
buffers = [memoryview(t), memoryview(host)]
class Node: pass
node = Node(); node.node = node; node.t = t; node.host = sx.host_view(np.zeros(3))
sys.keep = [t[1:], sx.device(), sx.device().sycl_queue]
atexit.register(lambda: print(sx.zeros(3).to_numpy().sum(), flush=True))
threading.Thread(target=lambda: threading.Event().wait(60), daemon=True).start()
""")
    assert output == "0.0\n"


def test_the_end_of_a_process_that_cleared_its_modules():
    environments.python("""
import sys
import numpy as np
import sycl_ext as sx

class Late:
    def __init__(self):
        self.tensor = sx.zeros(3, usm_type="shared")
        self.view = sx.as_tensor(np.zeros(3))
        self.make = sx.host_view
    def __del__(self):
        try:
            self.make(self.tensor).__dlpack__()
            self.view.to_numpy()
        except BaseException as error:
            print(type(error).__name__)

sys.late = Late()
late = Late()
late.itself = late
""")


#: Ways to hand a view of a tensor to another library and back: each of them
#: holds the one before it, by way of the other library's object.
LINKS = {
    "to_numpy": "sx.as_tensor(t.to_numpy())",
    "memoryview": "sx.as_tensor(memoryview(t))",
    "a host view of a memoryview": "sx.host_view(memoryview(t))",
    "numpy.frombuffer": "sx.as_tensor(np.frombuffer(t, dtype='uint8'))",
    "numpy.from_dlpack": "sx.from_dlpack(np.from_dlpack(sx.host_view(t)))",
    "numpy.from_dlpack and as_tensor": "sx.as_tensor(np.from_dlpack(sx.host_view(t)))",
    "a host view of numpy.from_dlpack": "sx.host_view(np.from_dlpack(sx.host_view(t)))",
    "dpctl.memory": "sx.as_tensor(dpctl.memory.as_usm_memory(t))",
    "a class": "sx.as_tensor(Described(t))",
    "a producer": "sx.from_dlpack(Producer(t))",
}


@pytest.mark.parametrize("link", LINKS)
def test_a_chain_through_another_library_ends(link):
    """Its links let each other go, thousands of them, on a stack that holds a few hundred."""
    environments.python(f"""
import dpctl.memory, numpy as np, sycl_ext as sx, threading, time
from sycl_ext import _core

class Described:
    def __init__(self, tensor):
        self.tensor = tensor
        self.__sycl_usm_array_interface__ = tensor.__sycl_usm_array_interface__

class Producer:
    def __init__(self, tensor):
        self.tensor = tensor
        self.__dlpack_device__ = tensor.__dlpack_device__
        self.__dlpack__ = tensor.__dlpack__

def run():
    t = sx.zeros(20_000, "uint8", usm_type="shared")
    for _ in range(5000):
        t = {LINKS[link]}
    del t

before = sx.memory.live_exports(), _core._test.live_allocations()
threading.stack_size(256 << 10)
thread = threading.Thread(target=run)
thread.start()
thread.join()
while _core._test.deferred_frees():
    time.sleep(0.01)
assert (sx.memory.live_exports(), _core._test.live_allocations()) == before
""")


# ---- objects that stand for others ---------------------------------------------------------------


def described(tensor):
    """An object that nothing but its description speaks for."""

    class Described:
        __sycl_usm_array_interface__ = tensor.__sycl_usm_array_interface__
        memory = tensor

    return Described()


#: The objects behind a weakref.proxy.
WEAK = {
    "a tensor": lambda: numbers(usm_type="shared"),
    "a host view": lambda: sx.host_view(numbers()),
    "a NumPy array": lambda: values(1000, "uint8"),
    "a producer": lambda: Producer(numbers(usm_type="shared")),
    "a description": lambda: described(numbers(usm_type="shared")),
}

#: The functions that take it.
TAKERS = {
    "from_dlpack": sx.from_dlpack,
    "from_dlpack on a device": lambda x: sx.from_dlpack(x, device=0, copy=True),
    "as_tensor": sx.as_tensor,
    "as_tensor on a device": lambda x: sx.as_tensor(x, device=0),
    "host_view": sx.host_view,
    "host_view, copied": lambda x: sx.host_view(x, copy=True),
    "exchange": lambda x: sx.exchange(x, np),
    "exchange with a device": lambda x: sx.exchange(x, sx.device()),
    "copy_from": lambda x: sx.empty(1000, "uint8").copy_from(x),
}


@pytest.mark.parametrize(
    ("what", "taker"),
    [
        (what, taker)
        for what, taker in itertools.product(WEAK, TAKERS)
        if not (what == "a description" and taker.startswith("from_dlpack"))  # it is not a producer
    ],
)
def test_a_view_of_a_weak_proxy_keeps_the_object(what, taker):
    thing = WEAK[what]()
    found = TAKERS[taker](weakref.proxy(thing))
    del thing
    noise = [sx.empty(1000, "uint8").copy_from(np.full(1000, 0xEE, "uint8")) for _ in range(50)]
    assert bits(np.asarray(found)) == bits(values(1000, "uint8"))
    del noise


def test_a_proxy_of_what_is_gone():
    proxy = weakref.proxy(numbers())
    for call in (sx.from_dlpack, sx.as_tensor, sx.host_view, sx.explain):
        with pytest.raises(ReferenceError):
            call(proxy)


def test_other_proxies_of_tensors():
    """They say that they are tensors, and the core knows better."""

    class Proxy:
        def __init__(self, thing):
            self.thing = thing

        def __getattr__(self, name):
            return getattr(self.thing, name)

        __class__ = property(lambda self: type(self.thing))

    for call in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        found = call(Proxy(numbers(usm_type="shared")))
        assert bits(np.asarray(found)) == bits(values(1000, "uint8"))


# ---- refused objects -----------------------------------------------------------------------------


class Refusing:
    """A producer that refuses a view, and a copy too unless it `copies` to the host."""

    def __init__(self, device, copies):
        self.device, self.copies, self.error = device, copies, None

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.copies and dl_device == (1, 0):
            return numbers(usm_type="host").__dlpack__(dl_device=dl_device, **VERSIONED)
        raise self.error or BufferError("not like this")


ASKING = {
    "from_dlpack": sx.from_dlpack,
    "from_dlpack, a copy": lambda x: sx.from_dlpack(x, copy=True),
    "from_dlpack, a view": lambda x: sx.from_dlpack(x, copy=False),
    "from_dlpack, a device": lambda x: sx.from_dlpack(x, device=sx.device()),
    "from_dlpack, devices": lambda x: sx.from_dlpack(x, device=[sx.device(), sx.device()]),
    "as_tensor": sx.as_tensor,
    "host_view": sx.host_view,
    "exchange": lambda x: sx.exchange(x, np),
    "explain": lambda x: sx.explain(x, np),
    "copy_from": lambda x: numbers().copy_from(x),
}


@contextlib.contextmanager
def no_collector():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("copies", [False, True], ids=["refuses", "copies"])
@pytest.mark.parametrize("device", [(1, 0), (2, 0), (14, 0)])
@pytest.mark.parametrize("name", ASKING)
def test_a_refused_producer_is_not_left_to_the_collector(name, device, copies):
    producer = Refusing(device, copies)
    gone = weakref.ref(producer)
    with no_collector():
        with contextlib.suppress(BufferError):
            ASKING[name](producer)
        del producer
        assert gone() is None


class WatchedError(BufferError):
    """An exception that can be watched."""


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (14, 0)])
@pytest.mark.parametrize("name", ASKING)
def test_a_refusal_that_is_raised_twice_is_not_left_to_the_collector(name, device):
    """As by a producer that asks a Future for its result."""
    producer = Refusing(device, False)
    producer.error = WatchedError("not like this")
    gone = weakref.ref(producer.error)
    with no_collector():
        with contextlib.suppress(BufferError):
            ASKING[name](producer)
        producer.error = None
        assert gone() is None


@pytest.mark.parametrize("forms", [0, 1], ids=["refuses", "takes the second form"])
def test_what_a_consumer_refused_is_not_left_to_the_collector(forms):
    calls = []

    def consumer(x):
        calls.append(None)
        if len(calls) <= forms or not forms:
            raise BufferError("not like this")

    tensor = numbers()
    gone = weakref.ref(tensor)
    with no_collector():
        with contextlib.suppress(BufferError):
            sx.exchange(tensor, consumer)
        del tensor
        assert gone() is None
    assert len(calls) > 1
