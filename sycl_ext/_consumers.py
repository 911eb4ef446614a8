# SPDX-License-Identifier: Apache-2.0
"""Floor 1. What is known about consumers: one row each, with its reason.  Pure Python.

A consumer that has no row is taken for a well-behaved one: it is tried directly, then with a host
view.  A row says what would kill a consumer, make it wrong, or cannot work anyway.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

__all__ = ["CONSUMERS", "Consumer", "find_consumer"]

FP8 = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
NARROW = ("bfloat16", *FP8)
COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Consumer:
    """One consumer library.

    Attributes
    ----------
    package : str
        Import name of the library.
    entry : str
        Path of its importing function, from the package.
    memory : {"any", "host", "usm"}
        What it takes: host memory alone, USM alone, or either.
    takes : {"producer", "capsule", "legacy capsule"}
        What its function is called with.
    strides : {"any", "nonnegative", "compact"}
        Which strides it survives and takes.
    readonly : {"kept", "dropped", "refused"}
        What it makes of read-only memory.  "dropped": it would write to it.
    null_data : bool
        Whether it takes the NULL pointer of an array without elements.
    zero_dim : bool
        Whether it survives arrays of 0 dimensions.
    lacks : tuple of str
        Dtypes that it does not have.
    reason : str
        Why the row is needed, and the version it was seen with.
    fixed_in : str or None
        First version that needs no care with strides.
    """

    package: str
    entry: str = "from_dlpack"
    memory: Literal["any", "host", "usm"] = "any"
    takes: Literal["producer", "capsule", "legacy capsule"] = "producer"
    strides: Literal["any", "nonnegative", "compact"] = "any"
    readonly: Literal["kept", "dropped", "refused"] = "kept"
    null_data: bool = True
    zero_dim: bool = True
    lacks: tuple[str, ...] = ()
    reason: str = ""
    fixed_in: str | None = None

    def copy_needed(
        self, *, contiguous: bool, has_negative_stride: bool, readonly: bool
    ) -> str | None:
        """Say why this consumer cannot be given a view of such memory; None: it can."""
        if readonly and self.readonly == "dropped":
            return f"the memory is read-only, and {self.package} would write to it"
        if readonly and self.readonly == "refused":
            return f"the memory is read-only, and {self.package} cannot be told so"
        if self.strides == "compact" and not contiguous:
            return f"{self.package} takes compact arrays only"
        if self.strides == "nonnegative" and has_negative_stride and not self._is_fixed():
            return f"{self.package} does not take negative strides"
        return None

    def refusal(self, *, dtype: str, ndim: int) -> str | None:
        """Say why no copy helps; None: a copy would."""
        if dtype in self.lacks:
            return (
                f"{self.package} has no {dtype}; convert it to another dtype first, in its own "
                f"library (no dtype is converted silently), or take a view of the bits"
            )
        if ndim == 0 and not self.zero_dim:
            return f"{self.package} does not survive arrays of 0 dimensions; pass x.reshape((1,))"
        return None

    def _is_fixed(self) -> bool:
        if self.fixed_in is None:
            return False
        have = importlib.metadata.version(self.package)
        return _release(have) >= _release(self.fixed_in)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("+")[0].split(".")[:3] if part.isdigit())


def _numpy_readonly() -> Literal["kept", "refused"]:
    return "kept" if _release(importlib.metadata.version("numpy")) >= (2, 1) else "refused"


CONSUMERS: tuple[Consumer, ...] = (
    Consumer(
        "numpy",
        memory="host",
        readonly=_numpy_readonly(),
        lacks=NARROW,
        reason="2.4 raises RuntimeError on kDLOneAPI; before 2.1 it asks for the legacy struct, "
        "which cannot say read-only; DLPack has no NumPy dtype for bfloat16 and float8 (to_numpy() "
        "has, with ml_dtypes)",
    ),
    Consumer(
        "array_api_strict",
        memory="host",
        lacks=NARROW,
        reason="2.6: NumPy inside; does not forward device=",
    ),
    Consumer("array_api_compat", memory="any", reason="1.16: behaves as the library it wraps"),
    Consumer(
        "torch",
        memory="host",
        strides="nonnegative",
        readonly="dropped",
        reason="2.13 on the CPU: RuntimeError on kDLOneAPI; aborts on negative strides "
        "(pytorch#188023); ignores the read-only flag",
    ),
    Consumer(
        "jax",
        entry="dlpack.from_dlpack",
        memory="host",
        strides="compact",
        readonly="refused",
        reason="0.10 asks for the legacy struct, and refuses kDLOneAPI before it asks; strides "
        "that are not compact are an error",
    ),
    Consumer(
        "tensorflow",
        entry="experimental.dlpack.from_dlpack",
        memory="host",
        takes="legacy capsule",
        strides="compact",
        readonly="refused",
        lacks=FP8,
        reason="2.21 takes a legacy capsule, of compact arrays",
    ),
    Consumer(
        "onnxruntime",
        entry="capi.onnxruntime_pybind11_state.OrtValue.from_dlpack",
        memory="host",
        takes="legacy capsule",
        strides="compact",
        readonly="refused",
        lacks=(*COMPLEX, *FP8),
        reason="1.31 takes a legacy capsule, of compact arrays, and has no complex dtypes",
    ),
    Consumer(
        "pyarrow",
        entry="Tensor.from_dlpack",
        memory="host",
        strides="nonnegative",
        lacks=("bool", *COMPLEX, *NARROW),
        reason="26: ArrowNotImplementedError on kDLOneAPI; no bool, complex or 8-bit floats",
    ),
    Consumer(
        "mlx",
        entry="core.from_dlpack",
        memory="host",
        strides="nonnegative",
        readonly="dropped",
        lacks=("complex128", *FP8),
        reason="0.32: ValueError on kDLOneAPI and on negative strides",
    ),
    Consumer(
        "tvm_ffi",
        readonly="dropped",
        reason="0.1.15 takes kDLOneAPI as it is; asks for the legacy struct first, and drops the "
        "read-only flag otherwise",
    ),
    Consumer(
        "dpnp",
        memory="usm",
        strides="nonnegative",
        null_data=False,
        lacks=NARROW,
        reason="0.20: TypeError on the NULL pointer of an empty array; ValueError on negative "
        "strides with byte_offset 0; returns a numpy.ndarray for host memory; no bfloat16 or "
        "float8",
    ),
    Consumer(
        "onedal",
        entry="datatypes.to_table",
        memory="any",
        strides="compact",
        readonly="refused",
        zero_dim=False,
        lacks=("bool", *COMPLEX, *NARROW),
        reason="2026.2: SIGSEGV on arrays of 0 dimensions",
    ),
    Consumer("sycl_ext", reason="this package"),
)


def find_consumer(consumer: Any) -> tuple[Consumer, Callable[[Any], Any]]:
    """Return what is known about a consumer, and the function to call.

    Parameters
    ----------
    consumer : module or callable
        A module with ``from_dlpack`` (or one of the table), or any callable of one argument.

    Raises
    ------
    TypeError
        When it is neither.
    """
    name = consumer.__name__ if isinstance(consumer, ModuleType) else _module_of(consumer)
    package = name.partition(".")[0]
    row = next((row for row in CONSUMERS if row.package == package), Consumer(package or "?"))
    if not isinstance(consumer, ModuleType):
        if not callable(consumer):
            raise TypeError(
                f"consumer is a {type(consumer).__name__}; pass a module with from_dlpack, a "
                "callable of one argument, or a device"
            )
        return row, consumer
    own = getattr(consumer, "from_dlpack", None)
    if callable(own) and row.takes == "producer":
        return row, own
    target: Any = importlib.import_module(package)
    for part in row.entry.split("."):
        target = _attribute(target, part)
    return row, target


def _attribute(target: Any, name: str) -> Any:
    """Return an attribute, or the submodule of that name."""
    try:
        return getattr(target, name)
    except AttributeError:
        if isinstance(target, ModuleType):
            try:
                return importlib.import_module(f"{target.__name__}.{name}")
            except ImportError:
                pass
        raise TypeError(
            f"consumer {target!r} has no {name}; pass a module with from_dlpack or a callable"
        ) from None


def _module_of(consumer: Any) -> str:
    """Return the module that a callable comes from."""
    own = getattr(consumer, "__self__", None)
    candidates = (
        getattr(consumer, "__module__", None),
        own.__name__ if isinstance(own, ModuleType) else getattr(type(own), "__module__", None),
        type(consumer).__module__,
    )
    return next((name for name in candidates if isinstance(name, str) and name != "builtins"), "")
