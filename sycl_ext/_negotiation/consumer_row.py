# SPDX-License-Identifier: Apache-2.0
"""The row of a consumer: what can be said about a library, and what follows for an array."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sycl_ext._negotiation.array_facts import ArrayFacts
from sycl_ext._negotiation.reads import Reads

#: Dtypes that neither ONNX nor torch has.
RARE_FP8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")
FP8 = (
    *RARE_FP8,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
NARROW = ("bfloat16", *FP8)
COMPLEX = ("complex64", "complex128")
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
    converts: str = ""  # the dtype to which it converts all others
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
        if self.converts not in ("", array.dtype):
            return True
        return self.copies == ALL or array.dtype in self.copies

    def refusal(self, array: ArrayFacts, reads: Reads) -> str | None:
        """Return why a copy does not help; None: it does."""
        dtype = array.dtype
        if self.instead:
            return f"{self.title} reads bytes without their dtype and shape; pass {self.instead}"
        if dtype in self.lacks:
            bits = {"bfloat16": "uint16", **dict.fromkeys(("bool", *FP8), "uint8")}.get(dtype)
            missing = dtype in NARROW and not reads.answer(_has_ml_dtypes)
            first = "install ml_dtypes and " if missing else ""
            view = f", or {first}pass its bits: sycl_ext.exchange(x, 'numpy').view('{bits}')"
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


def _has_ml_dtypes() -> bool:
    if "ml_dtypes" in sys.modules:
        return sys.modules["ml_dtypes"] is not None
    return importlib.util.find_spec("ml_dtypes") is not None
