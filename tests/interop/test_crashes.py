# SPDX-License-Identifier: Apache-2.0
"""What ends the process of others, or corrupts their data, does not touch us.

Each test is a process of its own, so that a crash is a failure.  Where a library can be made to
crash without us, a test shows that, so that the tests of the same library could fail.
"""

import signal

import pytest

from processes import alone, build_nanobind_module

PROLOGUE = """
import ctypes, gc
import numpy as np
import sycl_ext as sx
from dlpack_conformance import structs as dlpack_ctypes
from producers import Managed, over

def usm(array, usm_type="shared", device="opencl:cpu"):
    return sx.empty(array.shape, array.dtype, usm_type=usm_type, device=device).copy_from(array)

VALUES = np.arange(12, dtype="float32").reshape(3, 4)
"""
EPILOGUE = """
gc.collect()
assert sx.memory.live_exports() == 0, sx.memory.live_exports()
"""


def dedented(body):
    lines = body.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)


def survives(body):
    done = alone(PROLOGUE + dedented(body) + EPILOGUE)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"


def ends(body, how):
    done = alone(PROLOGUE + dedented(body))
    assert done.returncode == -how, f"{done.returncode}\n{done.stdout}{done.stderr}"


# ---- negative strides ----------------------------------------------------------------------------


def test_torch_aborts_on_negative_strides():
    ends("import torch; torch.from_dlpack(VALUES[::-1])", signal.SIGABRT)


def test_negative_strides_do_not_reach_torch():
    survives(
        """
        import torch
        t, gpu = usm(VALUES), usm(VALUES, "device", "level_zero:gpu:0")
        for handed in (
            sx.host_view(t[::-1]),
            sx.host_view(VALUES[::-1]),
            sx.host_view(gpu[::-1]),
            sx.host_view(sx.host_view(t[::-1])),
            sx.host_view(t[::-1]).__dlpack__(),
            t[::-1].__dlpack__(dl_device=(1, 0)),
            t[::-1].__dlpack__(dl_device=(1, 0), max_version=(1, 0)),
            gpu[::-1].__dlpack__(dl_device=(1, 0), max_version=(1, 0)),
            sx.from_dlpack(VALUES[::-1]).__dlpack__(dl_device=(1, 0)),
        ):
            print(handed, flush=True)
            result = torch.from_dlpack(handed)
            assert np.array_equal(result.numpy(), VALUES[::-1])
            del result, handed
        """
    )


def test_negative_strides_through_exchange():
    survives(
        """
        import dpnp, torch, pyarrow, mlx.core, jax
        arrays = {
            "tensor": usm(VALUES)[::-1],
            "numpy": VALUES[::-1],
            "dpnp": dpnp.asarray(VALUES, device="cpu")[::-1],
            "GPU": usm(VALUES, "device", "level_zero:gpu:0")[::-1],
        }
        for name in arrays:
            for consumer, look in (
                (torch, lambda r: r.numpy()),
                (torch.from_dlpack, lambda r: r.numpy()),
                (pyarrow, lambda r: r.to_numpy()),
                (jax, np.asarray),
                (mlx.core, lambda r: np.asarray(memoryview(r))),
                (np, np.asarray),
            ):
                print(name, consumer, flush=True)
                result = sx.exchange(arrays[name], consumer)
                assert np.array_equal(look(result), VALUES[::-1])
                del result
        del arrays
        """
    )


# ---- alignment -----------------------------------------------------------------------------------

COMPUTE = "assert tensorflow.reduce_sum(x + x).numpy() == 2 * VALUES[1:].sum()"


def test_tensorflow_aborts_on_unaligned_memory():
    ends(
        f"""
        import tensorflow
        capsule = sx.host_view(usm(VALUES)[1:]).__dlpack__()
        x = tensorflow.experimental.dlpack.from_dlpack(capsule)
        {COMPUTE}
        """,
        signal.SIGABRT,
    )


def test_unaligned_memory_through_exchange():
    """A multiple of 16, a multiple of 4, and no multiple of anything."""
    survives(
        f"""
        import tensorflow, torch
        buffer = np.zeros(VALUES.nbytes + 1, "uint8")
        odd = buffer[1:].view("float32").reshape(VALUES.shape)
        odd[...] = VALUES
        flat = usm(np.append(np.float32(0), VALUES))
        for unaligned in (usm(VALUES)[1:], flat[1:].reshape(VALUES.shape)[1:], odd[1:]):
            assert sx.explain(unaligned, tensorflow).copies == 1
            x = sx.exchange(unaligned, tensorflow)
            {COMPUTE}
            y = sx.exchange(unaligned, torch, copy=False)
            assert np.array_equal((y + y).numpy(), 2 * VALUES[1:])
            del x, y
        del unaligned
        sx.exchange(usm(VALUES), tensorflow, copy=False)  # a whole block is aligned
        """
    )


# ---- deleters ------------------------------------------------------------------------------------

