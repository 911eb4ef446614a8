# SPDX-License-Identifier: Apache-2.0
"""Strided copies by a kernel of the device; `core/tensor/test_copy.py` tries every layout here."""

import os
import re
from collections import Counter

import dpctl
import numpy as np
import pytest

import environments
import sycl_ext as sx
from producers import as_strided
from samples import bits, values

LAYOUTS = {
    "transposed": np.s_[:, :],
    "every second column": np.s_[:, ::2],
    "every second row": np.s_[::2],
    "reversed": np.s_[::-1, ::-1],
    "inner rows": np.s_[1:-1, 3:-3],
}


def view_of(array, layout):
    view = array[LAYOUTS[layout]]
    return view.T if layout == "transposed" else view


@pytest.fixture(params=["opencl:gpu:0", "opencl:gpu:1"])
def gpu(request):
    return sx.device(request.param)


def test_gpu_takes_kernels_and_the_cpu_does_not(gpu):
    assert gpu._entry.reason_against_kernels() == ""
    assert "host copies" in sx.device("opencl:cpu:0")._entry.reason_against_kernels()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_copies(gpu, usm_type, layout, dtype):
    """Several tiles and pieces, in and out of each kind of USM, and to and from the host."""
    array = values((700, 1301), dtype)
    tensor = sx.empty(array.shape, dtype, usm_type=usm_type, device=gpu).copy_from(array)
    source, wanted = view_of(tensor, layout), view_of(array, layout)
    assert bits(source.copy().to_numpy()) == bits(wanted)
    assert bits(source.to_numpy()) == bits(wanted)
    assert bits(source.to_numpy(wait=False).result()) == bits(wanted)
    target, base = sx.zeros(array.shape, dtype, usm_type=usm_type, device=gpu), np.zeros_like(array)
    view_of(target, layout).copy_from(source, wait=False).wait()
    view_of(base, layout)[...] = wanted
    assert bits(target.to_numpy()) == bits(base)
    backwards = np.ascontiguousarray(wanted)[::-1]
    view_of(target, layout).copy_from(backwards)
    view_of(base, layout)[...] = backwards
    assert bits(target.to_numpy()) == bits(base)
    view_of(target, layout).fill(1)
    view_of(base, layout)[...] = 1
    assert bits(target.to_numpy()) == bits(base)


def test_more_axes_than_a_kernel_has(gpu):
    array = values((2,) * 26, "uint8").reshape(4, *(2,) * 22, 4)[::2, ..., ::3]
    tensor = sx.as_tensor(np.ascontiguousarray(array), device=gpu)
    mixed = (*range(0, 24, 2), *range(1, 24, 2))
    assert bits(tensor.transpose(*mixed).copy().to_numpy()) == bits(
        np.ascontiguousarray(array.transpose(mixed))
    )


def test_full_device_is_filled(gpu, usm_type):
    """Without room on the device for the element that a kernel spreads."""
    tensor = sx.zeros((200, 300), usm_type=usm_type, device=gpu)
    sx.memory.release_cached()
    sx.memory.limit(gpu, 1)
    try:
        tensor[:, ::2].fill(7)
    finally:
        sx.memory.limit(gpu, None)
    wanted = np.zeros((200, 300), "float32")
    wanted[:, ::2] = 7
    assert bits(tensor.to_numpy()) == bits(wanted)


def test_copy_within_one_block(gpu, usm_type):
    array = values((500, 400), "float32")
    tensor = sx.empty(array.shape, usm_type=usm_type, device=gpu).copy_from(array)
    tensor[:400].T.copy_from(tensor[100:])
    array[:400].T[...] = array[100:].copy()
    assert bits(tensor.to_numpy()) == bits(array)


def test_windows_of_the_source_overlap(gpu):
    array = values((1000,), "int16")
    tensor = sx.as_tensor(array, device=gpu)
    windows = np.lib.stride_tricks.sliding_window_view(array, 100)
    assert bits(as_strided(tensor, windows.shape, (1, 1)).copy().to_numpy()) == bits(windows)


