# SPDX-License-Identifier: Apache-2.0
"""`Consumer`: what is known about a library, and whether it can take a given array."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

#: Dtypes that neither ONNX nor torch has.
RARE_FP8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")
FP8 = (
    *RARE_FP8,
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
NARROW = ("bfloat16", *FP8)
COMPLEX = ("complex64", "complex128")
ALL = ("*",)  # every dtype


class ArrayFacts(Protocol):
    """The facts of an array that the limits of a library depend on: some of `_core.ArrayFacts`."""

    @property
    def readonly(self) -> bool: ...
    @property
    def reversed(self) -> bool: ...
    @property
    def c_contiguous(self) -> bool: ...
    @property
    def f_contiguous(self) -> bool: ...
    @property
    def usm_type(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def alignment(self) -> int: ...


class When(NamedTuple):
    """A condition on the configuration of a library: an attribute, and the answer to it."""

    name: str  # from the package, with dots; a function is called without arguments
    answer: Any


#: Fields of a row that decide about memory other than the host's, and nothing else.
OF_DEVICE_MEMORY = ("usm_types", "takes_native")


@dataclass(frozen=True, eq=False)  # compared by identity, for caches
class Consumer:
    """One consumer library."""

    package: str  # its import name
    importer: str = ":from_dlpack"  # its importing function, from the package: ".module:name"
    memory: Literal["any", "host", "usm"] = "any"
    usm_types: tuple[str, ...] = ()  # kinds of USM that a consumer of host memory also takes
    #: Whether it takes memory of CUDA or HIP under DLPack's device types for them; a consumer of
    #: any memory does.
    takes_native: bool = False
    root_only: bool = False  # whether it refuses a sub-device under the id of its root device
    #: Whether it does not name the queue on which it will use the memory. The export then waits.
    drops_stream: bool = False
    takes: Literal["producer", "legacy capsule", "NumPy array"] = "producer"
    #: What its other functions take; "own array": the result of `importer`.
    functions: Literal["own array", "NumPy array", "producer"] = "own array"
    #: The function to use for bfloat16 and float8 in place of `importer` as the library has it: a
    #: function in C, and no function that a program has put there. It takes ``__array__``.
    narrow_importer: str = ""
    strides: Literal["any", "nonnegative", "compact"] = "any"
    alignment: int = 1  # every address must be a multiple of this number
    #: Read-only memory. "dropped": it would write to it; "refused": it accepts none, or takes a
    #: legacy capsule, which cannot say so. In both cases it gets a copy.
    readonly: Literal["kept", "dropped", "refused"] = "kept"
    system_usm: bool = True  # whether it takes host memory that a device reads in place
    null_data: bool = True  # whether it accepts the NULL pointer of an array without elements
    ndims: range = range(65)  # the numbers of dimensions that it supports
    copies: tuple[str, ...] = ()  # the dtypes that it always copies, or ALL
    keeps: Literal["any", "C", "F"] = "any"  # it copies arrays of another order
    instead: str = ""  # what to call in place of a function that loses dtype and shape
    any_context: bool = False  # whether it learns the context, so takes memory of private ones
    lacks: tuple[str, ...] = ()  # dtypes that it does not support
    narrows: tuple[str, ...] = ()  # dtypes that it would silently narrow
    #: Fields that have their defaults unless the library is configured so.
    configured: Mapping[str, When] = field(default_factory=dict)
    #: Makes a faster equivalent of `importer`, which reads ``__sycl_usm_array_interface__``;
    #: returns None if that function is not the library's own. It takes compact, writable USM of a
    #: root device, on its shared queue.
    usm_interface_importer: Callable[[Callable[[Any], Any]], Callable[[Any], Any] | None] | None = (
        None
    )
    reason: str = ""  # for the row, with the version in which it was seen
    since: str | None = None  # the first version it is about; None: all before the next row

    def takes_usm(self, usm_type: str) -> bool:
        """Whether this consumer is tried with USM of that kind directly."""
        return self.memory != "host" or usm_type in self.usm_types

    @property
    def tries_native(self) -> bool:
        """Whether this consumer is tried with memory of CUDA or HIP under their device types."""
        return self.takes_native or self.memory == "any"

    def copy_needed(self, array: ArrayFacts) -> str | None:
        """Return why this consumer cannot get a view of an array; None: it can."""
        if array.readonly and self.readonly == "dropped":
            return f"the memory is read-only, but {self.package} would write to it"
        if array.readonly and self.readonly == "refused":
            return f"the memory is read-only, which {self.package} does not accept"
        if array.usm_type == "system" and not self.system_usm:
            return f"{self.package} does not accept 'system' USM"
        if self.strides == "compact" and not array.c_contiguous:
            return f"{self.package} accepts only compact arrays"
        if self.strides == "nonnegative" and array.reversed:
            return f"{self.package} does not support negative strides"
        if array.alignment % self.alignment:
            return f"{self.package} requires an alignment of {self.alignment} bytes"
        return None

    def always_copies(self, array: ArrayFacts) -> bool:
        """Whether the result is a copy of an array, whatever this consumer is given."""
        if self.keeps == "C" and not array.c_contiguous:
            return True
        if self.keeps == "F" and not array.f_contiguous:
            return True
        return self.copies == ALL or array.dtype in self.copies

    def refusal(self, array: ArrayFacts, title: str) -> str | None:
        """Return why a copy does not help; None: it does."""
        dtype = array.dtype
        if self.instead:
            return f"{title} reads bytes without their dtype and shape; pass {self.instead}"
        if dtype in self.lacks:
            bits = {"bfloat16": "uint16", **dict.fromkeys(("bool", *FP8), "uint8")}.get(dtype)
            missing = dtype in NARROW and not _has_ml_dtypes()
            first = "install ml_dtypes and " if missing else ""
            view = f", or {first}pass its bits: sycl_ext.exchange(x, 'numpy').view('{bits}')"
            return (
                f"{self.package} has no {dtype}; convert the array to another dtype first, in its "
                f"own library (dtypes are never converted silently){view if bits else ''}"
            )
        by_array = self.takes == "NumPy array" or self.narrow_importer
        if dtype in NARROW and by_array and not _has_ml_dtypes():
            return (
                f"NumPy has no {dtype} of its own; install ml_dtypes, which provides it, or "
                "convert the array to another dtype first, in its own library"
            )
        if dtype in self.narrows:
            return (
                f"{self.package} would silently convert {dtype} to a narrower dtype; to allow "
                f"this, convert the array first, in its own library ({self.reason})"
            )
        return None if array.ndim in self.ndims else self._wrong_ndim(array.ndim, title)

    def _wrong_ndim(self, ndim: int, title: str) -> str:
        least, most = self.ndims[0], self.ndims[-1]
        count = f"{least}" if least == most else f"{least} to {most}"
        if most == 1:
            way = "x.reshape((-1,))"
        elif ndim == 0:
            way = f"x.reshape({(1,) * least})"
        else:
            way = "x.reshape((-1, 1))" if ndim < least else "x.reshape((x.shape[0], -1))"
        return f"{title} accepts arrays of {count} dimensions, but this one has {ndim}; pass {way}"


def _has_ml_dtypes() -> bool:
    if "ml_dtypes" in sys.modules:
        return sys.modules["ml_dtypes"] is not None
    return importlib.util.find_spec("ml_dtypes") is not None
