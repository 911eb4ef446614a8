# SPDX-License-Identifier: Apache-2.0
"""Arrays without memory of their own: the error names the object, and a call that works."""

from __future__ import annotations

import array
import ctypes
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sycl_ext as sx
from sycl_ext._negotiation.ways_out import way_out_of

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="module")
def no_process_group_is_left() -> Any:
    """The examples of a page initialize their own, in the same process."""
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def fake() -> Any:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(3)


def functional_tensor() -> Any:
    from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode

    plain = torch.zeros(3)
    with FunctionalTensorMode():
        return FunctionalTensor.to_functional(plain)


def distributed() -> Any:
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    if not torch.distributed.is_initialized():
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    return distribute_tensor(torch.zeros(4), init_device_mesh("cpu", (1,)), [Shard(0)])


def masked() -> Any:
    return torch.masked.masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))


def nested(layout: Any) -> Any:
    arrays = [torch.zeros(2), torch.zeros(3)]
    return torch.nested.nested_tensor(arrays, layout=layout)


class Wrapper(torch.Tensor):
    """A tensor in place of memory, as those of quantization libraries have it."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["inner"], None

    @classmethod
    def __torch_dispatch__(cls, *_: Any) -> Any:
        raise NotImplementedError


ODD: dict[str, tuple[Callable[[], Any], str]] = {
    "masked": (masked, "a masked tensor"),
    "fake": (fake, "a fake tensor has no memory"),
    "distributed": (distributed, "a distributed tensor"),
    "functional": (lambda: torch._to_functional_tensor(torch.zeros(3)), "a functional tensor"),
    "FunctionalTensor": (functional_tensor, "a functional tensor"),
    "meta": (lambda: torch.zeros(3, device="meta"), "a meta tensor has no memory"),
    "quantized": (
        lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8),
        "a quantized tensor is integers",
    ),
    "wrapper": (
        lambda: Wrapper(torch.zeros(3)),
        r"a wrapper tensor has no memory of its own: pass x\.inner",
    ),
    "nested": (lambda: nested(torch.strided), "a nested tensor"),
    "jagged": (lambda: nested(torch.jagged), "a nested tensor"),
    "sparse": (lambda: torch.eye(3).to_sparse(), "to_dense"),
    "compressed": (lambda: torch.eye(3).to_sparse_csr(), "to_dense"),
    "mkldnn": (lambda: torch.eye(3).to_mkldnn(), "to_dense"),
    "zero": (lambda: torch._efficientzerotensor(3), "a zero tensor of autograd has no memory"),
    "bits": (lambda: torch.zeros(3, dtype=torch.uint8).view(torch.bits8), "its bytes"),
    "conjugated": (lambda: torch.zeros(3, dtype=torch.complex64).conj(), "resolve_conj"),
}
VERBS: tuple[Callable[[Any], Any], ...] = (
    sx.from_dlpack,
    sx.as_tensor,
    sx.host_view,
    lambda x: sx.as_tensor(x, device=0),
    lambda x: sx.as_tensor(x, copy=True),
    lambda x: sx.exchange(x, np),
    lambda x: sx.zeros(3).copy_from(x),
)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore")
def test_odd_tensor_of_torch_is_refused_with_a_call_that_works(name: str) -> None:
    make, said = ODD[name]
    x = make()
    for verb in VERBS:
        with pytest.raises(BufferError, match=said) as refused:
            verb(x)
        name = "torch.Tensor" if type(x) is torch.Tensor else type(x).__name__
        assert f"the {name} " in str(refused.value)
    text = str(refused.value).rpartition("pass ")[2]
    code = re.match(r"[\w.]+(\((?:[^()]|\([^()]*\))*\))?", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sx.as_tensor(eval(code[0], {"x": x, "torch": torch})).size


def test_tensor_inside_a_transform_is_refused_by_name() -> None:
    seen: list[str] = []

    def look(x: Any) -> Any:
        with pytest.raises(BufferError) as refused:
            sx.as_tensor(x)
        seen.append(str(refused.value))
        return x

    after = torch.func.vmap(look)(torch.zeros(3, 2))
    assert "pass it after vmap, grad or jvp has returned" in seen[0]
    assert sx.as_tensor(after).shape == (3, 2)


def test_wrapper_that_names_no_tensors_is_refused_as_one() -> None:
    x = type("Opaque", (Wrapper,), {"__tensor_flatten__": None})(torch.zeros(3))
    with pytest.raises(BufferError, match="the Opaque .*pass the tensor that it wraps"):
        sx.as_tensor(x)


def test_ordinary_tensors_are_not_asked_what_they_are() -> None:
    assert sx.as_tensor(torch.zeros(0)).size == 0
    assert sx.as_tensor(torch.zeros((0, 3))).shape == (0, 3)


# ---- objects that hold an array, or are made into one --------------------------------------------


def advice(error: BaseException) -> str:
    text = str(error)
    call = r"(?:pass|convert it with) ([\w.]+(?:\([^()]*\)|\[[^]]*\]\.data)?)(?:,|$)"
    return re.search(call, text.rpartition("; ")[2])[1]


def objects() -> dict[str, Any]:
    xarray, dpnp = pytest.importorskip("xarray"), pytest.importorskip("dpnp")
    pandas = pytest.importorskip("pandas")
    return {
        "DataArray over NumPy": xarray.DataArray(np.zeros(3)),
        "DataArray over dpnp": xarray.DataArray(dpnp.zeros(3)),
        "DataArray over a tensor of torch": xarray.DataArray(torch.zeros(3).numpy()),
        "Variable over dpnp": xarray.Variable(("a",), dpnp.zeros(3)),
        "Dataset": xarray.Dataset({"a": ("x", dpnp.zeros(3))}),
        "Series": pandas.Series([1, 2]),
        "DataFrame": pandas.DataFrame({"a": [1, 2]}),
        "list": [1, 2],
        "nested list": [[1.5], [2.5]],
        "tuple": (1, 2),
        "int": 3,
        "complex": 3j,
    }


def test_advice_for_an_object_without_memory_works() -> None:
    for name, x in objects().items():
        for take in (sx.as_tensor, sx.from_dlpack, sx.host_view, lambda x: sx.exchange(x, 0)):
            with pytest.raises(TypeError) as refused:
                take(x)
            code = advice(refused.value)
            dtype = "complex128" if name == "complex" else "float64"
            made = eval(code, {"x": x, "numpy": np, "dtype": dtype})
            assert sx.as_tensor(made).dtype_name == dtype or "x.data" in code, name


def test_data_of_another_shape_are_not_advised() -> None:
    """Those of a sparse array are its stored elements, and those of packed sequences are mixed."""

    class Sparse:
        shape, data = (3, 3), np.ones(3)

    for x in (Sparse(), torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])):
        with pytest.raises(TypeError) as refused:
            sx.as_tensor(x)
        assert "x.data" not in str(refused.value)


def test_list_that_makes_no_array_is_not_said_to_make_one() -> None:
    dpnp = pytest.importorskip("dpnp")
    for x in ([[1], [1, 2]], [dpnp.zeros(2), dpnp.zeros(2)], ["a", None], [object()]):
        with pytest.raises(TypeError, match="combine its elements into one array in their library"):
            sx.as_tensor(x)


# ---- classes of libraries that this environment lacks --------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("jax._src.interpreters.partial_eval", "DynamicJaxprTracer", "outside jax.jit"),
        ("jax._src.prng", "PRNGKeyArray", r"jax\.random\.key_data\(x\)"),
        ("jax._src.core", "Ref", r"pass x\[\.\.\.\]"),
        ("keras.src.backend.common.keras_tensor", "KerasTensor", "the result of its model"),
        ("scipy.sparse._csr", "csr_matrix", r"pass x\.toarray\(\)"),
        ("tensorflow.python.ops.ragged.ragged_tensor", "RaggedTensor", r"x\.to_tensor\(\)"),
        ("tensorflow.python.framework.ops", "SymbolicTensor", r"tensorflow\.numpy_function"),
    ],
)
def test_object_without_memory_of_another_library(module: str, name: str, said: str) -> None:
    x = type(name, (), {"__module__": module, "__array__": lambda self: 1 / 0})()
    for take in (sx.as_tensor, sx.from_dlpack, sx.host_view):
        with pytest.raises(TypeError, match=f"{name}.*{said}"):
            take(x)


# ---- buffers, shapes -----------------------------------------------------------------------------


def test_buffer_of_a_format_that_numpy_does_not_read() -> None:
    buffers = (
        ((ctypes.c_longdouble * 2)(1, 2), [1, 2]),
        ((ctypes.c_void_p * 2)(1, 2), [1, 2]),
        ((ctypes.c_wchar * 2)("a", "b"), [*b"ab"]),
        ((ctypes.c_wchar_p * 2)(), [0] * 2 * ctypes.sizeof(ctypes.c_wchar_p)),
    )
    for x, elements in buffers:
        for take in (sx.as_tensor, sx.host_view, lambda x: sx.exchange(x, np)):
            with pytest.raises(BufferError, match=type(x).__name__) as refused:
                take(x)
        code = re.search(r"pass (numpy.*\))", str(refused.value))[1]
        assert sx.as_tensor(eval(code, {"x": x, "numpy": np})).tolist() == elements


def test_bytes_of_characters_are_advised_with_a_call_for_any_buffer() -> None:
    x = (ctypes.c_char * 4)(*b"abcd")
    with pytest.raises(BufferError, match="strings have no DLPack type") as refused:
        sx.as_tensor(x)
    code = str(refused.value).rpartition("pass ")[2]
    assert sx.as_tensor(eval(code, {"x": x, "numpy": np})).tolist() == [*b"abcd"]


def test_swapped_byte_order_is_refused_with_a_call_that_works() -> None:
    swapped = np.dtype("i4").newbyteorder()
    ctype = ctypes.c_int32.__ctype_be__ if swapped.str[0] == ">" else ctypes.c_int32.__ctype_le__
    for x in ((ctype * 3)(1, 2, 3), np.array([1, 2, 3], swapped), memoryview((ctype * 3)(1, 2, 3))):
        with pytest.raises(BufferError, match="native byte order") as refused:
            sx.as_tensor(x)
        code = str(refused.value).partition("convert with ")[2]
        assert sx.as_tensor(eval(code, {"x": x, "numpy": np})).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="native byte order") as refused:
        sx.empty(3, swapped)
    assert sx.empty(3, eval(str(refused.value).rpartition("use ")[2])).size == 3


def test_array_of_characters_is_refused_with_a_call_that_works() -> None:
    x = array.array("u" if sys.version_info < (3, 13) else "w", "abc")
    with pytest.raises(BufferError) as refused:
        sx.as_tensor(x)
    code = re.search(r"pass (numpy\..*?\)(?:\.view\('uint8'\))?)(?:,|$)", str(refused.value))[1]
    made = eval(code, {"x": x, "numpy": np, "dtype": "uint8"})
    assert sx.as_tensor(made).nbytes == 3 * x.itemsize


def test_refused_dtype_of_an_argument_names_a_dtype() -> None:
    for dtype in ("M8[s]", "U3", "longdouble", "O", "V4", "clongdouble"):
        with pytest.raises(ValueError, match="is not supported") as refused:
            sx.empty(3, dtype)
        assert sx.empty(3, eval(str(refused.value).rpartition("use ")[2])).size == 3


def test_array_as_a_shape_is_a_type_error_with_a_call_that_works() -> None:
    dpnp = pytest.importorskip("dpnp")
    for x in (dpnp.array([2.0, 3.0]), torch.tensor([2.0, 3.0]), np.array([2.0, 3.0])):
        with pytest.raises(TypeError, match="shape is"):
            sx.empty(x)
    x = dpnp.array([2, 3])
    try:
        assert sx.empty(x).shape == (2, 3)
    except TypeError as error:
        code = re.search(r"pass (tuple\(.*\))", str(error))[1]
        assert sx.empty(eval(code, {"x": x})).shape == (2, 3)


def test_sharded_array_of_jax_is_taken_whole_or_in_shards() -> None:
    shard = type("Shard", (), {"data": np.ones(1)})()

    class ArrayImpl:
        __module__ = "jaxlib._jax"
        sharding = type("Sharding", (), {"device_set": {1, 2}})()
        addressable_shards = (shard, shard)
        is_deleted = staticmethod(lambda: False)

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.ones(2)

        def __dlpack_device__(self) -> Any:
            raise BufferError("__dlpack__ only supported for unsharded arrays.")

        def __dlpack__(self, **_: Any) -> Any: ...

    x = ArrayImpl()
    with pytest.raises(
        BufferError, match="a sharded array is spread over devices: pass "
    ) as refused:
        sx.as_tensor(x)
    for code, size in zip(
        str(refused.value).rpartition("pass ")[2].split(", or each of its shards, "),
        (2, 1),
        strict=True,
    ):
        assert sx.as_tensor(eval(code, {"x": x, "numpy": np, "i": 0})).size == size


@pytest.mark.parametrize("library", ["jaxlib._jax", "tensorflow.python.framework.ops"])
@pytest.mark.parametrize("name", ["int4", "uint2", "float4_e2m1fn"])
def test_small_elements_of_a_library_are_converted_or_taken_as_bytes(library, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    values = np.arange(2).astype(dtype)
    members = {"dtype": dtype, "__array__": lambda self, *_, **__: values}
    x = type("Array", (), {**members, "__module__": library})()
    for code in way_out_of(x).partition("pass ")[2].split(", or its bytes, "):
        assert sx.as_tensor(eval(code, {"x": x, "numpy": np})).size == 2


@pytest.mark.parametrize("library", [np, "numpy"])
def test_library_in_place_of_the_array_names_the_order(library):
    for call in (sx.exchange, sx.explain):
        with pytest.raises(TypeError, match="the array first, and then the library"):
            call(library, sx.zeros(3))
