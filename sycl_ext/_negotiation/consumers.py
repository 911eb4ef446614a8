# SPDX-License-Identifier: Apache-2.0
"""Known limitations of consumers: one row each, with its reason. Pure Python.

A consumer without a row is assumed to behave well: it is tried directly, then with a host view. A
row describes arrays that would crash a consumer, give wrong results, or cannot work.
"""

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import numpy as np

from sycl_ext._negotiation.kinds import ALLOCATED, loaded

#: Those without a type in ONNX, and in torch.
RARE_FP8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")
FP8 = (
    *RARE_FP8,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
NARROW = ("bfloat16", *FP8)
COMPLEX = ("complex64", "complex128")
SMALL = ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16")
WIDE = ("int64", "uint64", "float64", "complex128")


@dataclass(frozen=True)
class Consumer:
    """One consumer library."""

    package: str  # its import name
    entry: str = ":from_dlpack"  # its importing function, from the package: ".module:name"
    memory: Literal["any", "host", "usm"] = "any"
    #: Kinds of USM that a consumer of host memory also takes, as it is configured now.
    usm_types: Callable[[], tuple[str, ...]] = tuple
    root_only: bool = False  # whether it refuses a sub-device under the id of its root device
    #: Whether it does not name the queue on which it will use the memory: so the export waits.
    drops_stream: bool = False
    takes: Literal["producer", "legacy capsule"] = "producer"
    strides: Literal["any", "nonnegative", "compact"] = "any"
    alignment: int = 1  # every address must be a multiple of this number
    readonly: Literal["kept", "dropped", "refused"] = "kept"  # "dropped": it would write to it
    null_data: bool = True  # whether it accepts the NULL pointer of an array without elements
    zero_dim: bool = True  # whether it supports 0-dimensional arrays
    any_context: bool = False  # whether it gets the context, and so takes a private one's memory
    is_library: bool = True  # whether every exception is a refusal: the function only imports
    lacks: tuple[str, ...] = ()  # dtypes that it does not support
    #: Dtypes that it would silently narrow, as it is configured now.
    narrows: Callable[[], tuple[str, ...]] = tuple
    #: Returns a function of the library that takes compact, writable USM of a root device, on its
    #: shared queue, faster than `entry`: by ``__sycl_usm_array_interface__``.
    described: Callable[[], Callable[[Any], Any] | None] | None = None
    reason: str = ""  # for the row, with the version in which it was seen
    since: str | None = None  # the first version of the row; None: those before the next row's

    def takes_usm(self, usm_type: str) -> bool:
        """Whether this consumer is tried with USM of that kind directly."""
        return self.memory != "host" or usm_type in self.usm_types()

    def copy_needed(self, source: Any) -> str | None:
        """Return why this consumer cannot get a view of a tensor; None: it can."""
        if source.readonly and self.readonly == "dropped":
            return f"the memory is read-only, and {self.package} would write to it"
        if source.readonly and self.readonly == "refused":
            return f"the memory is read-only, and {self.package} cannot be told so"
        if self.strides == "compact" and not source.c_contiguous:
            return f"{self.package} takes compact arrays only"
        if self.strides == "nonnegative" and source.reversed:
            return f"{self.package} does not take negative strides"
        if self.alignment > 1 and source.ptr % self.alignment:
            return f"{self.package} needs addresses that are multiples of {self.alignment}"
        return None

    def refusal(self, *, dtype: str, ndim: int) -> str | None:
        """Return why a copy does not help; None: it does."""
        if dtype in self.lacks:
            return (
                f"{self.package} has no {dtype}; convert it to another dtype first, in its own "
                f"library (no dtype is converted silently), or take a view of the bits"
            )
        if dtype in self.narrows():
            return (
                f"{self.package} would silently convert {dtype} to a narrower dtype; to allow it, "
                f"convert it first, in its own library ({self.reason})"
            )
        if ndim == 0 and not self.zero_dim:
            return f"{self.package} crashes on arrays of 0 dimensions; pass x.reshape((1,))"
        return None


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("+")[0].split(".")[:3] if part.isdigit())


def _jax_narrows() -> tuple[str, ...]:
    config = loaded("jax", "config")
    return () if config is None or config.jax_enable_x64 else WIDE


def _torch_usm_types() -> tuple[str, ...]:
    xpu = getattr(sys.modules.get("torch"), "xpu", None)  # asked in each exchange: no call of ours
    return ("device",) if xpu is not None and xpu.is_available() else ()


