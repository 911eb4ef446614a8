# SPDX-License-Identifier: Apache-2.0
"""Recommendations of the specifications, and assumptions of other libraries."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from dlpack_conformance import structs as c
from dlpack_conformance.bench import (
    VALUES,
    Bench,
    BrokenError,
    NotOfferedError,
    aligned,
    expect,
    same,
)
from dlpack_conformance.cases.registry import (
    C_API,
    DLPACK,
    EXCHANGE,
    FROM_DLPACK,
    NONE,
    ONE_API,
    PYTHON,
    consumer,
    producer,
    put,
)
from dlpack_conformance.producers import Hands

# ---- producer ------------------------------------------------------------------------------------


@producer("versions", DLPACK)
def knows_version_1(b: Bench) -> None:
    """Asked for version 1, it exports the versioned struct."""
    capsule = b.producer(b.make()).__dlpack__(max_version=(1, 3))
    expect(c.is_versioned(capsule), "it is the struct of DLPack 0.x")


@producer("versions", DLPACK)
def knows_every_keyword(b: Bench) -> None:
    """``__dlpack__`` takes stream, max_version, dl_device and copy by keyword."""
    b.producer(b.make()).__dlpack__(stream=None, max_version=(1, 3), dl_device=None, copy=None)


@producer("versions", NONE)
def methods_are_on_the_type(b: Bench) -> None:
    """Nanobind and tvm_ffi look ``__dlpack__`` up on the type."""
    kind = type(b.producer(b.make()))
    expect(hasattr(kind, "__dlpack__"), "only the instance has __dlpack__")
    expect(hasattr(kind, "__dlpack_device__"), "only the instance has __dlpack_device__")


@producer("layout", C_API)
def no_elements_are_null(b: Bench) -> None:
    """Without elements, data is NULL."""
    array = b.make(VALUES[:0])
    dl = c.managed_in(b.any_capsule(array)).dl_tensor
    expect(not dl.data, f"data is {dl.data:#x}" if dl.data else "")


@producer("layout", NONE)
def strides_are_always_written(b: Bench) -> None:
    """Strides are also written in the struct of DLPack 0.x, because some consumers need them."""
    dl = c.managed_in(b.legacy(b.make())).dl_tensor
    expect(dl.strides, "strides are NULL")


@producer("life cycle", NONE)
def deleter_is_not_null(b: Bench) -> None:
    """The deleter is not NULL, because some consumers call it unchecked."""
    expect(c.managed_in(b.any_capsule(b.make())).deleter, "the deleter is NULL")


@producer("copies", FROM_DLPACK)
def exports_are_views(b: Bench) -> None:
    """Two exports of an array have the same memory."""
    array = b.make()
    capsules = [b.any_capsule(array) for _ in range(2)]
    tensors = [c.managed_in(capsule).dl_tensor for capsule in capsules]
    places = {(dl.data or 0) + dl.byte_offset for dl in tensors}
    expect(len(places) == 1, "each export is a copy")


@producer("copies", DLPACK)
def copies_on_request(b: Bench) -> None:
    """copy=True is not refused."""
    b.export(b.make(), max_version=(1, 3), copy=True)


@producer("device", DLPACK)
def gives_to_the_host(b: Bench) -> None:
    """dl_device=(1, 0) is not refused."""
    b.export(b.make(), max_version=(1, 3), dl_device=c.CPU)


@producer("read-only", PYTHON)
def readonly_needs_a_version(b: Bench) -> None:
    """A read-only array is not exported in the struct of DLPack 0.x, which has no flag for it."""
    array = b.readonly()
    try:
        b.producer(array).__dlpack__()
    except BufferError:
        return
    raise BrokenError("exported silently")


@producer("streams", DLPACK)
def stream_on_the_host_is_refused(b: Bench) -> None:
    """A host array refuses a stream that is an address, and does not use it."""
    array = b.make()
    if b.device(array) != c.CPU:
        raise NotOfferedError("has no arrays on the host")
    try:
        b.producer(array).__dlpack__(stream=64)
    except NotOfferedError:
        raise
    except Exception:
        return
    raise BrokenError("stream=64 was accepted")


@producer("streams", DLPACK)
def no_synchronisation_on_request(b: Bench) -> None:
    """stream=-1 asks a device array not to wait; mpi4py passes it to every device."""
    array = b.make()
    if b.device(array) == c.CPU:
        raise NotOfferedError("has its arrays on the host")
    try:
        b.producer(array).__dlpack__(stream=-1)
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None


@producer("streams", DLPACK)
def stream_for_the_host_is_none(b: Bench) -> None:
    """dl_device=(1, 0) with a stream is refused."""
    try:
        b.producer(b.make()).__dlpack__(max_version=(1, 3), dl_device=c.CPU, stream=64)
    except NotOfferedError:
        raise
    except Exception:
        return
    raise BrokenError("stream=64 was accepted")


@producer("exchange table", EXCHANGE)
def table_raises_for_others(b: Bench) -> None:
    """For an object of another type, the table fails with an exception."""
    import ctypes

    from dlpack_conformance.cases.must_table import table_of

    table = table_of(b, b.make())
    raw = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
    out = ctypes.c_void_p()
    function: Any = ctypes.cast(table.from_object, raw)
    try:
        code = function(object(), ctypes.addressof(out))
    except Exception:
        return
    raise BrokenError(f"it returned {code}, and no exception")


# ---- producer on a SYCL device -------------------------------------------------------------------


def _dpctl(b: Bench) -> Any:
    """Return dpctl, for a library whose arrays are on SYCL queues."""
    if b.adapter.on_queue is None:
        raise NotOfferedError("has no arrays on a SYCL queue")
    return import_module("dpctl")


def _on_queue(b: Bench, queue: Any) -> Any:
    assert b.adapter.on_queue is not None
    return b.adapter.on_queue(VALUES, queue)


@producer("oneAPI", ONE_API)
def id_is_of_a_root_device(b: Bench) -> None:
    """The id is the position of the root device in ``sycl::device::get_devices()``."""
    dpctl = _dpctl(b)
    queue = dpctl.SyclQueue()
    device = b.device(_on_queue(b, queue))
    wanted = dpctl.get_devices().index(queue.sycl_device)
    expect(device == (14, wanted), f"the device is {device}, not {(14, wanted)}")


@producer("oneAPI", ONE_API)
def queue_is_a_stream(b: Bench) -> None:
    """``stream`` may be a dpctl.SyclQueue of the default context."""
    queue = _dpctl(b).SyclQueue(property="in_order")
    try:
        b.producer(_on_queue(b, queue)).__dlpack__(stream=queue, max_version=(1, 3))
    except NotOfferedError:
        raise
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None


@producer("oneAPI", ONE_API)
def address_of_a_queue_is_a_stream(b: Bench) -> None:
    """``stream`` may be the address of a sycl::queue, as torch.xpu.Stream.sycl_queue is."""
    queue = _dpctl(b).SyclQueue(property="in_order")
    array = _on_queue(b, queue)
    try:
        b.producer(array).__dlpack__(stream=queue.addressof_ref(), max_version=(1, 3))
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None


@producer("oneAPI", ONE_API)
def pending_work_without_a_stream(b: Bench) -> None:
    """With stream=None, pending work is done when the capsule is returned."""
    for _ in range(10):
        array, wanted = b.pending()
        if b.device(array)[0] != c.ONE_API:
            raise NotOfferedError("has no arrays on a SYCL device")
        dl = c.managed_in(b.any_capsule(array)).dl_tensor
        same(c.elements(dl, wanted.dtype), wanted)


def _sub_device(dpctl: Any, device: Any) -> Any:
    """Return a sub-device: a tile of a GPU, or a unit of a CPU."""
    for partition in ("next_partitionable", 1):
        with suppress(dpctl.SyclSubDeviceCreationError):
            return device.create_sub_devices(partition=partition)[0]
    raise NotOfferedError("runs on a device without partitions")


@producer("oneAPI", ONE_API)
def sub_device_is_exported(b: Bench) -> None:
    """An array on a sub-device has the id of its root device, or is refused with BufferError."""
    dpctl = _dpctl(b)
    device = dpctl.SyclDevice()
    array = _on_queue(b, dpctl.SyclQueue(_sub_device(dpctl, device)))
    try:
        reported = b.device(array)
        b.producer(array).__dlpack__(max_version=(1, 3))
    except BufferError:
        return
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None
    wanted = dpctl.get_devices().index(device)
    expect(reported == (14, wanted), f"the device is {reported}, not {(14, wanted)}")


@producer("oneAPI", ONE_API)
def private_context_is_not_handed_over(b: Bench) -> None:
    """Memory of a context other than the default context is copied, or refused with BufferError."""
    dpctl = _dpctl(b)
    device = dpctl.SyclDevice()
    queue = dpctl.SyclQueue(dpctl.SyclContext([device]), device)
    array = _on_queue(b, queue)
    try:
        capsule = b.producer(array).__dlpack__(max_version=(1, 3))
    except BufferError:
        return
    managed = c.managed_in(capsule)
    expect(managed.flags & c.IS_COPIED, "the memory was exported without a copy")


# ---- consumer ------------------------------------------------------------------------------------


@consumer("versions", DLPACK)
def producer_without_keywords(b: Bench) -> None:
    """A producer of 2021, which has only the keyword stream, is called again without the others."""

    class Old(Hands):
        def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
            return self.make(False)

    same(b.host(b.take(Old(lambda _: b.struct(False).capsule, b.given().device))), VALUES)


@consumer("versions", DLPACK)
def asks_for_version_1(b: Bench) -> None:
    """The consumer asks for version 1, because only that struct has a read-only flag."""
    hands = b.given()
    b.take(hands)
    asked = [call.get("max_version") for call in hands.calls]
    expect(any(version and version[0] >= 1 for version in asked), f"max_version was {asked}")


@consumer("read-only", C_API)
def readonly_is_not_written_to(b: Bench) -> None:
    """An array over read-only memory refuses to be written, or is a copy."""
    locked = VALUES.copy()
    kept: list[Any] = []

    def make(versioned: bool) -> Any:
        if not versioned:
            raise BufferError("read-only, which the struct of DLPack 0.x cannot say")
        struct = b.struct(True, locked, flags=c.READ_ONLY)
        kept.append(struct.keep)  # a consumer that copies releases the struct at once
        return struct.capsule

    try:
        array = b.take(Hands(make, b.given().device))
    except NotOfferedError:
        raise
    except Exception:
        raise NotOfferedError("takes no read-only array") from None
    try:
        b.adapter.write(array, 77)
    except Exception:
        return
    values = locked
    if b.memory == "own":
        values = b.host(kept[-1][0])
    expect((np.asarray(values).ravel() == VALUES.ravel()).all(), "it was written to")


@consumer("read-only", C_API)
def readonly_survives_an_export(b: Bench) -> None:
    """An array over read-only memory is exported as read-only, or is not exported."""

    def make(versioned: bool) -> Any:
        if not versioned:
            raise BufferError("read-only, which the struct of DLPack 0.x cannot say")
        return b.struct(True, VALUES, flags=c.READ_ONLY).capsule

    try:
        array = b.take(Hands(make, b.given().device))
        managed = c.managed_in(b.versioned(array))
    except Exception as error:
        raise NotOfferedError(f"takes no read-only array, or exports none: {error}") from None
    place = (managed.dl_tensor.data or 0) + managed.dl_tensor.byte_offset
    source = b.structs[-1].struct.dl_tensor.data
    if place != source:
        raise NotOfferedError("copies read-only memory")
    expect(managed.flags & c.READ_ONLY, "the flag is lost")


@consumer("read-only", DLPACK)
def readonly_is_taken(b: Bench) -> None:
    """A consumer accepts a read-only array."""

    def make(versioned: bool) -> Any:
        if not versioned:
            raise BufferError("read-only, which the struct of DLPack 0.x cannot say")
        return b.struct(True, VALUES, flags=c.READ_ONLY).capsule

    same(b.host(b.take(Hands(make, b.given().device))), VALUES)


def _layout_case(name: str, what: str, array: np.ndarray[Any, Any]) -> None:
    def run(b: Bench) -> None:
        same(b.host(b.take(b.given(array))), array)

    text = f"{what}: taken, and not refused"
    put("consumer", run, "layout", C_API, alone=False, name=f"takes_{name}", text=text)


_layout_case("columns_first", "Fortran order", VALUES.T)
_layout_case("gaps", "Strides with gaps", VALUES[::2, ::2])
_layout_case("negative_strides", "Negative strides", VALUES[::-1])
_layout_case("zero_strides", "Strides of 0", np.broadcast_to(VALUES[0], (3, 4)))


@consumer("copies", PYTHON)
def imports_are_views(b: Bench) -> None:
    """Without copy=, the memory is shared where possible."""
    if b.memory == "own":
        array = b.make()
        taken = b.take(b.producer(array))
        b.write(array, 77)
    else:
        values = aligned(VALUES)
        hands = b.given(values)
        taken = b.take(hands)
        if b.device_or(taken, hands.device) != hands.device:
            raise NotOfferedError("has no arrays in host memory")
        values[...] = 77
    same(b.host(taken), np.full_like(VALUES, 77))


@consumer("errors", PYTHON)
def unsupported_device_is_a_buffer_error(b: Bench) -> None:
    """An unknown device: BufferError, or the memory is passed on unchanged."""
    hands = Hands(lambda versioned: b.struct(versioned, device=(12, 0)).capsule, (12, 0))
    try:
        taken = b.take(hands)
    except BufferError:
        return
    except NotOfferedError:
        raise
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None
    expect(b.device(taken) == (12, 0), "accepted silently")


@consumer("errors", FROM_DLPACK)
def refusal_is_not_asked_again(b: Bench) -> None:
    """A producer that raises BufferError is not asked again in the same way."""
    calls = []

    def make(versioned: bool) -> Any:
        calls.append(versioned)
        raise BufferError("this array is not for you")

    try:
        b.take(Hands(make, b.given().device))
    except Exception:
        expect(len(calls) <= 2, f"it was asked {len(calls)} times")


@consumer("copies", FROM_DLPACK)
def copy_false_says_buffer_error(b: Bench) -> None:
    """An impossible copy=False: BufferError, or ValueError."""

    def make(_: bool) -> Any:
        raise BufferError("this array can only be copied")

    try:
        b.take_with(Hands(make, b.given().device), copy=False)
    except (BufferError, ValueError):
        return
    except NotOfferedError:
        raise
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}") from None
    raise BrokenError("accepted silently")
