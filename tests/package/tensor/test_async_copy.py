# SPDX-License-Identifier: Apache-2.0
"""`AsyncCopy`: what goes on while its caller does, and what comes after it."""

import asyncio
import concurrent.futures
import gc
import pickle
import re
import threading
import weakref

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from samples import bits, values
from sycl_ext import _core
from waiting import eventually

SMALL, LARGE = values((30, 40), "int16"), values((1500, 2000), "int16")
KINDS = ("device", "shared", "host")


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("array", [SMALL, LARGE], ids=["small", "large"])
def test_async_copy_goes_to_the_device_and_back(usm_type, array):
    t = sx.empty(array.shape, array.dtype, usm_type=usm_type)
    copy = t.copy_from(array, wait=False)
    assert type(copy) is sx.memory.AsyncCopy
    assert copy.result() is t
    assert copy.done()
    copy.wait()
    assert bits(t.to_numpy()) == bits(array)
    back = t.to_numpy(wait=False)
    assert bits(back.result()) == bits(array)
    assert back.result() is back.result()


def test_exports_come_after_an_async_copy():
    """By every protocol, without a wait of the caller."""
    for value in range(20):
        t = sx.zeros(500_000, "int32")
        wanted = np.full(t.shape, value, "int32")
        t.copy_from(wanted, wait=False)
        seen = {
            "to_numpy": lambda t=t: t.to_numpy(),
            "dlpack": lambda t=t: np.from_dlpack(sx.host_view(t)),
            "buffer": lambda t=t: np.asarray(memoryview(sx.host_view(t))),
            "copy": lambda t=t: t.copy().to_numpy(),
            "another handle": lambda t=t: sx.as_tensor(dpctl.memory.as_usm_memory(t)).to_numpy(),
            "item": lambda t=t: np.array([t[-1].item()]),
            "part": lambda t=t: t[400_000:].to_numpy(),
        }
        name = list(seen)[value % len(seen)]
        array = seen[name]()
        array = array.view("int32") if array.dtype == "uint8" else array
        assert (array == value).all(), name


def test_dropped_copy_is_made_and_its_source_is_kept():
    t, source = sx.zeros(LARGE.shape, LARGE.dtype), LARGE.copy()

    class Array(np.ndarray):
        pass

    source = source.view(Array)
    gone = weakref.ref(source)
    copy = t.copy_from(source, wait=False)
    del copy, source
    gc.collect()
    assert bits(t.to_numpy()) == bits(LARGE)
    assert eventually(lambda: gone() is None)


def test_copy_of_no_elements_is_done():
    assert sx.empty((0, 3)).copy_from(np.empty((0, 3), "float32"), wait=False).done()
    assert sx.empty((0, 3)).to_numpy(wait=False).result().shape == (0, 3)
    assert sx.zeros(()).to_numpy(wait=False).result().shape == ()


def test_async_view_copies_nothing():
    t = sx.zeros(5, usm_type="shared")
    assert t.to_numpy(wait=False).result().ctypes.data == t.ptr
    assert t.to_numpy(copy=True, wait=False).result().ctypes.data != t.ptr
    assert t.to_numpy(False, wait=False).result().ctypes.data == t.ptr
    view = sx.host_view(t)
    assert view.to_numpy(wait=False).result().ctypes.data == t.ptr


# ---- asyncio -------------------------------------------------------------------------------------


def test_threads_get_one_result(monkeypatch):
    """The first to finish says which; the others are in the middle of it."""
    begun = threading.Barrier(2, timeout=60)
    as_ndarray = _core.as_ndarray

    def slow(*args, **keywords):
        begun.wait()
        return as_ndarray(*args, **keywords)

    monkeypatch.setattr(_core, "as_ndarray", slow)
    copy = sx.zeros(3).to_numpy(wait=False)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first, second = [future.result() for future in [pool.submit(copy.result) for _ in range(2)]]
    assert first is second is copy.result()


def test_await():
    t = sx.zeros(LARGE.shape, LARGE.dtype)

    async def main():
        assert await t.copy_from(LARGE, wait=False) is t
        first, second = await asyncio.gather(
            t.to_numpy(copy=True, wait=False), t[::2].to_numpy(copy=True, wait=False)
        )
        assert bits(first) == bits(LARGE)
        assert bits(second) == bits(LARGE[::2])
        return await asyncio.wait_for(t.to_numpy(wait=False), 60)

    assert bits(asyncio.run(main())) == bits(LARGE)


# ---- the event -----------------------------------------------------------------------------------


def test_event_of_a_copy_orders_a_command():
    a = sx.empty(1000, "int32", usm_type="host").copy_from(np.arange(1000, dtype="int32"))
    t, landing = sx.zeros(1000, "int32"), sx.zeros(1000, "int32", usm_type="host")
    memory, host = (dpctl.memory.as_usm_memory(x) for x in (t, landing))
    copy = t.copy_from(a, wait=False)
    event = copy.sycl_event
    assert isinstance(event, dpctl.SyclEvent)
    queue = dpctl.SyclQueue(t.sycl_context, t.device.sycl_device)
    queue.memcpy_async(host, memory, t.nbytes, [event]).wait()
    assert landing.to_numpy().tolist() == list(range(1000))


# ---- what cannot be done -------------------------------------------------------------------------


def test_errors_of_arguments_are_raised_at_once():
    t = sx.zeros((2, 3), "int32")
    for wait in (0, 1, None, "no"):
        with pytest.raises(TypeError, match=re.escape(f"wait is {wait!r}; it must be True or")):
            t.copy_from(np.zeros((2, 3), "int32"), wait=wait)
        with pytest.raises(TypeError, match=re.escape(f"wait is {wait!r}; it must be True or")):
            t.to_numpy(wait=wait)
    with pytest.raises(BufferError, match="read-only"):
        t.as_readonly().copy_from(np.zeros((2, 3), "int32"), wait=False)
    with pytest.raises(TypeError, match="convert it first"):
        t.copy_from(np.zeros((2, 3), "int64"), wait=False)
    with pytest.raises(ValueError, match="shape"):
        t.copy_from(np.zeros(4, "int32"), wait=False)
    with pytest.raises(TypeError, match="positional"):
        t.to_numpy(None, False)
    with pytest.raises(TypeError, match="belongs to this process; send its result"):
        pickle.dumps(t.to_numpy(wait=False))
    assert re.fullmatch("<AsyncCopy: (done|pending)>", repr(t.to_numpy(wait=False)))
