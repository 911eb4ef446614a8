# SPDX-License-Identifier: Apache-2.0
"""Arrays that crash other libraries, or corrupt their data, do no harm here.

Each test is a process of its own, so that a crash is a failure.  Where a library can be made to
crash without us, a test shows that, so that the tests of the same library could fail.
"""

from processes import alone

PROLOGUE = """
import gc
import numpy as np
import sycl_ext as sx

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


# ---- negative strides ----------------------------------------------------------------------------


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


# ---- alignment -----------------------------------------------------------------------------------

COMPUTE = "assert tensorflow.reduce_sum(x + x).numpy() == 2 * VALUES[1:].sum()"


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


#: Kind -> an object of that kind.
NO_NUMBERS = {
    "string": "tf.constant(['a'])",
    "resource": "tf.Variable([1.0]).handle",
    "variant": "tf.raw_ops.TensorListReserve("
    "element_shape=[1], num_elements=1, element_dtype=tf.int8)",
}


def test_tensorflow_objects_are_refused():
    """TensorFlow 2.21 ends the process when it is asked for a capsule of them."""
    done = alone(
        f"""
        import numpy as np, pytest, tensorflow as tf, sycl_ext as sx
        for kind, make in {NO_NUMBERS}.items():
            print(kind, flush=True)
            x = eval(make)
            for take in (sx.from_dlpack, sx.as_tensor, sx.host_view, lambda x: sx.exchange(x, np)):
                with pytest.raises(BufferError, match="not numbers"):
                    take(x)
            assert "not numbers" in str(sx.explain(x, np))
        """
    )
    assert (done.returncode, done.stdout.split()) == (0, list(NO_NUMBERS)), done.stderr


# ---- the end of the process ----------------------------------------------------------------------


def test_memory_of_torch_that_a_copy_uses_at_exit():
    """torch's deleter releases the GIL, and takes it again in a destructor that is noexcept."""
    done = alone(
        """
        import torch
        import sycl_ext as sx
        large = torch.ones(1 << 26, dtype=torch.int32)  # whose release takes a while
        view, target = sx.from_dlpack(large)[:100_000], sx.empty(100_000, "int32")
        target.copy_from(view, wait=False)
        view.copy_from(target, wait=False)
        del large, view, target
        """
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