def _open3d_usm_types() -> tuple[str, ...]:
    """All, where Open3D has one device; else its numbers, a GPU and the CPU, are not DLPack's."""
    sycl = getattr(loaded("open3d", "core"), "sycl", None)
    return ALLOCATED if sycl is not None and sycl.device_count() == 1 else ()


@functools.cache
def _dpnp_described() -> Callable[[Any], Any] | None:
    """Do what ``dpnp.asarray`` does with a description in the end, in a fifth of its time."""
    try:
        from dpctl.memory import as_usm_memory
        from dpnp import ndarray
        from dpnp.tensor import usm_ndarray

        wrap = ndarray._create_from_usm_ndarray
    except (ImportError, AttributeError):  # of another release
        return None

    def read(x: Any) -> Any:  # `as_usm_memory` reads a description twice, and keeps its object
        found = x.__sycl_usm_array_interface__
        once = SimpleNamespace(__sycl_usm_array_interface__=found, kept=x)
        return wrap(usm_ndarray(x.shape, dtype=x.dtype, buffer=as_usm_memory(once)))

    return read


ONNXRUNTIME: dict[str, Any] = {
    "package": "onnxruntime",
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
        lacks=NARROW,
        reason="2.4 raises RuntimeError on kDLOneAPI; before 2.1 it asks for the legacy struct, "
        "which cannot say read-only; DLPack has no NumPy dtype for bfloat16 and float8 (to_numpy() "
        "has, with ml_dtypes)",
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
        readonly="refused",
        narrows=_jax_narrows,
        reason="0.10 asks for the legacy struct, and refuses kDLOneAPI before it asks; strides "
        "that are not compact are an error; 64-bit dtypes need jax_enable_x64",
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
        lacks=FP8,
        narrows=lambda: ("float64", "complex128"),
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
        memory="any",
        strides="compact",
        readonly="refused",
        zero_dim=False,
        lacks=(*SMALL, *COMPLEX, *NARROW),
        reason="2026.2 always copies; only float32, float64, int32 and int64, with "
        "compact strides; SIGSEGV or ValueError on arrays of 0 dimensions",
    ),
    Consumer(
        "dpctl",
        entry=".memory:as_usm_memory",
        memory="usm",
        strides="compact",
        readonly="dropped",
        any_context=True,
        reason="0.22: bytes without shape, strides or a read-only flag",
    ),
    Consumer("sycl_ext", any_context=True, reason="this package"),
)


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
    found = [row for row in rows if row.since is None or _release(row.since) <= have]
    return found[-1] if found else None


def find_consumer(consumer: Any) -> tuple[Consumer, Callable[[Any], Any]]:
    """Return the row of a consumer: a module, its name, or a callable; and the function to call."""
    if isinstance(consumer, str):
        try:
            consumer = importlib.import_module(consumer)
        except (ModuleNotFoundError, ValueError, TypeError) as error:
            raise ValueError(
                f"consumer is {consumer!r}, which is neither a device such as 'gpu:0' nor a module "
                f"that can be imported ({error}); pass the name of an installed package, such as "
                "'numpy'"
            ) from error
    name = consumer.__name__ if isinstance(consumer, ModuleType) else _module_of(consumer)
    package = _package_of(name)
    version = str(getattr(sys.modules.get(package), "__version__", ""))  # as above
    row = consumer_for(package, version) or Consumer(
        package or "?", is_library=isinstance(consumer, ModuleType)
    )
    if not isinstance(consumer, ModuleType):
        if not callable(consumer):
            kind = type(consumer)
            raise TypeError(
                f"consumer is a {kind.__module__}.{kind.__qualname__}; pass a module with "
                "from_dlpack, a callable of one argument, or a device"
            )
        return row, consumer
    own = getattr(consumer, "from_dlpack", None)
    if callable(own) and row.takes == "producer":
        return row, own
    try:
        return row, pkgutil.resolve_name(f"{package}{row.entry}")
    except (AttributeError, ImportError, ValueError):
        raise TypeError(
            f"consumer {package} has no {row.entry.lstrip('.:')}; use the array of "
            "exchange(x, numpy), or pass a module with from_dlpack or a callable"
        ) from None


@functools.lru_cache(maxsize=64)
def _package_of(module: str) -> str:
    """Return the library of a module; array_api_compat behaves like the library that it wraps."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "array_api_compat" and rest else package


def _module_of(consumer: Any) -> str:
    """Return the module that a callable comes from."""
    own = getattr(consumer, "__self__", None)
    candidates = (
        getattr(consumer, "__module__", None),
        own.__name__ if isinstance(own, ModuleType) else getattr(type(own), "__module__", None),
        type(consumer).__module__,
    )
    return next((name for name in candidates if isinstance(name, str) and name != "builtins"), "")
