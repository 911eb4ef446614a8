# SPDX-License-Identifier: Apache-2.0
"""The decisions about a consumer from its row, without the library (see also ``interop``)."""

import dataclasses
import re
import sys
import types
from pathlib import Path

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from sycl_ext import _core
from sycl_ext._negotiation.consumer_functions import FUNCTIONS
from sycl_ext._negotiation.consumer_row import NARROW, Consumer
from sycl_ext._negotiation.consumers import CONSUMERS
from sycl_ext._negotiation.targets import read_consumer


def facts(**changes):
    plain = {"entry": 0, "root": 0, "usm_type": "shared", "host_reachable": True, "ndim": 2}
    return _core.ArrayFacts(**plain | changes)


#: The fields of a row that decide something: all but the texts about it.
FIELDS = [field.name for field in dataclasses.fields(Consumer) if field.name != "reason"]


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_read_and_some_row_has_another_value(field):
    package = Path(sx.__file__).parent
    folders = [package / name for name in ("_negotiation", "_exchange")]
    sources = [path.read_text() for folder in folders for path in folder.glob("*.py")]
    assert any(re.search(rf"\w\.{field}\b", source) for source in sources)
    default = getattr(Consumer("library"), field)
    values = [getattr(row, field) for row in CONSUMERS]
    values += [row.limits.get(field, default) for row in FUNCTIONS]
    assert any(value != default for value in values)


def test_limits_and_conditions_name_fields():
    named = {name for row in CONSUMERS for name in row.configured}
    named |= {name for function in FUNCTIONS for name in function.limits}
    assert named <= {*FIELDS, "reason"}


@pytest.mark.parametrize(
    ("habit", "memory", "words"),
    [
        ({}, {}, None),
        ({"readonly": "dropped"}, {"readonly": True}, "would write to it"),
        ({"readonly": "refused"}, {"readonly": True}, "does not accept"),
        ({"readonly": "kept"}, {"readonly": True}, None),
        ({"strides": "compact"}, {"c_contiguous": False}, "accepts only compact arrays"),
        ({"strides": "nonnegative"}, {"reversed": True}, "does not support negative"),
        ({"strides": "any"}, {"c_contiguous": False, "reversed": True}, None),
        ({"alignment": 64}, {"alignment": 8}, "an alignment of 64 bytes"),
    ],
)
def test_habit_of_a_consumer_decides_about_a_copy(habit, memory, words):
    result = Consumer("numpy", **habit).copy_needed(facts(**memory))
    assert (result is None) == (words is None)
    assert words is None or words in result


def test_refusal_of_a_consumer_names_the_reason():
    consumer = Consumer("numpy", lacks=("bool",), narrows=("int64",), ndims=range(1, 3))

    def refusal(dtype, ndim):
        return consumer.refusal(facts(dtype=dtype, ndim=ndim), "numpy")

    assert "has no bool" in refusal("bool", 1)
    assert "a narrower dtype" in refusal("int64", 1)
    assert "this one has 0; pass x.reshape((1,))" in refusal("int8", 0)
    assert "this one has 3; pass x.reshape" in refusal("int8", 3)
    assert refusal("int8", 1) is None


@pytest.mark.parametrize("wide", [True, False])
def test_jax_narrows_unless_it_was_told_not_to(monkeypatch, wide):
    jax = types.ModuleType("jax")
    jax.config = types.SimpleNamespace(jax_enable_x64=wide)
    jax.dlpack = types.ModuleType("jax.dlpack")
    jax.from_dlpack = jax.dlpack.from_dlpack = np.from_dlpack
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.dlpack", jax.dlpack)
    row = read_consumer(jax).row
    assert (row.refusal(facts(dtype="int64"), "jax") is None) == wide


