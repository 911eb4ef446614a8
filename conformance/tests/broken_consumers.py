# SPDX-License-Identifier: Apache-2.0
"""Libraries whose imports are broken on purpose, one fault each: NumPy with another `take`."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from broken_producers import NUMPY, Wrapped

from dlpack_conformance import structs as c
from dlpack_conformance.adapter import Adapter

#: name of a fault -> (the adapter, the cases that notice, by the ends of their ids)
FAULTS: dict[str, tuple[Adapter, tuple[str, ...]]] = {}


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
    "takes_zero_strides", "dtype_is_kept",
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


@taking("dtype_is_kept")
def widens_integers(x, **keywords):
    array = np.from_dlpack(x, **keywords)
    return array.astype("int64") if array.dtype.kind in "iu" else array


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
