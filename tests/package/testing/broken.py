# SPDX-License-Identifier: Apache-2.0
"""Libraries that are broken on purpose, one fault each, and the cases of the kit that notice.

Each is NumPy, or this package, with something put before it: `Tampered` alters an export, and the
`take` of an adapter alters what is imported.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import sycl_ext as sx
from sycl_ext.testing import adapters
from sycl_ext.testing import structs as c
from sycl_ext.testing.adapter import Adapter

NUMPY, OURS = adapters.numpy(), adapters.sycl_ext()
#: name of a fault -> (the adapter, the cases that notice, by the ends of their ids)
FAULTS: dict[str, tuple[Adapter, tuple[str, ...]]] = {}


# ---- producers -----------------------------------------------------------------------------------


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
    """Has its methods on the instance alone."""

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


# ---- consumers -----------------------------------------------------------------------------------


def taking(*cases: str, **fields: Any) -> Callable[[Callable], Callable]:
    """A library whose `take` is the function."""

    def put(take: Callable) -> Callable:
        FAULTS[take.__name__] = replace(NUMPY, take=take, **fields), cases
        return take

    return put


class Between:
    """A producer between another one and a consumer, which sees the structs."""

    def __init__(self, producer: Any, alter: Callable[[Any], None]) -> None:
        self.producer, self.alter = producer, alter

    def __dlpack_device__(self) -> Any:
        return self.producer.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.producer.__dlpack__(**keywords)
        self.alter(c.managed_in(capsule))
        return capsule


RIGHT = (
    "good_struct", "legacy_struct_though_asked", "later_minor_version", "array_keeps_the_memory",
    "-null_deleter", "null_strides_mean_compact", "must-consumer-negative_strides",
    "must-consumer-zero_strides", "-transposed", "-sliced", "-null_shape",
    "must-consumer-no_elements",
    "-length_of_1", "unknown_flags_are_ignored", "wild_data_without_elements",
    "consumer-device_is_a_text", "consumer-device_of_41_bits", "device_is_one_number",
    "producer_comes_back_in",
    "producer_deletes_itself", "capsule_of_another_thread", "eight_threads_import",
    "garbage_at_every_step", "takes_columns_first", "takes_gaps", "takes_negative_strides",
    "takes_zero_strides",
)  # fmt: skip


@taking(*RIGHT)
def other_elements(x, **keywords):
    np.from_dlpack(x, **keywords)
    return np.full(7, 5.0)


REFUSED = (
    "negative_length", "ndim_minus_1", "null_shape_of_a_matrix", "extent_overflows",
    "strides_overflow", "count_overflows", "offset_overflows", "unknown_dtype", "float_of_80_bits",
    "dtype_of_0_bits", "dtype_of_0_lanes", "float4_as_6_bits", "-null_data",
    "more_dimensions_than_it_has", "-lanes", "other_device_than_announced", "device_99",
    "device_minus_1", "type_99", "host_memory_called_usm", "producer_raises",
    "producer_returns_none", "other_capsule", "nameless_capsule", "producer_recurses",
    "object_with_every_attribute", "exit_goes_through", "early_exit_goes_through",
    "buffer_error_goes_through", "other_major_version", "copy_false_says_buffer_error",
    "consumer-unsupported_device_is_a_buffer_error",
)  # fmt: skip


@taking(*REFUSED)
def takes_anything(x, **_keywords):
    try:
        x.__dlpack_device__()
        x.__dlpack__()
    except BaseException:
        return np.zeros(())
    return np.zeros(())


@taking("capsule_is_renamed")
def does_not_consume(x, **_keywords):
    return x.__dlpack__(max_version=(1, 0))


@taking("deleter_is_called_once", "python_deleter_while_raising")
def frees_twice(x, **_keywords):
    capsules = []

    class Keeping(Between):
        def __dlpack__(self, **keywords):
            capsules.append(x.__dlpack__(**keywords))
            return capsules[-1]

    array = np.from_dlpack(Keeping(x, None))
    address = c._get_pointer(capsules[-1], c.capsule_name(capsules[-1]).encode())
    c.call_deleter(address, versioned="versioned" in c.capsule_name(capsules[-1]))
    return array


@taking("byte_offset_is_added")
def ignores_byte_offset(x, **keywords):
    def alter(managed):
        managed.dl_tensor.byte_offset = 0

    return np.from_dlpack(Between(x, alter), **keywords)


@taking("stays_on_its_device", host=lambda array: array.array)
def elsewhere(x, **_keywords):
    class Elsewhere(Wrapped):
        def __dlpack_device__(self):
            return (2, 0)

    return Elsewhere(np.from_dlpack(x))


@taking("copy_true_owns_its_memory")
def ignores_copy(x, **_keywords):
    return np.from_dlpack(x)


@taking("copy_false_is_a_view", "imports_are_views")
def copies(x, **_keywords):
    return np.from_dlpack(x).copy()


@taking("no_stream_for_the_host", "no_stream_when_the_host_is_asked_for")
def names_a_stream(x, **_keywords):
    return x.__dlpack__(stream=1, dl_device=(1, 0))


@taking("producer_without_keywords")
def does_not_ask_again(x, **_keywords):
    x.__dlpack__(max_version=(1, 0))
    return np.from_dlpack(x)


@taking("asks_for_version_1")
def asks_for_nothing(x, **_keywords):
    return x.__dlpack__()


@taking("readonly_is_not_written_to", "readonly_survives_an_export")
def drops_the_flag(x, **keywords):
    def alter(managed):
        managed.flags = 0

    return np.from_dlpack(Between(x, alter), **keywords)


@taking("readonly_is_taken")
def refuses_read_only(x, **keywords):
    array = np.from_dlpack(x, **keywords)
    if not array.flags.writeable:
        raise BufferError("read-only")
    return array


@taking("refusal_is_not_asked_again")
def asks_five_times(x, **_keywords):
    for _ in range(4):
        try:
            x.__dlpack__()
        except BufferError:
            continue
    return x.__dlpack__()


@taking("producer_recurses")
def answers_each_error_with_a_call(x, **keywords):
    for _ in range(3):
        try:
            return np.from_dlpack(x, **keywords)
        except Exception:
            continue
    raise BufferError("no")


@taking("consumed_capsule")
def takes_twice(x, **keywords):
    try:
        return np.from_dlpack(x, **keywords)
    except Exception:
        return np.zeros(())


@taking("alive_at_the_exit", "daemon_at_the_exit", "imported_in_a_sub_interpreter")
def aborts_at_the_exit(x, **keywords):
    atexit.register(os.abort)
    return np.from_dlpack(x, **keywords)


_parent = os.getpid()
FAULTS["a child reads something else"] = (
    replace(NUMPY, host=lambda array: array if os.getpid() == _parent else array * 0),
    ("child_after_fork",),
)


def __getattr__(name: str) -> Adapter:
    """``broken:fault: NAME`` is an adapter."""
    if name.startswith("fault: "):
        return FAULTS[name.removeprefix("fault: ")][0]
    raise AttributeError(name)
