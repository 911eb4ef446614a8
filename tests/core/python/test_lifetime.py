# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: views, capsules and consumers that die in any order, anywhere (R5)."""

import contextlib
import gc
import itertools
import sys
import threading
import time
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import environments
import sycl_ext as sx
import ways
from dlpack_conformance.structs import call_deleter, take
from needs import needs
from producers import Producer, over
from samples import bits, values
from waiting import eventually
from ways import Tag

VERSIONED = {"max_version": (1, 0)}


def numbers(nbytes=1000, **where):
    return sx.empty(nbytes, "uint8", **where).copy_from(values(nbytes, "uint8"))


#: Every view that holds the memory of a tensor, in its place.
HOLDERS = {
    name: way
    for name, way in ways.select(ways.VIEW, ways.HOST, holds=True, dtype="int64").items()
    if not {Tag.EXCHANGE, Tag.DPNP} <= way.tags
}


def managed_tensor():
    """A tensor of somebody else, who counts when it was given back."""
    managed = over(numbers(1000, usm_type="shared"))
    return managed, sx.from_dlpack(managed.capsule())


@pytest.mark.parametrize("name", HOLDERS)
def test_holder_keeps_the_memory(name):
    managed, tensor = managed_tensor()
    if not HOLDERS[name].takes(tensor):
        return
    holder = HOLDERS[name].call(tensor)
    del tensor
    gc.collect()
    assert managed.deleted == 0
    del holder
    assert eventually(lambda: managed.deleted == 1)


ORDERS = ("Tensor.__getitem__", "Tensor.__dlpack__", "host_view", "Tensor.__buffer__")


@pytest.mark.parametrize("order", list(itertools.permutations(ORDERS)), ids=", ".join)
def test_holders_die_in_any_order(order):
    managed, tensor = managed_tensor()
    holders = {name: HOLDERS[name].call(tensor) for name in order}
    del tensor
    for name in order:
        assert managed.deleted == 0
        del holders[name]
    assert managed.deleted == 1


def test_views_stay_right_after_the_exporter_is_gone():
    """After the exporter is gone and its memory would long be somebody else's."""
    views = [
        (way, way.call(numbers()))
        for way in HOLDERS.values()
        if way.takes(numbers()) and (numbers().host_accessible or not way.host)
    ]
    noise = [sx.empty(1000, "uint8").copy_from(np.full(1000, 0xEE, "uint8")) for _ in range(50)]
    for way, view in views:
        assert bits(ways.content(view)) == bits(way.like(values(1000, "uint8")))
    del noise


@pytest.mark.parametrize("handed_out", [False, True])
def test_borrowed_memory_is_returned_at_once_unless_other_code_had_it(handed_out):
    """What other code had is returned by the thread that frees, which asks the queues."""
    memory = numbers(usm_type="shared")
    producer = type("X", (), {})()
    producer.__sycl_usm_array_interface__ = memory.__sycl_usm_array_interface__
    owner = weakref.ref(producer)
    tensor = sx.as_tensor(producer)
    del producer
    if handed_out:
        tensor.sycl_queue.wait()
    del tensor
    if handed_out:
        assert eventually(lambda: owner() is None)
    assert owner() is None


@needs("system_usm")
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


def test_pending_exception_survives_the_deleter():
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


# ---- threads -------------------------------------------------------------------------------------


def in_threads(work, count=8):
    """Run `work` in threads that start together and switch often; raise what they raise."""
    interval, start = sys.getswitchinterval(), threading.Barrier(count)

    def run(number):
        start.wait()
        work(number)

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(run, range(count)))
    finally:
        sys.setswitchinterval(interval)


def test_threads_that_drop_the_last_view():
    """Of 400 tensors, so that eight threads drop fifty each at the same time."""
    managed = [over(numbers(usm_type="shared")) for _ in range(400)]
    tensors = [sx.from_dlpack(producer.capsule()) for producer in managed]

    def work(number):
        for index in range(number, len(tensors), 8):
            tensors[index] = None

    in_threads(work)
    assert [producer.deleted for producer in managed] == [1] * 400


def test_deleter_without_the_gil_drops_python_objects():
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
    assert eventually(lambda: all(reference() is None for reference in alive))


# ---- the end -------------------------------------------------------------------------------------


def test_drop_of_a_large_block_lets_threads_run():
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


def test_process_ends_cleanly_with_exports_alive():
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


#: Ways to make a view of a view, by another library's object or by none.
LINKS = {
    "to_numpy": "sx.as_tensor(t.to_numpy())",
    "memoryview": "sx.as_tensor(memoryview(t))",
    "a host view of a memoryview": "sx.host_view(memoryview(t))",
    "numpy.frombuffer": "sx.as_tensor(np.frombuffer(t, dtype='uint8'))",
    "numpy.from_dlpack": "sx.from_dlpack(np.from_dlpack(sx.host_view(t)))",
    "numpy.from_dlpack and as_tensor": "sx.as_tensor(np.from_dlpack(sx.host_view(t)))",
    "a host view of numpy.from_dlpack": "sx.host_view(np.from_dlpack(sx.host_view(t)))",
    "dpctl.memory": "sx.as_tensor(dpctl.memory.as_usm_memory(t))",
    "a class": "sx.as_tensor(Described(t.__sycl_usm_array_interface__, t))",
    "a producer": "sx.from_dlpack(HandedOn(t))",
    "host_view": "sx.host_view(t)",
    "host_view without a copy": "sx.host_view(t, copy=False)",
    "there and back": "sx.host_view(sx.as_tensor(t))",
    "as_tensor on a device": "sx.as_tensor(sx.host_view(t), device=device)",
    "as_tensor on another device": "sx.as_tensor(sx.host_view(t), device=devices[i % 2])",
    "from_dlpack": "sx.from_dlpack(sx.host_view(t), copy=False)",
    "from_dlpack of a tensor": "sx.from_dlpack(sx.from_dlpack(t), copy=False)",
    "a host capsule": "sx.host_view(t.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))",
}


