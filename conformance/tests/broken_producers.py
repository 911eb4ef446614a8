# SPDX-License-Identifier: Apache-2.0
"""Libraries whose exports are broken on purpose, one fault each.

`Tampered` alters what another library exports, `Wrapped` has methods to replace, and `with_table`
puts other functions into the C exchange table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import sycl_ext as sx
from dlpack_conformance import Adapter
from dlpack_conformance import structs as c
from dlpack_conformance.adapters import numpy, sycl_ext

NUMPY, OURS = numpy.adapter, sycl_ext.adapter

#: name of a fault -> (the adapter, the cases that notice, by the ends of their ids)
FAULTS: dict[str, tuple[Adapter, tuple[str, ...]]] = {}


class Tampered:
    """An array of a library; `alter` alters its exports, given the struct and the keywords."""

    def __init__(self, array: Any, alter: Callable[[Any, dict[str, Any]], None]) -> None:
        self.array, self.alter = array, alter

    def __getitem__(self, key: Any) -> Tampered:
        array = self.array
        return Tampered(NUMPY.index(array, key), self.alter)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.array.__dlpack__(**keywords)
        managed = c.managed_in(capsule)
        self.alter(managed, keywords)
        return capsule


def altered(name: str, *cases: str, base: Adapter = NUMPY) -> Callable:
    """A library whose exports are altered by the function."""

    def put(alter: Callable[[Any, dict[str, Any]], None]) -> None:
        made: dict[str, Any] = {
            "make": lambda values: Tampered(base.make(values), alter),
            "host": lambda array: base.host(array.array),
            "index": lambda array, key: array[key],
            "readonly": lambda values: Tampered(base.readonly(values), alter),
            "pending": None,
        }
        if base.on_queue is not None:
            made["on_queue"] = lambda values, queue: Tampered(base.on_queue(values, queue), alter)
        FAULTS[name] = replace(base, take=None, **made), cases

    return put


@altered("struct of another device", "same_device_in_the_struct")
def _(managed, _keywords):
    managed.dl_tensor.device.device_id = 1


@altered("later major version", "version_is_known")
def _(managed, _keywords):
    if hasattr(managed, "version"):
        managed.version.major = 2


@altered("unknown flags", "unknown_flags_are_zero")
def _(managed, _keywords):
    managed.flags |= 1 << 9


@altered("data of the next element", "elements_are_described", "capsule_dropped_while_raising",
         "eight_threads_export")  # fmt: skip
def _(managed, _keywords):
    managed.dl_tensor.data += 4


@altered("NULL strides", "strides_are_written", "strides_are_always_written")
def _(managed, _keywords):
    if hasattr(managed, "version"):
        managed.version.minor = 3
    managed.dl_tensor.strides = None


@altered("strides in bytes", "elements_are_described")
def _(managed, _keywords):
    dl = managed.dl_tensor
    for axis in range(dl.ndim if dl.strides else 0):
        dl.strides[axis] *= 4


@altered("lanes", *(f"-dtype_{name}" for name in c.DTYPES if hasattr(np, name)))
def _(managed, _keywords):
    managed.dl_tensor.dtype.lanes = 2


@altered("a copy is not flagged", "copy_true_sets_the_flag")
def _(managed, _keywords):
    if hasattr(managed, "flags"):
        managed.flags &= ~c.IS_COPIED


@altered("a view is flagged as a copy", "view_has_no_copied_flag")
def _(managed, _keywords):
    if hasattr(managed, "flags"):
        managed.flags |= c.IS_COPIED


@altered("dl_device is answered with another one", "own_device_on_request")
def _(managed, keywords):
    if keywords.get("dl_device"):
        managed.dl_tensor.device.device_id = 3


@altered("other elements for the host", "host_on_request_is_the_host")
def _(managed, keywords):
    if keywords.get("dl_device"):
        managed.dl_tensor.data += 4


@altered("read-only is not flagged", "readonly_is_flagged")
def _(managed, _keywords):
    if hasattr(managed, "flags"):
        managed.flags &= ~c.READ_ONLY


@altered("everything is read-only", "writable_is_not_flagged")
def _(managed, _keywords):
    if hasattr(managed, "flags"):
        managed.flags |= c.READ_ONLY


@altered("NULL deleter", "deleter_is_not_null")
def _(managed, _keywords):
    managed.deleter = None


@altered("data without elements", "no_elements_are_null")
def _(managed, _keywords):
    managed.dl_tensor.data = managed.dl_tensor.data or 8


@altered("deleter that aborts", "deleter_in_another_thread", "deleter_in_a_thread_of_c",
         "deleter_after_the_interpreter")  # fmt: skip
def _(managed, _keywords):
    managed.deleter = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p)


@altered("double free", "deleter_releases")
def _(_managed, _keywords):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    block = ctypes.c_void_p(libc.malloc(64))
    libc.free(block)
    libc.free(block)


class Wrapped:
    """An array of NumPy, or of this package, with methods to replace."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return type(self)(self.array[key])

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.export(**keywords)

    def export(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


def wrapped(*cases: str, base: Adapter = NUMPY) -> Callable[[type[Wrapped]], None]:
    """A library whose arrays are of the class."""

    def put(cls: type[Wrapped]) -> None:
        made: dict[str, Any] = {
            "make": lambda values: cls(base.make(values)),
            "host": lambda array: base.host(array.array),
            "index": lambda array, key: array[key],
            "readonly": lambda values: cls(base.readonly(values)),
        }
        if base.on_queue is not None:
            made["on_queue"] = lambda values, queue: cls(base.on_queue(values, queue))
        FAULTS[cls.__name__] = replace(base, take=None, pending=None, **made), cases

    return put


@wrapped("says_its_device")
class DeviceIsAList(Wrapped):
    def __dlpack_device__(self) -> Any:
        return [1, 0]


@wrapped("legacy_capsule", "older_version_is_respected")
class AlwaysVersioned(Wrapped):
    def export(self, **keywords):
        return self.array.__dlpack__(**{**keywords, "max_version": (1, 0)})


def _compact(array: Any) -> Any:
    return array if array.flags["C_CONTIGUOUS"] else array.copy()


@wrapped("copy_false_never_copies_a_view", "copied_view_is_flagged")
class CopiesViewsSilently(Wrapped):
    def export(self, **keywords):
        return _compact(self.array).__dlpack__(**keywords)


@wrapped("copy_false_never_copies_a_view", "copied_view_is_flagged")
class CopiesEachViewOnce(Wrapped):
    def __setitem__(self, key, value):
        self.array[key] = value

    def export(self, **keywords):
        if not hasattr(self, "compact"):
            self.compact = _compact(self.array)
        return self.compact.__dlpack__(**keywords)


@wrapped("knows_version_1")
class NeverVersioned(Wrapped):
    def export(self, *, max_version=None, **keywords):
        return self.array.__dlpack__(**keywords)


@wrapped("-view_every_second_row", "-view_a_column", "-view_reversed", "-view_a_part",
         "-view_one_row", "-view_no_rows", "-view_an_element")  # fmt: skip
class ExportsTheBase(Wrapped):
    def __getitem__(self, key):
        return self


@wrapped("capsule_keeps_the_memory")
class ReusesItsMemory(Wrapped):
    def __del__(self):
        self.array[...] = 77


@wrapped("dropped_capsule_is_released", "deleter_releases")
class Leaks(Wrapped):
    kept: list = []  # noqa: RUF012

    def export(self, **keywords):
        self.kept.append(self.array.copy())
        return self.array.__dlpack__(**keywords)


@wrapped("two_exports_are_two_capsules")
class KeepsItsCapsule(Wrapped):
    def export(self, **keywords):
        if not hasattr(self, "capsule"):
            self.capsule = self.array.__dlpack__(**keywords)
        return self.capsule


@wrapped("two_exports_are_two_capsules")
class ConsumesItsCapsule(Wrapped):
    def export(self, **keywords):
        capsule = self.array.__dlpack__(**keywords)
        c.take(capsule)
        return capsule


@wrapped("copy_true_copies")
class IgnoresCopy(Wrapped):
    def export(self, *, copy=None, **keywords):
        return self.array.__dlpack__(**keywords)


@wrapped("copy_false_never_copies", "exports_are_views")
class AlwaysCopies(Wrapped):
    def export(self, *, copy=None, **keywords):
        return self.array.copy().__dlpack__(**keywords)


@wrapped("producer-unsupported_device_is_a_buffer_error")
class RaisesRuntimeError(Wrapped):
    def export(self, *, dl_device=None, **keywords):
        if dl_device not in (None, (1, 0)):
            raise RuntimeError("no such device")
        return self.array.__dlpack__(**keywords)


@wrapped("knows_every_keyword")
class KnowsMaxVersion(Wrapped):
    def __dlpack__(self, *, max_version=None):
        return self.array.__dlpack__(max_version=max_version)


@wrapped("copies_on_request", "gives_to_the_host")
class RefusesEverything(Wrapped):
    def export(self, *, copy=None, dl_device=None, **keywords):
        if copy or dl_device:
            raise BufferError("no")
        return self.array.__dlpack__(**keywords)


@wrapped("readonly_needs_a_version")
class ExportsReadOnly(Wrapped):
    def export(self, **keywords):
        array = self.array if keywords.get("max_version") else self.array.copy()
        return array.__dlpack__(**keywords)


@wrapped("stream_on_the_host_is_refused", "stream_for_the_host_is_none", "-stream_is_a_text",
         "-stream_is_an_object", "-stream_is_a_wild_address", "-stream_is_unmapped",
         "-stream_is_too_large", "-max_version_is_a_text", "-max_version_is_short",
         "-dl_device_is_a_text", "-dl_device_of_41_bits", "-copy_is_a_text")  # fmt: skip
class IgnoresEverything(Wrapped):
    def export(self, **_keywords):
        return self.array.__dlpack__()


@wrapped("no_synchronisation_on_request", "queue_is_a_stream", "address_of_a_queue_is_a_stream",
         "sub_device_is_exported", base=OURS)  # fmt: skip
class RefusesStreamsAndSubDevices(Wrapped):
    def export(self, *, stream=None, **keywords):
        if stream is not None or self.array.device.kind == "sub_device":
            raise TypeError("no")
        return self.array.__dlpack__(**keywords)


@wrapped("id_is_of_a_root_device", base=OURS)
class HasAnotherId(Wrapped):
    def __dlpack_device__(self):
        return (14, 77)


@altered("memory of a private context", "private_context_is_not_handed_over", base=OURS)
def _(managed, _keywords):
    managed.flags = 0


class _OnInstance:
    """Has its methods only on the instance."""

    def __init__(self, array):
        self.array = array
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


FAULTS["methods on the instance"] = (
    replace(NUMPY, make=lambda values: _OnInstance(values.copy()), take=None),
    ("methods_are_on_the_type",),
)


def _too_early() -> tuple[Any, np.ndarray]:
    return sx.zeros(4, "int64", usm_type="shared"), np.ones(4, "int64")


FAULTS["work is not waited for"] = (
    replace(OURS, pending=_too_early),
    ("pending_work_is_done_on_the_host", "pending_work_is_done_in_a_copy",
     "pending_work_without_a_stream", "pending_work_reaches_a_view",
     "pending_work_reaches_a_copy"),
)  # fmt: skip


# ---- the C exchange table ------------------------------------------------------------------------


def with_table(name: str, *cases: str, **functions: Any) -> None:
    """A library with our table, and other functions in it."""
    own = c.exchange_api(sx.Tensor)
    table = c.ExchangeApi.from_buffer_copy(own)
    for field, function in functions.items():
        setattr(table, field, function)

    class WithTable(Wrapped):
        __dlpack_c_exchange_api__ = c.new_capsule(ctypes.addressof(table), b"dlpack_exchange_api")
        keep = (table, functions)

    adapter = replace(OURS, make=lambda values: WithTable(OURS.make(values)), take=None)
    FAULTS[name] = adapter, cases


def _nothing(_producer: Any, _out: Any) -> int:
    return 0


@c.FromObject
def _export_of_another(producer: Any, out: Any) -> int:
    address, _ = c.take(sx.zeros(7).__dlpack__(max_version=(1, 3)))
    out[0] = address
    return 0


@c.ToObject
def _import_of_another(managed: Any, out: Any) -> int:
    c.call_deleter(managed, versioned=True)
    other = sx.zeros((3, 4))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(other))
    out[0] = id(other)
    return 0


@c.Stream
def _no_stream(_kind: int, _number: int, _out: Any) -> int:
    return -1


with_table("a function is NULL", "table_is_complete", allocate=c.Allocate())
with_table("exports of another array", "table_exports", from_object=_export_of_another)
with_table("no stream", "table_says_its_stream", stream=_no_stream)
with_table("never fails", "table_raises_for_others", from_object=c.FromObject(_nothing))
with_table(
    "imports of another array",
    "table_takes_back",
    from_object=_export_of_another,
    to_object=_import_of_another,
)