NULL_DELETER = """
class Careless:
    "Hands out capsules without a deleter, as the specification allows."
    def __init__(self, versioned):
        self.versioned, self.memory = versioned, usm(VALUES)
    def __dlpack_device__(self):
        return (1, 0)
    def __dlpack__(self, **_):
        self.managed = over(self.memory, device=(1, 0), deleter=False, versioned=self.versioned)
        return self.managed.capsule()
"""


def test_jax_aborts_on_a_null_deleter():
    ends(
        NULL_DELETER
        + "import jax\nx = jax.dlpack.from_dlpack(Careless(False))\ndel x\ngc.collect()",
        signal.SIGABRT,
    )


def test_null_deleter_is_taken_and_not_passed_on():
    survives(
        NULL_DELETER
        + """
import jax, torch, onnxruntime, dpnp
for careless in (Careless(True), Careless(False)):
    assert np.array_equal(sx.from_dlpack(careless, device="opencl:cpu").to_numpy(), VALUES)
    for consumer in (jax, torch, onnxruntime, dpnp, np):
        result = sx.exchange(careless, consumer)
        del result
        gc.collect()
"""
    )


def test_deleter_runs_without_the_gil():
    """These libraries release the GIL, or never take it, when they drop an array."""
    survives(
        """
        import threading, torch, jax, pyarrow, tvm_ffi, mlx.core
        def round_trips():
            for consumer in (torch, jax, pyarrow, tvm_ffi, mlx.core):
                for _ in range(30):
                    result = sx.exchange(usm(np.zeros(100_000, "float32")), consumer)
                    del result
        threads = [threading.Thread(target=round_trips) for _ in range(3)]
        [thread.start() for thread in threads]
        round_trips()
        [thread.join() for thread in threads]
        """
    )


def test_deleter_runs_on_a_thread_that_python_does_not_know():
    survives(
        """
        libc = ctypes.CDLL(None)
        for owner in (lambda: usm(VALUES), lambda: sx.from_dlpack(VALUES.copy())):
            for keywords in ({}, {"max_version": (1, 0)}):
                address, versioned = dlpack_ctypes.take(owner().__dlpack__(**keywords))
                gc.collect()
                assert sx.memory.live_exports() >= 1
                deleter = dlpack_ctypes.STRUCTS[versioned].from_address(address).deleter
                thread = ctypes.c_ulong()
                start = ctypes.c_void_p(deleter), ctypes.c_void_p(address)
                assert libc.pthread_create(ctypes.byref(thread), None, *start) == 0
                assert libc.pthread_join(thread, None) == 0
                assert sx.memory.live_exports() == 0
        """
    )


@pytest.mark.parametrize("owner", ["usm(VALUES)", "sx.from_dlpack(VALUES.copy())"])
@pytest.mark.parametrize("device", ["opencl:cpu", "level_zero:gpu:0"])
def test_deleter_runs_after_the_interpreter_is_gone(owner, device):
    """What the exit handlers of the C library find."""
    done = alone(
        PROLOGUE
        + dedented(
            f"""
            tensor = {owner}.to_device({device!r}, copy=True)
            address, versioned = dlpack_ctypes.take(tensor.__dlpack__(max_version=(1, 0)))
            deleter = dlpack_ctypes.STRUCTS[versioned].from_address(address).deleter
            libc = ctypes.CDLL(None)
            assert libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None) == 0
            del tensor
            """
        )
    )
    assert done.returncode == 0, done.stderr


def test_consumers_that_still_hold_arrays_at_exit():
    done = alone(
        PROLOGUE
        + dedented(
            """
            import builtins, torch, jax, tvm_ffi
            consumers = (torch, jax, tvm_ffi, np)
            builtins.held = [sx.exchange(usm(VALUES), consumer) for consumer in consumers]
            builtins.held.append(builtins.held)
            assert sx.memory.live_exports() == len(consumers)
            """
        )
    )
    assert done.returncode == 0, done.stderr


def test_capsule_dies_with_an_exception_pending():
    """These consumers raise, and then drop the capsule: its destructor must keep the exception."""
    survives(
        """
        import pyarrow, torch
        for consumer in (np, pyarrow.Tensor, torch):
            for _ in range(200):
                try:
                    consumer.from_dlpack(sx.zeros(50_000, device="level_zero:gpu:0"))
                except (RuntimeError, NotImplementedError) as error:
                    assert "evice" in str(error), error
                else:
                    raise AssertionError("it was taken")
        """
    )


def test_capsule_that_is_never_renamed():
    """mpi4py uses the memory, and lets the capsule's destructor clean up."""
    survives(
        """
        from mpi4py import MPI
        class OnlyDLPack:
            def __init__(self, tensor):
                self.__dict__.update(tensor=tensor)
            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()
            def __dlpack__(self, **keywords):
                assert keywords["stream"] == -1
                return self.tensor.__dlpack__(**keywords)
        for kind in ("device", "shared", "host"):
            t = usm(VALUES, kind)
            buffer = MPI.buffer(OnlyDLPack(t))
            assert buffer.address == t.ptr
            del buffer, t
        """
    )


# ---- byte_offset ---------------------------------------------------------------------------------