def test_drop_of_a_long_chain_of_views_needs_little_stack():
    """Its links let each other go, thousands of them, on a stack that holds a few hundred."""
    environments.python(f"""
import dpctl.memory, numpy as np, sycl_ext as sx, threading, time
from sycl_ext import _core
from ways import Described
from ways.parts import HandedOn

device = sx.device()
devices = device, device.create_sub_devices([1, 1])[0]

def run(link, of_tensors):
    tensor = sx.zeros(20_000, "uint8", usm_type="shared")
    hosts = sx.as_tensor(bytearray(3)), sx.host_view(bytearray(3)), sx.host_view(tensor[::-1])
    starts = [tensor] if of_tensors else [tensor, *hosts]
    del tensor, hosts
    while starts:
        t = starts.pop()
        for i in range(5000):
            t = eval(link)
        del t

code = {{name: compile(link, name, "eval") for name, link in {LINKS!r}.items()}}
threading.stack_size(256 << 10)
for name, link in code.items():
    before = sx.memory.live_exports(), _core._test.live_allocations()
    thread = threading.Thread(target=run, args=(link, name in ("dpctl.memory", "a class")))
    thread.start()
    thread.join()
    while _core._test.deferred_frees():  # what is fifty links deep is freed in the background
        time.sleep(0.01)
    assert (sx.memory.live_exports(), _core._test.live_allocations()) == before, name
""")


# ---- objects that stand for others ---------------------------------------------------------------


#: The objects behind a weakref.proxy.
WEAK = {
    "a tensor": lambda: numbers(usm_type="shared"),
    "a host view": lambda: sx.host_view(numbers()),
    "a NumPy array": lambda: values(1000, "uint8"),
    "a producer": lambda: Producer(numbers(usm_type="shared")),
    "a description": lambda: ways.described(numbers(usm_type="shared")),
}

#: Functions that take it, and give its elements.
TAKERS = {
    **{
        name: way.call
        for name, way in ways.select(ways.VIEW, ways.HOST, ways.COPY, any=True).items()
    },
    "from_dlpack(device)": lambda x: sx.from_dlpack(x, device=0, copy=True),
    "as_tensor(device)": lambda x: sx.as_tensor(x, device=0),
}


@needs(
    "system_usm",
    "a NumPy array-as_tensor(copy=False)",
    "a NumPy array-from_dlpack(copy=False)",
    "a host view-as_tensor(copy=False)",
    "a host view-from_dlpack(copy=False)",
)
@pytest.mark.parametrize(
    ("what", "taker"),
    [
        (what, taker)
        for what, taker in itertools.product(WEAK, TAKERS)
        # a description is not a producer
        if not (what == "a description" and ways.public_name(taker) == "from_dlpack")
    ],
)
def test_view_of_a_weak_proxy_keeps_the_object(what, taker):
    """Fifty blocks of the same size would take the memory, had it been freed."""
    thing = WEAK[what]()
    result = TAKERS[taker](weakref.proxy(thing))
    del thing
    noise = [sx.empty(1000, "uint8").copy_from(np.full(1000, 0xEE, "uint8")) for _ in range(50)]
    assert bits(ways.content(result)) == bits(values(1000, "uint8"))
    del noise


def test_dead_proxy_is_a_reference_error():
    proxy = weakref.proxy(numbers())
    for call in (sx.from_dlpack, sx.as_tensor, sx.host_view, sx.explain):
        with pytest.raises(ReferenceError):
            call(proxy)


# ---- refused objects -----------------------------------------------------------------------------


class Refusing:
    """A producer that refuses a view, and a copy too unless it `copies` to the host."""

    def __init__(self, device, copies):
        self.device, self.copies = device, copies

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.copies and dl_device == (1, 0):
            return numbers(usm_type="host").__dlpack__(dl_device=dl_device, **VERSIONED)
        raise BufferError("not like this")


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


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("copies", [False, True], ids=["refuses", "copies"])
@pytest.mark.parametrize("device", [(1, 0), (2, 0), (14, 0)])
@pytest.mark.parametrize("name", ASKING)
def test_refused_producer_is_not_left_to_the_collector(name, device, copies):
    producer = Refusing(device, copies)
    gone = weakref.ref(producer)
    with contextlib.suppress(BufferError):
        ASKING[name](producer)
    del producer
    assert gone() is None


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("forms", [0, 1], ids=["refuses", "takes the second form"])
def test_tensor_that_a_consumer_refused_is_not_left_to_the_collector(forms):
    calls = []
    library = types.ModuleType("library_of_arrays")

    def consumer(x):
        calls.append(None)
        if len(calls) <= forms or not forms:
            raise BufferError("not like this")

    library.from_dlpack = consumer
    tensor = numbers()
    gone = weakref.ref(tensor)
    with contextlib.suppress(BufferError):
        sx.exchange(tensor, library)
    del tensor
    assert gone() is None
    assert len(calls) > 1


def test_import_during_the_end_of_the_last_tensor_is_a_tensor():
    """A callback of a weak reference runs while the tensor is torn down."""
    tensor, made = numbers(), []
    capsule = tensor.__dlpack__(max_version=(1, 0))
    reference = weakref.ref(tensor, lambda _: made.append(sx.from_dlpack(capsule)))
    del tensor
    assert (reference(), gc.get_referents(*made)) == (None, [sx.Tensor])