@pytest.mark.parametrize(
    ("version", "bool_", "float8"), [("1.31.1", False, False), ("1.32.0", True, True)]
)
def test_consumer_row_depends_on_the_version(monkeypatch, version, bool_, float8):
    """onnxruntime has bool and some of the float8 dtypes since 1.32."""
    value = types.SimpleNamespace(from_dlpack=lambda capsule: capsule)
    module = types.ModuleType("onnxruntime")
    module.__version__ = version
    module.capi = types.SimpleNamespace(
        onnxruntime_pybind11_state=types.SimpleNamespace(OrtValue=value)
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    for dtype, has in (("bool", bool_), ("float8_e5m2", float8), ("float8_e3m4", False)):
        tensor = sx.zeros(3, dtype, usm_type="shared")
        assert (sx.explain(tensor, module).error is None) == has, dtype
        if has:
            assert '"dltensor"' in str(sx.exchange(tensor, "onnxruntime"))
        else:
            with pytest.raises(BufferError, match=f"onnxruntime has no {dtype}"):
                sx.exchange(tensor, module)


def test_missing_dtype_of_a_consumer_is_refused_with_advice():
    """exchange and explain say so before anything is copied; the advice works."""
    tensor = sx.zeros(3, "bfloat16")
    advice = "dpnp has no bfloat16.*sycl_ext.exchange\\(x, 'numpy'\\).view\\('uint16'\\)"
    with pytest.raises(BufferError, match=advice):
        sx.exchange(tensor, "dpnp")
    assert "dpnp has no bfloat16" in str(sx.explain(tensor, "dpnp"))
    bits = sx.exchange(sx.exchange(tensor, "numpy").view("uint16"), "dpnp")
    assert (bits.dtype, bits.asnumpy().tolist()) == ("uint16", [0, 0, 0])


NARROW_CONSUMERS = (np, "numpy", np.from_dlpack, np.asarray, np.array)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_bfloat16_and_float8_are_numpy_arrays_of_ml_dtypes(dtype, usm_type):
    """From each way the same array, and by one rule of copies."""
    tensor = sx.zeros(4, dtype, usm_type=usm_type)
    expected = tensor.to_numpy()
    for consumer in NARROW_CONSUMERS:
        for copy in (None, True, False):
            plan = sx.explain(tensor, consumer, copy=copy)
            if plan.error is not None:
                with pytest.raises(sx.CopyRefusedError):
                    sx.exchange(tensor, consumer, copy=copy)
                continue
            result = sx.exchange(tensor, consumer, copy=copy)
            assert (result.dtype, result.shape) == (expected.dtype, (4,))
            assert (result.ctypes.data == tensor.ptr) == (plan.copies == 0)


@pytest.mark.parametrize("consumer", NARROW_CONSUMERS)
def test_without_ml_dtypes_the_advice_names_it(monkeypatch, consumer):
    sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))  # no answer is kept now
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    tensor = sx.zeros(4, "bfloat16")
    assert "install ml_dtypes" in sx.explain(tensor, consumer).reason
    with pytest.raises(BufferError, match="install ml_dtypes"):
        sx.exchange(tensor, consumer)


def test_without_ml_dtypes_the_bits_of_a_missing_dtype_need_it(monkeypatch):
    tensor = sx.zeros(4, "bfloat16", usm_type="shared")
    call = "pass its bits: sycl_ext.exchange(x, 'numpy').view('uint16')"
    assert f", or {call}" in sx.explain(tensor, "dpnp").reason
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert f", or install ml_dtypes and {call}" in sx.explain(tensor, "dpnp").reason


# ---- explain -------------------------------------------------------------------------------------


def test_array_api_compat_is_what_it_wraps():
    wrapped = types.ModuleType("array_api_compat.torch")
    wrapped.from_dlpack = np.from_dlpack
    assert "torch has no float8_e3m4" in str(sx.explain(sx.zeros(3, "float8_e3m4"), wrapped))
    assert sx.exchange(sx.zeros(3), wrapped).tolist() == [0, 0, 0]


def test_explain_refuses_a_capsule():
    with pytest.raises(TypeError, match="can be consumed only once"):
        sx.explain(sx.zeros(3).__dlpack__(), np)


def test_explain_what_is_refused():
    class Copying:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise BufferError("never")

    plan = sx.explain(Copying(), np, copy=False)
    assert plan.copies == 0
    assert "never" in str(plan)
    for ask in (sx.explain, sx.exchange):
        with pytest.raises(ValueError, match="there is no device 999"):
            ask(sx.zeros(3), 999)


def test_explain_without_a_consumer():
    assert sx.explain(sx.zeros(3)).copies == 0
    assert sx.explain(np.zeros(3), copy=True).copies == 1
    assert sx.explain(sx.zeros(3, usm_type="shared"), (1, 0)).copies == 0
    assert sx.explain(sx.zeros(3), device="cpu") == sx.explain(sx.zeros(3), "cpu")
    assert sx.explain(sx.zeros(3), device=["cpu"]) == sx.explain(sx.zeros(3), ["cpu"])
    with pytest.raises(TypeError, match="pass a list of devices as the consumer"):
        sx.explain(sx.zeros(3), "cpu", device="cpu")


def test_sub_byte_tensor_of_torch_is_refused_with_its_bytes():
    """The advice works."""
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    advice = r"pass its bytes, such as tensor\.view\(torch\.uint8\)"
    for take in (sx.from_dlpack, sx.as_tensor, lambda x: sx.exchange(x, np)):
        with pytest.raises(BufferError, match=advice):
            take(tensor)
    assert sx.exchange(tensor.view(torch.uint8), np).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("has_gpu", [True, False])
def test_host_library_takes_native_memory_if_it_has_a_gpu_now(monkeypatch, has_gpu):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert read_consumer(torch).row.tries_native is has_gpu
    assert not Consumer("library", memory="host").tries_native
