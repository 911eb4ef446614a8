# SPDX-License-Identifier: Apache-2.0
"""Advice for arrays that refuse an export without saying what to pass instead. Pure Python.

One row per kind of array. Rows only improve error messages; no decision depends on them.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from sycl_ext._negotiation.errors import REFUSALS


class WayOut(NamedTuple):
    """The way out of a refusal by some arrays of a library."""

    packages: str  # a pattern of import names
    text: str | Callable[[Any], str]  # or a function that returns the text; "": there is none
    classes: str = ".*"  # a pattern of names of classes of the library
    test: Callable[[Any], Any] | None = None  # which of these objects; None: all


def way_out_of(x: Any) -> str:
    """Return the way out of a refusal by an array, for the end of a message.

    Examples
    --------
    >>> array = type("Int64Array", (), {"__module__": "pyarrow.lib"})()
    >>> way_out_of(array).partition(",")[0]
    '; pass numpy.asarray(x)'
    >>> way_out_of({})
    ''
    """
    bases = [(f"{base.__module__}.", base.__name__) for base in type(x).__mro__]
    for row in WAYS_OUT:
        of_library = re.compile(rf"({row.packages})\.")
        name = next((name for module, name in bases if of_library.match(module)), None)
        if name is None or not re.fullmatch(row.classes, name):
            continue
        with suppress(*REFUSALS):  # an array in such a state may refuse questions, too
            if row.test is not None and not row.test(x):
                continue
            if text := row.text if isinstance(row.text, str) else row.text(x):
                return f"; {text}"
    return ""


def _tensors_inside(x: Any) -> str:
    """Return the way out for a subclass of ``torch.Tensor`` that holds tensors in place of memory.

    ``__tensor_flatten__``, torch's protocol for such classes, names the attributes that hold them.
    """
    if x.data_ptr() or not x.numel():
        return ""
    names: list[str] = []
    with suppress(*REFUSALS):
        names = list(x.__tensor_flatten__()[0])
    inside = " and ".join(f"x.{name}" for name in names) or "the tensor that it wraps"
    return f"a wrapper tensor has no memory of its own: pass {inside}"


def _bytes_of_small_elements(x: Any) -> str:
    """Return the way out for an array whose elements have less than a byte each."""
    dtype = getattr(x, "dtype", "")
    small = re.match(r"(u?int|float)[1-7](_|$)", str(getattr(dtype, "name", dtype)))
    if not small:
        return ""
    wider = "float32" if small[1] == "float" else f"{small[1]}8"
    return (
        f"its elements are smaller than a byte: pass numpy.asarray(x).astype({wider!r}), or its "
        "bytes, numpy.asarray(x).view('uint8')"
    )


def _of_torch() -> Iterator[WayOut]:
    """Yield the rows of torch, in the order in which the states of a tensor hide each other."""
    many = (
        "a nested tensor holds several tensors: pass x.to_padded_tensor(0.0), or each of x.unbind()"
    )
    for classes, text in {
        "MaskedTensor": "a masked tensor is two tensors: pass x.get_data(), and x.get_mask()",
        "FakeTensor": "a fake tensor has no memory: pass torch.zeros(x.shape, dtype=x.dtype), made "
        "outside its FakeTensorMode",
        "DTensor": "a distributed tensor is spread over processes: pass x.to_local(), the part "
        "of this process",
        "AsyncCollectiveTensor": "a collective operation has not ended: pass x.wait()",
        "FunctionalTensor": "a functional tensor has no memory: pass "
        "torch._from_functional_tensor(x.elem)",
        "NestedTensor": many,
    }.items():
        yield WayOut("torch", text, classes)
    states: dict[str, Callable[[Any], Any]] = {
        "it is inside torch.func: pass it after vmap, grad or jvp has returned": lambda x: (
            sys.modules["torch"]._C._functorch.is_functorch_wrapped_tensor(x)
        ),
        "a functional tensor has no memory: pass torch._from_functional_tensor(x)": lambda x: (
            sys.modules["torch"]._is_functional_tensor(x)
        ),
        many: lambda x: x.is_nested,
        "a meta tensor has no memory: pass torch.zeros_like(x, device='cpu')": lambda x: x.is_meta,
        "a quantized tensor is integers and a scale: pass x.dequantize(), or x.int_repr() for its "
        "integers": lambda x: x.is_quantized,
        "pass x.to_dense()": lambda x: str(x.layout) != "torch.strided",
        "pass x.resolve_conj()": lambda x: x.is_conj(),
        "a zero tensor of autograd has no memory: pass x.clone()": lambda x: x._is_zerotensor(),
        "pass x.view(torch.uint8), its bytes": lambda x: str(x.dtype).startswith("torch.bits"),
    }
    for text, test in states.items():
        yield WayOut("torch", text, test=test)
    yield WayOut("torch", _tensors_inside)


def _of_arrow(types: str, text: str) -> WayOut:
    """Return the row of arrays with some types; a chunked array has no buffers."""

    def has_type(x: Any) -> bool:
        return hasattr(x, "buffers") and bool(re.match(rf"({types})(\W|$)", str(x.type)))

    return WayOut("pyarrow", text, test=has_type)


_SYMBOLIC = (
    "a symbolic tensor has no memory: pass it outside tensorflow.function, or in the function of "
    "tensorflow.numpy_function"
)

_TIMES = "pass x.view('int{0}'), or x.view('int{0}').fill_null(0) if it has nulls"

#: The first row that holds is used.
WAYS_OUT: tuple[WayOut, ...] = (
    *_of_torch(),
    WayOut(
        "jax|jaxlib",
        "a traced array has no memory: pass it outside jax.jit, or in the function of "
        "jax.pure_callback",
        ".*Tracer.*",
    ),
    WayOut("jax", "keys are not numbers: pass jax.random.key_data(x)", "PRNGKeyArray"),
    WayOut("jax", "a reference is not an array: pass x[...]", "Ref"),
    WayOut(
        "jax",
        "it only describes an array: pass jax.numpy.zeros(x.shape, x.dtype)",
        "ShapeDtypeStruct",
    ),
    WayOut(
        "jax|jaxlib",
        "it was deleted, or donated to a function: pass an array that is still there",
        test=lambda x: x.is_deleted(),
    ),
    WayOut(
        "jax|jaxlib",
        "a sharded array is spread over devices: pass numpy.asarray(x), or each of its shards, "
        "x.addressable_shards[i].data",
        test=lambda x: len(x.sharding.device_set) > 1,
    ),
    WayOut("tensorflow", _SYMBOLIC, "SymbolicTensor|Tensor"),
    WayOut(
        "tensorflow",
        "a ragged tensor has rows of different lengths: pass x.to_tensor()",
        "RaggedTensor",
    ),
    WayOut("tensorflow", "pass tensorflow.sparse.to_dense(x)", "SparseTensor"),
    WayOut("tensorflow", "pass tensorflow.convert_to_tensor(x)", "IndexedSlices"),
    WayOut(
        "tensorflow",
        lambda x: f"pass tensorflow.bitcast(x, {x.dtype.name[1:]!r}) for its integers",
        test=lambda x: x.dtype.name.startswith(("qint", "quint")),
    ),
    WayOut("jax|jaxlib|tensorflow", _bytes_of_small_elements),
    WayOut(
        "keras",
        "a symbolic tensor has no memory: pass the result of its model for an array",
        "KerasTensor",
    ),
    WayOut(
        "xarray",
        lambda x: (
            f"a dataset holds several arrays: pass x[{next(iter(x.data_vars))!r}].data, or another"
        ),
        "Dataset",
        test=lambda x: len(x.data_vars),
    ),
    WayOut("scipy.sparse", "pass x.toarray()"),
    WayOut("pyarrow", "pass numpy.asarray(x.as_py())", ".*Scalar"),
    WayOut(
        "pyarrow",
        "pass numpy.asarray(x), which has NaN for nulls, or one of its columns",
        "Table|RecordBatch",
    ),
    _of_arrow("date32|time32", f"times have no DLPack type: {_TIMES.format(32)}"),
    _of_arrow(
        "date64|time64|timestamp|duration", f"times have no DLPack type: {_TIMES.format(64)}"
    ),
    _of_arrow("fixed_size_list|list|large_list", "an array of lists is not flat: pass x.flatten()"),
    _of_arrow(
        "string|binary|large_string|large_binary",
        "strings have no DLPack type: pass pyarrow.concat_arrays([x]).buffers()[2], the bytes of "
        "all of them",
    ),
    _of_arrow("string_view|binary_view", "pass x.cast('string'), or x.cast('binary')"),
    _of_arrow("bool", "pass numpy.asarray(x.fill_null(False))"),
    _of_arrow("decimal\\d+|null", "pass numpy.asarray(x.cast('float64')), which has NaN for nulls"),
    _of_arrow("dictionary", "pass x.dictionary_decode(), or x.indices"),
    _of_arrow("struct", "pass x.field(0), or another of its fields"),
    WayOut(
        "pyarrow",
        "pass numpy.asarray(x), which has NaN for nulls, or replace nulls with x.fill_null(value)",
    ),
)