@pytest.mark.parametrize("turned", [False, True])
def test_elements_further_apart_than_32_bits_count(gpu, turned):
    """No element between them is touched, so the system gives the block few pages."""
    block = sx.empty((1 << 31) + 64, "uint8", usm_type="device", device=gpu)
    far = as_strided(block, (2, 3), ((1 << 31) + 7, 5))
    near = sx.as_tensor(values((3, 2) if turned else (2, 3), "uint8"), device=gpu)
    if turned:
        far = far[::-1].T
    far.copy_from(near)
    assert bits(far.copy().to_numpy()) == bits(near.to_numpy())
    near.fill(0).copy_from(far)
    assert bits(far.to_numpy()) == bits(near.to_numpy()) != bytes(6)


def test_each_context_has_its_own_kernels(gpu):
    private = sx.register_context(dpctl.SyclContext([gpu.sycl_device]))
    array = values((300, 200), "float64")
    for device in (gpu, private):
        assert bits(sx.as_tensor(array, device=device).T.copy().to_numpy()) == bits(array.T)


def run(code):
    """Run code with `t`, and `a`, its elements, in a process of its own."""
    start = """
import os
import numpy as np
import sycl_ext as sx
from sycl_ext import _core

gpu = sx.device("opencl:gpu:0")
a = np.arange(60_000, dtype="float32").reshape(200, 300)
"""
    return environments.python(start + code, dict(os.environ))


def test_compiler_that_fails_leaves_the_copy_to_the_host():
    out = run("""
_core._test.break_kernels()
for kind in ("device", "shared", "host"):
    t = sx.empty(a.shape, usm_type=kind, device=gpu).copy_from(a)
    assert np.array_equal(t.T.copy().to_numpy(), a.T)
    assert np.array_equal(t[:, ::2].to_numpy(wait=False).result(), a[:, ::2])
    t[::2].fill(7)
    assert t.to_numpy()[::2].min() == 7
print(gpu._entry.reason_against_kernels())
""")
    assert "BUILD" in out or "INVALID" in out


def test_forked_child_gets_an_error_and_the_parent_goes_on():
    out = run("""
t = sx.as_tensor(a, device=gpu)
shared = t.copy(usm_type="shared")
t.T.copy()
child = os.fork()
if child == 0:
    try:
        t.T.copy()
    except sx.SyclError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert np.array_equal(t.T.copy().to_numpy(), a.T)
""")
    assert "fork" in out


def test_forked_child_does_not_build_kernels():
    """The driver does not work there, its compiler included."""
    traced = environments.python(
        """
import os
import sycl_ext as sx

t = sx.empty((200, 300), device="opencl:gpu:0")[:, ::2]
t.wait()
child = os.fork()
if child == 0:
    try:
        t.fill(1)
    except sx.SyclError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
""",
        {**os.environ, "SYCL_UR_TRACE": "2"},
    )
    assert "forked" in traced
    assert "urProgramCreate" not in traced


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_copy_is_one_command_of_the_device(usm_type):
    """A copy by the host would be none, and one through the host several."""
    traced = environments.python(
        f"""
import numpy as np
import sycl_ext as sx

gpu = sx.device("opencl:gpu:0")
t = sx.empty((200, 300), usm_type={usm_type!r}, device=gpu)
target = sx.empty((300, 200), usm_type={usm_type!r}, device=gpu)
print("=== strided", flush=True)
target.copy_from(t.T)
print("=== contiguous", flush=True)
target.copy_from(t.reshape(300, 200))
print("=== filled", flush=True)
sx.zeros((300, 200), usm_type={usm_type!r}, device=gpu)
""",
        {**os.environ, "SYCL_UR_TRACE": "2"},
    )
    _, strided, contiguous, filled = re.split("=== .*\n", traced)
    assert commands(strided) == {"Kernel": 1}
    assert commands(contiguous) == {"USM": 1}
    assert commands(filled) == {"USM": 1}


@pytest.mark.parametrize("view", ["t[:, ::2]", "t.T", "t[::-1]", "t[:, 5]"])
def test_elements_cross_the_bus_once(view):
    """One kernel writes them into memory of the host, and nothing else is copied."""
    traced = environments.python(
        f"""
import sycl_ext as sx

t = sx.empty((200, 300), device="opencl:gpu:0")
{view}.to_numpy()
print("=== again", flush=True)
{view}.to_numpy()
""",
        {**os.environ, "SYCL_UR_TRACE": "2"},
    )
    assert commands(traced.split("=== again")[1]) == {"Kernel": 1}


def commands(trace):
    names = re.findall(r"---> urEnqueue(Kernel|USM)\w*", trace)
    return dict(Counter(names))
