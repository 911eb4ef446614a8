# SPDX-License-Identifier: Apache-2.0
"""Known limitations of consumers: one row each, with its reason. Pure Python.

A consumer without a row is assumed to behave well: it is tried directly, then with a host view. A
row describes arrays that would crash a consumer, give wrong results, or cannot work.

A *function* of a library can read the protocols of an array in another order than the library's
``from_dlpack``: ``torch.asarray`` reads the buffer protocol, and takes every buffer for a flat one
of float32. So a function is given an array of its own library, which ``from_dlpack`` made, or a
NumPy array. `FUNCTIONS` has those that copy, that take something else, or that lose the dtype.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np

from sycl_ext._negotiation.array_facts import ArrayFacts
from sycl_ext._negotiation.kinds import ALLOCATED, loaded
from sycl_ext._negotiation.reads import Reads

#: Dtypes that neither ONNX nor torch has.
RARE_FP8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")
FP8 = (
    *RARE_FP8,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
NARROW = ("bfloat16", *FP8)
COMPLEX = ("complex64", "complex128")
SMALL = ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16")
WIDE = ("int64", "uint64", "float64", "complex128")
ALL = ("*",)  # every dtype


@dataclass(frozen=True, eq=False)  # compared by identity, for caches
class Consumer:
    """One consumer library.

    What depends on the configuration of the library is a function without arguments, which a
    decision asks through its `Reads`.
    """

    package: str  # its import name
    called: str = ""  # the name of a function of it, if the row is about that
    entry: str = ":from_dlpack"  # its importing function, from the package: ".module:name"
    memory: Literal["any", "host", "usm"] = "any"
    #: Kinds of USM that a consumer of host memory also takes, as it is configured now.
    usm_types: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    #: Whether it takes memory of CUDA or HIP under DLPack's device types for them, as it is
    #: configured now; None: it does if it takes any memory.
    takes_native: Callable[[], bool] | None = None
    root_only: bool = False  # whether it refuses a sub-device under the id of its root device
    #: Whether it does not name the queue on which it will use the memory. The export then waits.
    drops_stream: bool = False
    takes: Literal["producer", "legacy capsule", "NumPy array"] = "producer"
    #: What its other functions take; "own array": the result of `entry`.
    functions: Literal["own array", "NumPy array", "producer"] = "own array"
    #: The function to use in place of `entry` for bfloat16 and float8. It takes a producer with
    #: ``__array__``.
    narrow_entry: str = ""
    strides: Literal["any", "nonnegative", "compact"] = "any"
    alignment: int = 1  # every address must be a multiple of this number
    #: Read-only memory. "dropped": it would write to it; "refused": it cannot be told that it must
    #: not. In both cases it gets a copy.
    readonly: Literal["kept", "dropped", "refused"] = "kept"
    system_usm: bool = True  # whether it takes host memory that a device reads in place
    null_data: bool = True  # whether it accepts the NULL pointer of an array without elements
    ndims: range = range(65)  # the numbers of dimensions that it supports
    copies: tuple[str, ...] = ()  # the dtypes that it always copies, or ALL
    keeps: Literal["any", "C", "F"] = "any"  # it copies arrays of another order
    instead: str = ""  # what to call in place of a function that loses dtype and shape
    any_context: bool = False  # whether it learns the context, so takes memory of private ones
    is_library: bool = True  # whether every exception is a refusal: the function only imports
    lacks: tuple[str, ...] = ()  # dtypes that it does not support
    #: Dtypes that it would silently narrow, as it is configured now.
    narrows: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    #: Takes the library's importing function, and returns a faster function with the same result,
    #: by ``__sycl_usm_array_interface__``. That takes compact, writable USM of a root device, on
    #: its shared queue. None: the library has none for that function.
    described: Callable[[Callable[[Any], Any]], Callable[[Any], Any] | None] | None = None
    reason: str = ""  # for the row, with the version in which it was seen
    is_listed: bool = True  # False: the table has no row for this function of a user
    since: str | None = None  # the first version it is about; None: all before the next row

    def takes_usm(self, usm_type: str, reads: Reads) -> bool:
        """Whether this consumer is tried with USM of that kind directly."""
        return self.memory != "host" or usm_type in reads.answer(self.usm_types)

    def tries_native(self, reads: Reads) -> bool:
        """Whether this consumer is tried with memory of CUDA or HIP under their device types."""
        if self.takes_native is None:
            return self.memory == "any"
        return self.memory != "usm" and bool(reads.answer(self.takes_native))

    def copy_needed(self, array: ArrayFacts) -> str | None:
        """Return why this consumer cannot get a view of an array; None: it can."""
        if array.readonly and self.readonly == "dropped":
            return f"the memory is read-only, and {self.package} would write to it"
        if array.readonly and self.readonly == "refused":
            return f"the memory is read-only, and {self.package} cannot be told so"
        if array.usm_type == "system" and not self.system_usm:
            return f"{self.package} does not take 'system' USM"
        if self.strides == "compact" and not array.c_contiguous:
            return f"{self.package} takes compact arrays only"
        if self.strides == "nonnegative" and array.reversed:
            return f"{self.package} does not take negative strides"
        if array.alignment % self.alignment:
            return f"{self.package} needs addresses that are multiples of {self.alignment}"
        return None

    @property
    def title(self) -> str:
        """The name in messages."""
        return self.called or self.package

    def always_copies(self, array: ArrayFacts) -> bool:
        """Whether the result is a copy of an array, whatever this consumer is given."""
        if self.keeps == "C" and not array.c_contiguous:
            return True
        if self.keeps == "F" and not array.f_contiguous:
            return True
        return self.copies == ALL or array.dtype in self.copies

    def refusal(self, array: ArrayFacts, reads: Reads) -> str | None:
        """Return why a copy does not help; None: it does."""
        dtype = array.dtype
        if self.instead:
            return f"{self.title} reads bytes without their dtype and shape; pass {self.instead}"
        if dtype in self.lacks:
            bits = {"bfloat16": "uint16", **dict.fromkeys(("bool", *FP8), "uint8")}.get(dtype)
            view = f", or pass its bits: sycl_ext.exchange(x, 'numpy').view('{bits}')"
            return (
                f"{self.package} has no {dtype}; convert it to another dtype first, in its own "
                f"library (no dtype is converted silently){view if bits else ''}"
            )
        by_array = self.takes == "NumPy array" or self.narrow_entry
        if dtype in NARROW and by_array and not reads.answer(_has_ml_dtypes):
            return (
                f"NumPy has no {dtype} of its own; install ml_dtypes, which has, or convert it to "
                "another dtype first, in its own library"
            )
        if dtype in reads.answer(self.narrows):
            return (
                f"{self.package} would silently convert {dtype} to a narrower dtype; to allow it, "
                f"convert it first, in its own library ({self.reason})"
            )
        return None if array.ndim in self.ndims else self._wrong_ndim(array.ndim)

    def _wrong_ndim(self, ndim: int) -> str:
        least, most = self.ndims[0], self.ndims[-1]
        count = f"{least}" if least == most else f"{least} to {most}"
        if most == 1:
            way = "x.reshape((-1,))"
        elif ndim == 0:
            way = f"x.reshape({(1,) * least})"
        else:
            way = "x.reshape((-1, 1))" if ndim < least else "x.reshape((x.shape[0], -1))"
        return (
            f"{self.title} takes arrays of {count} dimensions, and this one has {ndim}; pass {way}"
        )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("+")[0].split(".")[:3] if number.isdigit())


def _has_ml_dtypes() -> bool:
    if "ml_dtypes" in sys.modules:
        return sys.modules["ml_dtypes"] is not None
    return importlib.util.find_spec("ml_dtypes") is not None


def _jax_narrows() -> tuple[str, ...]:
    config = loaded("jax", "config")
    return () if config is None or config.jax_enable_x64 else WIDE


def _torch_usm_types() -> tuple[str, ...]:
    xpu = getattr(sys.modules.get("torch"), "xpu", None)  # asked in each exchange: no call of ours
    return ("device",) if xpu is not None and xpu.is_available() else ()


def _torch_takes_native() -> bool:
    """Whether torch has GPUs of CUDA, or of ROCm, which torch calls CUDA as well."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_available())


