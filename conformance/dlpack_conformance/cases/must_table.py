# SPDX-License-Identifier: Apache-2.0
"""Requirements of dlpack.h for the C exchange table of a producer."""

from __future__ import annotations

import ctypes
from typing import Any

from dlpack_conformance import structs as c
from dlpack_conformance.bench import VALUES, Bench, NotOfferedError, expect, same
from dlpack_conformance.cases.must_producer import place_of
from dlpack_conformance.cases.registry import EXCHANGE, producer


def table_of(b: Bench, array: Any) -> Any:
    """Return the C exchange table of a type."""
    if not hasattr(type(b.producer(array)), "__dlpack_c_exchange_api__"):
        raise NotOfferedError("has no __dlpack_c_exchange_api__")
    return c.exchange_api(type(b.producer(array)))


@producer("exchange table", EXCHANGE)
def table_is_complete(b: Bench) -> None:
    """The capsule is named "dlpack_exchange_api"; no function but the borrowing one is NULL."""
    table = table_of(b, b.make())
    expect(table.version.major == 1, f"the major version is {table.version.major}")
    for name in ("allocate", "from_object", "to_object", "stream"):
        expect(bool(getattr(table, name)), f"{name} is NULL")


@producer("exchange table", EXCHANGE)
def table_exports(b: Bench) -> None:
    """managed_tensor_from_py_object_no_sync exports the same as ``__dlpack__``."""
    array = b.make()
    table = table_of(b, array)
    out = ctypes.c_void_p()
    expect(table.from_object(b.producer(array), ctypes.byref(out)) == 0, "it failed")
    dl = c.DLManagedTensorVersioned.from_address(out.value or 0).dl_tensor
    other = c.managed_in(b.any_capsule(array))
    shape, wanted = c.lengths(dl.shape, dl.ndim), c.lengths(other.dl_tensor.shape, 2)
    place = (dl.data or 0) + dl.byte_offset
    c.call_deleter(out.value or 0, versioned=True)
    expect(shape == wanted, f"the shape is {shape}, not {wanted}")
    expect(place == place_of(other), "the data is elsewhere")


@producer("exchange table", EXCHANGE)
def table_says_its_stream(b: Bench) -> None:
    """current_work_stream answers for the device of an array."""
    array = b.make()
    table = table_of(b, array)
    out = ctypes.c_void_p()
    expect(table.stream(*b.device(array), ctypes.byref(out)) == 0, "it failed")


@producer("exchange table", EXCHANGE)
def table_takes_back(b: Bench) -> None:
    """managed_tensor_to_py_object_no_sync makes an array from an exported struct."""
    array = b.make()
    table = table_of(b, array)
    out, made = ctypes.c_void_p(), ctypes.c_void_p()
    expect(table.from_object(b.producer(array), ctypes.byref(out)) == 0, "the export failed")
    expect(table.to_object(out, ctypes.byref(made)) == 0, "it failed")
    result = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))
    same(b.bytes_of(result, VALUES), VALUES)