def test_byte_offset_of_a_producer_is_not_passed_on():
    """onnxruntime and dpnp ignore byte_offset, and TensorFlow rejects it: they never see one."""
    survives(
        """
        import dpnp, jax, onnxruntime, tensorflow, torch
        class Shifted:
            def __dlpack_device__(self):
                return (1, 0)
            def __dlpack__(self, **_):
                start = VALUES.ctypes.data
                return over(VALUES[1:], data=start, byte_offset=16, keep=VALUES).capsule()
        for consumer, look in (
            (onnxruntime, lambda r: r.numpy()),
            (dpnp, lambda r: r.asnumpy()),
            (tensorflow, lambda r: r.numpy()),
            (torch, lambda r: r.numpy()),
            (jax, np.asarray),
            (np, np.asarray),
        ):
            result = sx.exchange(Shifted(), consumer)
            assert np.array_equal(look(result), VALUES[1:]), consumer
            del result
        """
    )


# ---- races ---------------------------------------------------------------------------------------


def test_out_of_order_queue_as_stream():
    """A barrier in an out-of-order queue protects nothing; real kernels, 60 repetitions."""
    survives(
        """
        import dpctl, dpnp
        n = 200_000
        producer = dpctl.SyclQueue("opencl:cpu", property="in_order")
        consumer = dpctl.SyclQueue(producer.sycl_context, producer.sycl_device)
        zeros = dpnp.zeros(n, dtype="int64", sycl_queue=producer)
        array = dpnp.zeros_like(zeros)
        tensor = sx.as_tensor(array)
        landing = sx.zeros(n, "int64", usm_type="shared", device=consumer)
        target, source = (dpctl.memory.as_usm_memory(x) for x in (landing, array))
        for value in range(1, 61):
            for step in range(4):
                dpnp.add(zeros, -step, out=array)
            dpnp.add(zeros, value, out=array)
            tensor.__dlpack__(stream=consumer, max_version=(1, 0))
            consumer.memcpy_async(target, source, n * 8).wait()
            assert (landing.to_numpy() == value).all()
        """
    )


# ---- misuse --------------------------------------------------------------------------------------


def test_capsule_is_taken_once():
    survives(
        """
        import torch
        for keywords in ({}, {"max_version": (1, 0)}):
            for first in (sx.from_dlpack, torch.from_dlpack):
                capsule = sx.host_view(usm(VALUES)).__dlpack__(**keywords)
                held = first(capsule)
                for second in (sx.from_dlpack, torch.from_dlpack):
                    try:
                        second(capsule)
                    except (BufferError, RuntimeError, ValueError):
                        continue
                    raise AssertionError(second)
                del held, capsule
        """
    )


def test_a_refusal_is_not_taken_for_an_old_producer():
    """A TypeError would be: consumers then call again, without the keywords."""
    survives(
        """
        import dpnp, jax, torch
        class Counting:
            def __init__(self, tensor):
                self.tensor, self.calls = tensor, 0
            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()
            def __dlpack__(self, **keywords):
                self.calls += 1
                return self.tensor.__dlpack__(**keywords)
        gpu = usm(VALUES, "device", "level_zero:gpu:0")
        readonly = sx.host_view(usm(VALUES).as_readonly())
        for tensor, take in (
            (gpu, lambda x: np.from_dlpack(x, device="cpu", copy=False)),
            (gpu, lambda x: dpnp.from_dlpack(x, device=(1, 0), copy=False)),
            (readonly, jax.dlpack.from_dlpack),
            (readonly, lambda x: torch.from_dlpack(x.__dlpack__())),
        ):
            counting = Counting(tensor)
            try:
                take(counting)
            except BufferError:
                assert counting.calls == 1
            else:
                raise AssertionError("it was taken")
        del gpu, readonly, tensor, counting
        """
    )


def test_nanobind_functions_of_read_only_memory():
    """A function that writes gets a copy, and one that reads (nb::ro) gets a view."""
    build_nanobind_module()
    survives(
        """
        import nanobind_consumer as module
        t = usm(VALUES).as_readonly()
        address, shape, writable, device_type = sx.exchange(t, module.take_host)
        assert writable and address != t.ptr
        address, shape, writable, device_type = sx.exchange(t, module.take_readonly)
        assert not writable and address == t.ptr
        assert module.sum(sx.host_view(usm(VALUES)[1])) == VALUES[1].sum()
        assert module.sum(sx.host_view(usm(VALUES)[:, 1])) == VALUES[:, 1].sum()
        """
    )


def test_threads_exchange_arrays_of_one_queue_that_is_out_of_order():
    """Two threads in ``SyclQueue.wait()`` crash, which dpnp calls to describe an array."""
    survives(
        """
        import threading
        import dpnp
        arrays = [dpnp.full(1024, number, dtype="float32") for number in range(8)]
        assert not arrays[0].sycl_queue.is_in_order
        right = []
        def exchange(number):
            for _ in range(500):
                for way in (lambda x: sx.exchange(x, np), sx.as_tensor, sx.host_view):
                    taken = np.asarray(way(arrays[number]))
                    if (taken != number).any():
                        return
            right.append(number)
        threads = [threading.Thread(target=exchange, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(right) == list(range(8)), right
        del arrays
        """
    )