def _jax_takes_native() -> bool:
    backend = loaded("jax", "default_backend")
    return backend is not None and backend() == "gpu"


def _open3d_usm_types() -> tuple[str, ...]:
    """All kinds if Open3D has one device; the numbers of a GPU and the CPU are not DLPack's."""
    sycl = getattr(loaded("open3d", "core"), "sycl", None)
    return ALLOCATED if sycl is not None and sycl.device_count() == 1 else ()


def _dpnp_described(from_dlpack: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """Import a description as ``dpnp.asarray`` does, in a fifth of its time.

    It replaces dpnp's own function only, not a function that a program has put in its place.
    """
    if from_dlpack is not loaded("dpnp.dpnp_iface_arraycreation", "from_dlpack"):
        return None
    try:
        from dpctl.memory import as_usm_memory
        from dpnp import ndarray
        from dpnp.tensor import usm_ndarray

        wrap = ndarray._create_from_usm_ndarray
    except (ImportError, AttributeError):  # of another release
        return None

    def read(x: Any) -> Any:  # `as_usm_memory` reads a description twice, and keeps its object
        interface = x.__sycl_usm_array_interface__
        once = SimpleNamespace(__sycl_usm_array_interface__=interface, kept=x)
        return wrap(usm_ndarray(x.shape, dtype=x.dtype, buffer=as_usm_memory(once)))

    return read


#: Libraries whose functions take NumPy arrays, and the dtypes that the libraries lack.
OF_NUMPY: dict[str, tuple[str, ...]] = {
    "numba": NARROW,
    "openvino": (),
    "pandas": NARROW,
    "PIL": NARROW,
    "polars": (*COMPLEX, *NARROW),
    "scipy": NARROW,
    "sklearn": NARROW,
    "xgboost": NARROW,
}
ONNXRUNTIME: dict[str, Any] = {
    "package": "onnxruntime",
    "functions": "NumPy array",
    "entry": ":capi.onnxruntime_pybind11_state.OrtValue.from_dlpack",
    "memory": "host",
    "takes": "legacy capsule",
    "strides": "compact",
    "readonly": "refused",
}
#: A library whose versions differ has several rows, one after the other, oldest first.
CONSUMERS: tuple[Consumer, ...] = (
    Consumer(
        "numpy",
        memory="host",
        readonly="kept" if _release(np.__version__) >= (2, 1) else "refused",
        narrow_entry=":asarray",
        reason="2.4 raises RuntimeError on kDLOneAPI; before 2.1 it asks for the legacy struct, "
        "which cannot say read-only; its from_dlpack has no bfloat16 and float8, and its arrays "
        "have these dtypes of ml_dtypes",
    ),
    Consumer(
        "array_api_strict",
        memory="host",
        lacks=("float16", *NARROW),
        reason="2.6: NumPy inside; does not forward device=; no float16 in the standard",
    ),
    Consumer(
        "torch",
        memory="host",
        usm_types=_torch_usm_types,
        takes_native=_torch_takes_native,
        root_only=True,
        drops_stream=True,
        strides="nonnegative",
        readonly="dropped",
        lacks=RARE_FP8,
        reason="2.13 on the CPU: RuntimeError on kDLOneAPI; aborts on negative strides "
        "(pytorch#188023); ignores the read-only flag; has five of the float8 dtypes; with XPU it "
        "takes USM of kind device, only of a root device, and names no stream (pytorch#195825)",
    ),
    Consumer(
        "jax",
        entry=".dlpack:from_dlpack",
        memory="host",
        strides="compact",
        takes_native=_jax_takes_native,
        alignment=64,
        readonly="refused",
        narrows=_jax_narrows,
        reason="0.10 asks for the legacy struct, and refuses kDLOneAPI before it asks; strides "
        "that are not compact are an error; it copies from an address that is not a multiple of "
        "64; 64-bit dtypes need jax_enable_x64",
    ),
    Consumer(
        "tensorflow",
        entry=":experimental.dlpack.from_dlpack",
        memory="host",
        takes="legacy capsule",
        strides="compact",
        alignment=64,
        readonly="refused",
        lacks=FP8,
        reason="2.21 takes a legacy capsule, of compact arrays; it takes any address, and aborts "
        "when it computes with one that is not a multiple of 64",
    ),
    Consumer(
        **ONNXRUNTIME,
        lacks=("bool", *COMPLEX, *FP8),
        reason="1.31 takes a legacy capsule, of compact arrays, and has no complex dtypes; bool "
        "must be sent as uint8, with OrtValue.from_dlpack(capsule, True)",
    ),
    Consumer(
        **ONNXRUNTIME,
        since="1.32",
        lacks=(*COMPLEX, *RARE_FP8),
        reason="1.32 takes a legacy capsule, of compact arrays; it has bool and five of the float8 "
        "dtypes, and no complex ones",
    ),
    Consumer(
        "pyarrow",
        entry=":Tensor.from_dlpack",
        functions="NumPy array",
        memory="host",
        strides="nonnegative",
        lacks=("bool", *COMPLEX, *NARROW),
        reason="26: ArrowNotImplementedError on kDLOneAPI; no bool, complex or 8-bit floats",
    ),
    Consumer(
        "mlx",
        entry=".core:from_dlpack",
        memory="host",
        strides="nonnegative",
        copies=ALL,
        lacks=FP8,
        narrows=("float64", "complex128"),
        reason="0.32 on the CPU: ValueError on kDLOneAPI and on negative strides; copies whatever "
        "it is given; float64 becomes float32, and complex128 complex64",
    ),
    Consumer(
        "tvm_ffi",
        readonly="dropped",
        reason="0.1.15 takes kDLOneAPI as it is, through the C exchange API, and drops the "
        "read-only flag",
    ),
    Consumer(
        "dpnp",
        memory="usm",
        strides="nonnegative",
        null_data=False,
        lacks=NARROW,
        described=_dpnp_described,
        reason="0.20: TypeError on the NULL pointer of an empty array; ValueError on negative "
        "strides with byte_offset 0; returns a numpy.ndarray for host memory; no bfloat16 or "
        "float8",
    ),
    Consumer(
        "open3d",
        entry=":core.Tensor.from_dlpack",
        functions="NumPy array",
        memory="host",
        usm_types=_open3d_usm_types,
        readonly="refused",
        lacks=("float16", *COMPLEX, *NARROW),
        reason="0.20 takes DLPack's number of a device for one of its own, which are a GPU and the "
        "CPU, and dies in a kernel on the wrong one; asks for the legacy struct, which cannot say "
        "read-only; RuntimeError on other dtypes",
    ),
    Consumer(
        "onedal",
        entry=".datatypes:to_table",
        functions="producer",
        memory="any",
        strides="compact",
        readonly="refused",
        ndims=range(1, 65),
        copies=ALL,
        lacks=(*SMALL, *COMPLEX, *NARROW),
        reason="2026.2 always copies; only float32, float64, int32 and int64, with "
        "compact strides; SIGSEGV or ValueError on arrays of 0 dimensions",
    ),
    Consumer(
        "dpctl",
        entry=".memory:as_usm_memory",
        functions="producer",
        memory="usm",
        strides="compact",
        readonly="dropped",
        system_usm=False,
        null_data=False,
        lacks=NARROW,
        any_context=True,
        reason="0.22: bytes without shape, strides or a read-only flag; ValueError on 'system' "
        "USM, on the NULL pointer of an empty array, and on bfloat16 and float8",
    ),
    Consumer(
        "sycl_ext",
        memory="usm",
        functions="producer",
        any_context=True,
        reason="this package; it copies host memory to a default device that cannot read it",
    ),
    *(
        Consumer(
            package,
            entry="",
            memory="host",
            functions="NumPy array",
            lacks=lacks,
            is_library=False,  # it has read the array, so it raises errors about the numbers
        )
        for package, lacks in OF_NUMPY.items()
    ),
)


#: The largest alignment that a consumer needs.
MAX_ALIGNMENT = max(row.alignment for row in CONSUMERS)


@functools.lru_cache(maxsize=64)
def consumer_for(package: str, version: str) -> Consumer | None:
    """Return the row for a version of a library; None: it has no row.

    A version that cannot be read counts as the oldest one.

    Examples
    --------
    >>> [len(consumer_for("onnxruntime", have).lacks) for have in ("1.31.1", "1.32.0", "2.0", "")]
    [11, 5, 5, 11]
    """
    rows, have = [row for row in CONSUMERS if row.package == package], _release(version)
    matching = [row for row in rows if row.since is None or _release(row.since) <= have]
    return matching[-1] if matching else None


@dataclass(frozen=True)
class Function:
    """A public function of a library of the table, where it differs from the library."""

    name: str  # "package.module:function"
    limits: Mapping[str, Any] = field(default_factory=dict)  # the fields of `Consumer` that differ
    takes: Literal["own array", "NumPy array", "producer"] | None = None  # None: as all functions


COPIES: dict[str, Any] = {"copies": ALL}
ONE_DIM: dict[str, Any] = {"ndims": range(1, 2)}
C_ORDER: dict[str, Any] = {"ndims": range(1, 65), "keeps": "C"}
F_ORDER: dict[str, Any] = {"ndims": range(1, 65), "keeps": "F"}


def _reads_bytes(function: str, instead: str) -> Function:
    return Function(function, {"instead": instead})


#: All conversion functions of these libraries were tried (``tests/support/conversions.py``).
FUNCTIONS: tuple[Function, ...] = (
    Function("numpy:array", COPIES),
    Function("numpy:copy", COPIES),
    Function("numpy:ascontiguousarray", C_ORDER),
    Function("numpy:asfortranarray", F_ORDER),
    _reads_bytes("numpy:frombuffer", "numpy.asarray"),
    Function("torch:tensor", COPIES, takes="producer"),  # it warns about a tensor of torch
    Function("torch:from_numpy", {"lacks": NARROW}, takes="NumPy array"),
    _reads_bytes("torch:frombuffer", "torch.asarray"),
    Function("jax.numpy:array", COPIES),
    Function("jax.numpy:copy", COPIES),
    _reads_bytes("jax.numpy:frombuffer", "jax.numpy.asarray"),
    Function("dpnp:array", COPIES),
    Function("dpnp:copy", COPIES),
    Function("dpnp:ascontiguousarray", C_ORDER),
    Function("dpnp:asfortranarray", F_ORDER),
    _reads_bytes("dpnp:frombuffer", "dpnp.asarray"),
    Function("dpnp.tensor:from_numpy", COPIES, takes="NumPy array"),
    Function(
        "pyarrow:array",
        {**ONE_DIM, "keeps": "C", "copies": ("bool",), "lacks": (*COMPLEX, *NARROW)},
    ),
    Function("pyarrow:Tensor", takes="own array"),
    Function("pandas:Series", {**ONE_DIM, **COPIES}),
    Function("pandas:Index", {**ONE_DIM, **COPIES, "lacks": ("float16", *NARROW)}),
    Function("pandas:array", {**ONE_DIM, **COPIES}),
    Function("pandas:DataFrame", {"ndims": range(2, 3), **COPIES}),
    Function("polars:Series", {"ndims": range(1, 65), "copies": ("bool",)}),
    Function("polars:DataFrame", {"ndims": range(2, 3), **COPIES}),
    Function("sycl_ext:host_view", {"memory": "host"}),
    Function("sycl_ext:staged", {"memory": "any"}),
)


class Target(NamedTuple):
    """A consumer as it is called."""

    row: Consumer  # with the limits of the function
    call: Callable[[Any], Any]  # takes a producer, or the object that `row` names
    then: Callable[[Any], Any] | None = None  # a function that takes the array `call` returned
    described: Callable[[Any], Any] | None = None  # in place of `call`: `Consumer.described`
    lasts: bool = False  # whether its name finds the consumer, so that it may be kept

    def for_narrow(self, reads: Reads) -> "Target":
        """Return the target for bfloat16 and float8."""
        return self._replace(call=_entry(self.row.package, self.row.narrow_entry, reads))

    def finish(self, array: Any) -> Any:
        """Pass the library's own array to its function; a class of such arrays has one already."""
        if isinstance(self.then, type) and isinstance(array, self.then):
            return array
        return array if self.then is None else self.then(array)


def find_consumer(consumer: Any, reads: Reads | None = None) -> Target:
    """Return how a consumer is called: a module, its name, or a callable.

    Everything that the answer depends on is added to `reads`.
    """
    reads = Reads() if reads is None else reads
    if isinstance(consumer, str):
        consumer = _module_named(consumer, reads)
    if isinstance(consumer, ModuleType):
        return _target_of_module(consumer, reads)
    if not callable(consumer):
        kind = type(consumer)
        raise TypeError(
            f"consumer is a {kind.__module__}.{kind.__qualname__}; pass a module with "
            "from_dlpack, a callable of one argument, or a device"
        )
    function = consumer
    while isinstance(function, functools.partial):
        function = function.func
    module = _module_of(function)
    package = _package_of(module)
    row = _row_of(package, reads)
    if row is None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        row = _unlisted(package or "?", f"{module}.{name}" if module else name)
        target = Target(row, consumer)
    else:
        target = _target_of_function(row, consumer, function, module, reads)
    own = getattr(consumer, "__module__", None)
    return target._replace(lasts=_is_found(consumer, (own, module, package), reads))


@functools.lru_cache(maxsize=64)
def _unlisted(package: str, called: str) -> Consumer:
    """Return the row of a function for which the table has none."""
    return Consumer(package, called=called, functions="producer", is_library=False, is_listed=False)


def _is_found(function: Any, modules: tuple[Any, ...], reads: Reads) -> bool:
    """Whether a function is an attribute of one of the modules, by its own name."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or "<" in getattr(function, "__qualname__", ""):
        return False  # "<lambda>", or in the "<locals>" of a function
    for module_name in dict.fromkeys(modules):
        module = reads.module(module_name) if isinstance(module_name, str) else None
        if module is not None and reads.attribute(module, name) is function:
            return True
    return False


def _row_of(package: str, reads: Reads) -> Consumer | None:
    """Return the row of a package in the version that is in use, if there is one."""
    in_use = reads.module(package)
    version = "" if in_use is None else reads.attribute(in_use, "__version__")
    return consumer_for(package, str(version))


def _target_of_module(module: ModuleType, reads: Reads) -> Target:
    name = getattr(module, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(
            f"consumer is a module whose __name__ is {name!r}, which names no library; pass its "
            "function, as in exchange(x, module.from_dlpack)"
        )
    package = _package_of(name)
    row = _row_of(package, reads) or Consumer(package)
    call = reads.attribute(module, "from_dlpack")
    if row.takes != "producer" or not callable(call):
        call = _importing_function(row, reads)
    lasts = reads.module(name) is module
    return Target(row, call, described=row.described and row.described(call), lasts=lasts)


def _target_of_function(
    row: Consumer, consumer: Any, function: Any, module: str, reads: Reads
) -> Target:
    """Return how a function of a library is called, which may be the inner one of a partial."""
    if getattr(function, "__name__", "") == "from_dlpack":
        return Target(row, consumer)
    known = _known_function(function, row.package, reads)
    takes = row.functions
    if known is not None:
        takes = known.takes or takes
        row = replace(row, called=known.name.replace(":", "."), **known.limits)
    if takes == "own array":
        call = _nearest_import(row, module, reads) or _importing_function(row, reads)
        return Target(row, call, consumer, row.described and row.described(call))
    if takes == "NumPy array":
        row = replace(row, memory="host", takes=takes, described=None, drops_stream=False)
    return Target(row, consumer)


def _known_function(function: Any, package: str, reads: Reads) -> Function | None:
    """Return the row of a function. It is compared by identity: its ``__name__`` may differ."""
    for row in FUNCTIONS:
        module, _, path = row.name.partition(":")
        named: Any = reads.module(module) if _package_of(module) == package else None
        for name in path.split("."):
            named = None if named is None else reads.attribute(named, name)
        if named is not None and named is function:
            return row
    return None


def _module_named(name: str, reads: Reads) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except (ModuleNotFoundError, ValueError, TypeError) as error:
        raise ValueError(
            f"consumer is {name!r}, which is neither a device such as 'gpu:0' nor a module "
            f"that can be imported ({error}); pass the name of an installed package, such as "
            "'numpy'"
        ) from error
    reads.module(name)
    return module


def _importing_function(row: Consumer, reads: Reads) -> Callable[[Any], Any]:
    """Return the function of a library that imports arrays."""
    if row.entry:
        return _entry(row.package, row.entry, reads)
    names = [f.name.replace(":", ".") for f in FUNCTIONS if f.name.startswith(f"{row.package}:")]
    such = f", such as {names[0]}" if names else ""
    raise TypeError(
        f"consumer {row.package} has no from_dlpack; pass one of its functions{such}: it gets a "
        "NumPy array"
    )


def _nearest_import(row: Consumer, name: str, reads: Reads) -> Any:
    """Return the ``from_dlpack`` of the innermost module around a function, if it takes producers.

    None: no module has one.
    """
    while name and row.takes == "producer":
        module = reads.module(name)
        function = None if module is None else reads.attribute(module, "from_dlpack")
        if function is not None:
            return function
        name = name.rpartition(".")[0]
    return None


def _entry(package: str, entry: str, reads: Reads) -> Callable[[Any], Any]:
    name, _, path = f"{package}{entry}".partition(":")
    try:
        named: Any = importlib.import_module(name)
        reads.module(name)
        for attribute in path.split("."):
            named = reads.attribute(named, attribute)
        if named is None:
            raise AttributeError(path)
    except (AttributeError, ImportError, ValueError):
        raise TypeError(
            f"consumer {package} has no {entry.lstrip('.:')}; use the array of "
            "exchange(x, numpy), or pass a module with from_dlpack or a callable"
        ) from None
    call: Callable[[Any], Any] = named
    return call


@functools.lru_cache(maxsize=64)
def _package_of(module: str) -> str:
    """Return the library of a module; array_api_compat behaves like the library that it wraps."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "array_api_compat" and rest else package


def _module_of(consumer: Any) -> str:
    """Return the module that a callable comes from; that of a known library is preferred."""
    own = getattr(consumer, "__self__", None)
    candidates = (
        getattr(consumer, "__module__", None),
        own.__name__ if isinstance(own, ModuleType) else getattr(type(own), "__module__", None),
        type(consumer).__module__,
    )
    names = [name for name in candidates if isinstance(name, str) and name != "builtins"]
    known = (name for name in names if consumer_for(_package_of(name), "") is not None)
    return next(known, names[0] if names else "")
