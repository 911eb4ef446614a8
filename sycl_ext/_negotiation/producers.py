# SPDX-License-Identifier: Apache-2.0
"""Known peculiarities of producers: one row each, with its reason. Pure Python.

A producer without a row is trusted. A row says where a library's arrays deviate from their
protocol.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from typing import Any, NamedTuple

from sycl_ext._negotiation.errors import REFUSALS


def _negated(tensor: Any) -> str | None:
    if not tensor.is_neg():
        return None
    return (
        "it has the negative bit set, so its memory has the other sign; tensor.resolve_neg() "
        "makes a tensor that can be exchanged"
    )


def _has_no_numbers(tensor: Any) -> str | None:
    dtype = tensor.dtype.name
    if dtype not in ("string", "resource", "variant"):
        return None
    return (
        f"its dtype is {dtype}, whose elements are objects of TensorFlow and no numbers; exchange "
        "tensors of numbers, such as tensorflow.io.decode_raw makes of strings"
    )


#: Classes of torch whose tensors have no memory of their own, or more than one.
_TORCH_CLASSES = {
    "MaskedTensor": "a masked tensor is two tensors: pass x.get_data(), and x.get_mask()",
    "FakeTensor": "a fake tensor has no memory: pass torch.zeros(x.shape, dtype=x.dtype), made "
    "outside its FakeTensorMode",
    "DTensor": "a distributed tensor is many: pass x.to_local(), the one of this process",
    "AsyncCollectiveTensor": "a collective operation has not ended: pass x.wait()",
    "FunctionalTensor": "a functional tensor has no memory: pass "
    "torch._from_functional_tensor(x.elem)",
    "NestedTensor": "a nested tensor is many: pass x.to_padded_tensor(0.0), or each of x.unbind()",
}


def _is_wrapped(x: Any) -> bool:
    torch = sys.modules["torch"]
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(x))


def _is_functional(x: Any) -> bool:
    return bool(sys.modules["torch"]._is_functional_tensor(x))


#: States of ``torch.Tensor`` itself, in the order in which they hide each other.
_TORCH_STATES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (_is_wrapped, "it is inside torch.func: pass it after vmap, grad or jvp has returned"),
    (
        _is_functional,
        "a functional tensor has no memory: pass torch._from_functional_tensor(x)",
    ),
    (
        lambda x: x.is_nested,
        "a nested tensor is many: pass x.to_padded_tensor(0.0), or each of x.unbind()",
    ),
    (lambda x: x.is_meta, "a meta tensor has no memory: pass torch.zeros_like(x, device='cpu')"),
    (
        lambda x: x.is_quantized,
        "a quantized tensor is integers and a scale: pass x.dequantize(), or x.int_repr() for its "
        "integers",
    ),
    (lambda x: str(x.layout) != "torch.strided", "pass x.to_dense()"),
    (lambda x: x.is_conj(), "pass x.resolve_conj()"),
    (lambda x: x._is_zerotensor(), "a zero tensor of autograd has no memory: pass x.clone()"),
    (lambda x: str(x.dtype).startswith("torch.bits"), "pass x.view(torch.uint8), its bytes"),
)


def _way_out_of_torch(x: Any) -> str:
    for cls in type(x).__mro__:
        if cls.__name__ in _TORCH_CLASSES and cls.__module__.startswith("torch."):
            return _TORCH_CLASSES[cls.__name__]
    for is_so, way_out in _TORCH_STATES:
        with suppress(*REFUSALS):  # a wrapper answers few questions
            if is_so(x):
                return way_out
    return _way_out_of_wrapper(x)


def _way_out_of_wrapper(x: Any) -> str:
    """Return the way out for a subclass of ``torch.Tensor`` that holds tensors in place of memory.

    ``__tensor_flatten__``, torch's protocol for such classes, names the attributes that hold them.
    """
    names: list[str] = []
    with suppress(*REFUSALS):
        if x.data_ptr() or not x.numel():
            return ""
        names = list(x.__tensor_flatten__()[0])
    inside = " and ".join(f"x.{name}" for name in names) or "the tensor that it wraps"
    return f"a wrapper tensor has no memory of its own: pass {inside}"


def _way_out_of_small_elements(x: Any) -> str:
    """Return the way out for an array whose elements have less than a byte each."""
    dtype = getattr(x, "dtype", "")
    small = re.match(r"(u?int|float)[1-7](_|$)", str(getattr(dtype, "name", dtype)))
    if not small:
        return ""
    wider = "float32" if small[1] == "float" else f"{small[1]}8"
    return (
        f"an element has less than a byte: pass numpy.asarray(x).astype({wider!r}), or its bytes, "
        "numpy.asarray(x).view('uint8')"
    )


def _way_out_of_jax(x: Any) -> str:
    name = type(x).__name__
    if "Tracer" in name:
        return (
            "a traced array has no memory: pass it outside jax.jit, or in the function of "
            "jax.pure_callback"
        )
    if name in _JAX_CLASSES:
        return _JAX_CLASSES[name]
    with suppress(*REFUSALS):
        if x.is_deleted():
            return "it was deleted, or donated to a function: pass an array that is still there"
        if len(x.sharding.device_set) > 1:
            return (
                "a sharded array is many: pass numpy.asarray(x), or each of its shards, "
                "x.addressable_shards[i].data"
            )
    return _way_out_of_small_elements(x)


_JAX_CLASSES = {
    "PRNGKeyArray": "keys are not numbers: pass jax.random.key_data(x)",
    "Ref": "a reference is not an array: pass x[...]",
    "ShapeDtypeStruct": "it only describes an array: pass jax.numpy.zeros(x.shape, x.dtype)",
}
_SYMBOLIC = (
    "a symbolic tensor has no memory: pass it outside tensorflow.function, or in the function of "
    "tensorflow.numpy_function"
)
_TENSORFLOW_CLASSES = {
    "SymbolicTensor": _SYMBOLIC,
    "Tensor": _SYMBOLIC,
    "RaggedTensor": "a ragged tensor is many: pass x.to_tensor()",
    "SparseTensor": "pass tensorflow.sparse.to_dense(x)",
    "IndexedSlices": "pass tensorflow.convert_to_tensor(x)",
}


def _way_out_of_tensorflow(x: Any) -> str:
    name = type(x).__name__
    if name in _TENSORFLOW_CLASSES:
        return _TENSORFLOW_CLASSES[name]
    dtype = str(getattr(getattr(x, "dtype", ""), "name", ""))
    if dtype.startswith(("qint", "quint")):
        return f"pass tensorflow.bitcast(x, {dtype[1:]!r}) for its integers"
    return _way_out_of_small_elements(x)


def _way_out_of_keras(x: Any) -> str:
    if type(x).__name__ != "KerasTensor":
        return ""
    return "a symbolic tensor has no memory: pass the result of its model for an array"


def _way_out_of_xarray(x: Any) -> str:
    names = [*x.data_vars] if type(x).__name__ == "Dataset" else []
    return f"a dataset is many arrays: pass x[{names[0]!r}].data, or another" if names else ""


#: The way out for arrays of Arrow, by the beginnings of their types.
_ARROW_TYPES = {
    ("date32", "time32"): "times have no DLPack type: pass x.view('int32')",
    (
        "date64",
        "time64",
        "timestamp",
        "duration",
    ): "times have no DLPack type: pass x.view('int64')",
    ("fixed_size_list", "list", "large_list"): "an array of lists is not flat: pass x.flatten()",
    ("string", "binary", "large_string", "large_binary"): (
        "strings have no DLPack type: pass x.buffers()[2], the bytes of all of them"
    ),
}


def _way_out_of_pyarrow(x: Any) -> str:
    kind = type(x).__name__
    if kind.endswith("Scalar"):
        return "pass numpy.asarray(x.as_py())"
    if kind in ("Table", "RecordBatch"):
        return "pass numpy.asarray(x), which has NaN for nulls, or one of its columns"
    has_buffers = hasattr(x, "buffers")  # a chunked array has none
    for begin, way_out in _ARROW_TYPES.items():
        if has_buffers and re.match(rf"({'|'.join(begin)})(\W|$)", str(x.type)):
            return way_out
    return (
        "pass numpy.asarray(x), which has NaN for nulls, or replace nulls with x.fill_null(value)"
    )


class Producer(NamedTuple):
    """One producer library."""

    package: str  # its import name, or that of a package in it
    reason: str  # the observation, with the version and a link to the report
    immutable: bool = False  # its arrays are read-only, which a capsule of DLPack 0.x cannot say
    #: The second value of ``data`` in its ``__sycl_usm_array_interface__`` is True for writable.
    inverted_readonly: bool = False
    #: Returns why an array must not be asked for its memory, because its ``__dlpack__`` would end
    #: the process or export wrong numbers; None: it may be asked.
    withheld: Callable[[Any], str | None] | None = None
    #: Reading ``__sycl_usm_array_interface__`` waits for the queue in a way that two threads must
    #: not.
    waits_in_description: bool = False
    #: The way out when an array of the library refuses and its own message names none; or a
    #: function that returns the way out.
    advice: str | Callable[[Any], str] = ""


PRODUCERS: tuple[Producer, ...] = (
    Producer(
        "jax",
        "0.10: arrays are immutable, and exported as DLPack 0.x or without the read-only flag",
        immutable=True,
        advice=_way_out_of_jax,
    ),
    Producer(
        "jaxlib",
        "0.10: the class of jax's arrays says that it is jaxlib's",
        immutable=True,
        advice=_way_out_of_jax,
    ),
    Producer(
        "dpctl.memory",
        "0.22: the second value of ``data`` is documented as 'writable' "
        "(https://intelpython.github.io/dpctl/latest/api_reference/dpctl/"
        "sycl_usm_array_interface.html says read-only)",
        inverted_readonly=True,
    ),
    Producer(
        "onedal", "2026.2: the second value of ``data`` is is_mutable", inverted_readonly=True
    ),
    Producer(
        "torch",
        "2.13: ``__dlpack__`` refuses the conjugate bit and does not look at the negative bit, "
        "which ``torch.tensor([1 + 2j]).conj().imag`` has",
        withheld=_negated,
        advice=_way_out_of_torch,
    ),
    Producer(
        "tensorflow",
        "2.21: ``__dlpack__`` ends the process (a failed CHECK) for strings, resources and "
        "variants",
        withheld=_has_no_numbers,
        advice=_way_out_of_tensorflow,
    ),
    Producer(
        "dpnp",
        "0.20: reading ``__sycl_usm_array_interface__`` calls ``SyclQueue.wait()``; two threads "
        "that do so with one out-of-order queue crash in libintelocl 2026.2 (docs/streams.md)",
        waits_in_description=True,
    ),
    Producer(
        "pyarrow",
        "26: an array with nulls, of bits or of strings has no DLPack form; "
        "``numpy.asarray`` copies numbers with nulls to float64, and bits to bytes",
        advice=_way_out_of_pyarrow,
    ),
    Producer(
        "scipy.sparse",
        "1.17: the ``data`` of a sparse array are its stored elements, which have another shape",
        advice="pass x.toarray()",
    ),
    Producer(
        "xarray",
        "2026.9: numpy.asarray refuses a dataset",
        advice=_way_out_of_xarray,
    ),
    Producer(
        "keras",
        "3.15: ``__array__`` of a KerasTensor raises",
        advice=_way_out_of_keras,
    ),
)


def class_name(x: object) -> str:
    """Return the name of the class of an array, with its library where this package has the name.

    Examples
    --------
    >>> class_name(bytearray())
    'bytearray'
    >>> class_name(type("Tensor", (), {"__module__": "torch"})())
    'torch.Tensor'
    """
    cls = type(x)
    library = cls.__module__.partition(".")[0]
    is_ambiguous = cls.__name__ == "Tensor" and library != "sycl_ext"
    return f"{library}.{cls.__name__}" if is_ambiguous else cls.__name__


#: The beginnings of the modules with a trait: a field of a row that is set.
_WITH_TRAIT = {
    trait: tuple(f"{row.package}." for row in PRODUCERS if getattr(row, trait))
    for trait in ("immutable", "inverted_readonly", "withheld", "waits_in_description")
}


def has_trait(cls: type, trait: str) -> bool:
    """Return whether the library that defines a class has a trait."""
    return f"{cls.__module__}.".startswith(_WITH_TRAIT[trait])


def inherits_trait(cls: type, trait: str) -> bool:
    """Return whether a class, or one of its bases, is of a library with a trait."""
    modules = [f"{base.__module__}." for base in cls.__mro__]
    return any(map(str.startswith, modules, repeat(_WITH_TRAIT[trait])))


def _defines(row: Producer, cls: type) -> bool:
    return f"{cls.__module__}.".startswith(f"{row.package}.")


def _rows_of(x: object) -> Iterator[Producer]:
    """Yield the rows of the libraries that the class of an object or one of its bases is from."""
    for row in PRODUCERS:
        if any(_defines(row, base) for base in type(x).__mro__):
            yield row


def definer(cls: type, *names: str) -> type | None:
    """Return the most derived class that defines one of the names; `object` does not count.

    This runs no code of the class, except comparisons of keys that are not strings.

    Examples
    --------
    >>> class Base:
    ...     def __dlpack__(self): ...
    >>> class Derived(Base): ...
    >>> definer(Derived, "__dlpack__").__name__
    'Base'
    """
    for base in cls.__mro__[:-1]:
        for name in names:
            try:
                if name in vars(base):
                    return base
            except REFUSALS:  # of a key that cannot be compared
                continue
    return None


def why_withheld(x: Any) -> str | None:
    """Return why an array must not be asked for its memory; None: it may be asked."""
    for row in _rows_of(x):
        if row.withheld is not None:
            return row.withheld(x)
    return None


def advice_for(x: Any) -> str:
    """Return the way out of a refusal by an array, for the end of a message.

    Examples
    --------
    >>> array = type("Int64Array", (), {"__module__": "pyarrow.lib"})()
    >>> advice_for(array).partition(",")[0]
    '; pass numpy.asarray(x)'
    >>> advice_for({})
    ''
    """
    for row in _rows_of(x):
        way_out = row.advice(x) if callable(row.advice) else row.advice
        if way_out:
            return f"; {way_out}"
    return ""
