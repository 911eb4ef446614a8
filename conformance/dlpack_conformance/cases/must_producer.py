# SPDX-License-Identifier: Apache-2.0
"""Requirements of dlpack.h, DLPack's Python specification or the array API for a producer."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from dlpack_conformance import structs as c
from dlpack_conformance.bench import (
    VALUES,
    Bench,
    BrokenError,
    NotOfferedError,
    expect,
    same,
    wait_for,
)
from dlpack_conformance.cases.registry import (
    C_API,
    DLPACK,
    PYTHON,
    producer,
    put,
)

# ---- producer: the exported struct ---------------------------------------------------------------


@producer("device", DLPACK)
def says_its_device(b: Bench) -> None:
    """``__dlpack_device__`` returns a tuple: an integer or an Enum of one, and an integer."""
    device = b.producer(b.make()).__dlpack_device__()
    expect(isinstance(device, tuple) and len(device) == 2, f"__dlpack_device__ returns {device!r}")
    numbers = (device[0].value if isinstance(device[0], Enum) else device[0], device[1])
    expect(all(isinstance(n, int) for n in numbers), f"__dlpack_device__ returns {device!r}")


@producer("device", C_API)
def same_device_in_the_struct(b: Bench) -> None:
    """The struct has the device that ``__dlpack_device__`` returns."""
    array = b.make()
    dl = c.managed_in(b.any_capsule(array)).dl_tensor
    device = (dl.device.device_type, dl.device.device_id)
    expect(device == b.device(array), f"the struct has {device}, announced is {b.device(array)}")


@producer("versions", PYTHON)
def legacy_capsule(b: Bench) -> None:
    """Without max_version the capsule is named "dltensor", or there is a BufferError."""
    name = c.capsule_name(b.legacy(b.make()))
    expect(name == "dltensor", f"the capsule is named {name!r}")


@producer("versions", DLPACK)
def version_is_known(b: Bench) -> None:
    """Asked for version 1, a versioned struct has major version 1."""
    managed = c.managed_in(b.versioned(b.make()))
    expect(managed.version.major == 1, f"the major version is {managed.version.major}")


@producer("versions", DLPACK)
def older_version_is_respected(b: Bench) -> None:
    """max_version=(0, 8) gives the struct of DLPack 0.x, or a BufferError."""
    try:
        capsule = b.export(b.make(), max_version=(0, 8))
    except BufferError:
        return
    expect(not c.is_versioned(capsule), "exported a struct that the consumer does not know")


@producer("flags", C_API)
def unknown_flags_are_zero(b: Bench) -> None:
    """Flag bits without a meaning are 0."""
    flags = c.managed_in(b.versioned(b.make())).flags
    known = c.READ_ONLY | c.IS_COPIED | c.IS_SUBBYTE_TYPE_PADDED
    expect(not flags & ~known, f"flags are {flags:#x}")


@producer("layout", C_API)
def elements_are_described(b: Bench) -> None:
    """Data, byte_offset, shape and strides lead to the elements."""
    same(b.bytes_of(b.make(), VALUES), VALUES)


@producer("layout", C_API)
def strides_are_written(b: Bench) -> None:
    """Since DLPack 1.2, strides of an array with dimensions are not NULL."""
    managed = c.managed_in(b.versioned(b.make()))
    if (managed.version.major, managed.version.minor) < (1, 2):
        raise NotOfferedError("exports a version before 1.2, where NULL means compact")
    expect(managed.dl_tensor.strides, "strides are NULL")


VIEWS: dict[str, Any] = {
    "every second row": np.s_[::2],
    "a column": np.s_[:, 1],
    "reversed": np.s_[::-1],
    "a part": np.s_[1:, 2:],
    "one row": np.s_[1:2],
    "no rows": np.s_[2:2],
    "an element": np.s_[1, 2],
}


def _view_case(name: str, key: Any) -> None:
    def run(b: Bench) -> None:
        array = b.index(b.make(), key)
        wanted = VALUES[key]
        dl = c.managed_in(b.any_capsule(array)).dl_tensor
        shape = c.lengths(dl.shape, dl.ndim) or ()
        expect(shape == np.shape(wanted), f"the shape is {shape}, not {np.shape(wanted)}")
        same(b.bytes_of(array, VALUES), wanted)

    put(
        "producer",
        run,
        "layout",
        C_API,
        alone=False,
        name=f"view_{name.replace(' ', '_')}",
        text=f"A view is exported with its own layout: {name}",
    )


for _name, _key in VIEWS.items():
    _view_case(_name, _key)


def _dtype_case(name: str) -> None:
    def run(b: Bench) -> None:
        values = np.array([[0, 1], [1, 0]], name)
        try:
            array = b.make(values)
        except NotOfferedError:
            raise
        except Exception as error:
            raise NotOfferedError(f"has no {name}: {error}") from None
        if np.asarray(b.adapter.host(array)).dtype not in (values.dtype, object):
            raise NotOfferedError(f"makes an array of another dtype from {name}")
        capsule = b.any_capsule(array)
        dtype = c.managed_in(capsule).dl_tensor.dtype
        code = (dtype.code, dtype.bits, dtype.lanes)
        expect(code == (*c.DTYPES[name], 1), f"the dtype is {code}, not {(*c.DTYPES[name], 1)}")
        same(b.bytes_of(array, values), values)

    put(
        "producer",
        run,
        "dtypes",
        C_API,
        alone=False,
        name=f"dtype_{name}",
        text=f"{name} has its code, its bits and one lane",
    )


for _name in [name for name in c.DTYPES if hasattr(np, name)]:
    _dtype_case(_name)


# ---- producer: life cycle ------------------------------------------------------------------------


@producer("life cycle", PYTHON)
def two_exports_are_two_capsules(b: Bench) -> None:
    """Each export is a new capsule, which no consumer has taken: it can be consumed only once."""
    array = b.make()
    first, second = b.any_capsule(array), b.any_capsule(array)
    expect(first is not second, "the second export is the capsule of the first")
    for capsule in (first, second):
        name = c.capsule_name(capsule)
        expect(name.encode() in c.NAMES.values(), f"a new capsule is named {name!r}")


@producer("life cycle", PYTHON)
def capsule_keeps_the_memory(b: Bench) -> None:
    """The elements are there until the deleter is called; array and capsule may go before."""
    values = np.arange(100_000, dtype=VALUES.dtype)
    array = b.make(values)
    address, versioned = c.take(b.any_capsule(array))
    dl = c.STRUCTS[versioned].from_address(address).dl_tensor
    host = dl.device.device_type == 1
    del array
    noise = [b.make(np.zeros_like(values)) for _ in range(3)]
    gc.collect()
    shape = c.lengths(dl.shape, dl.ndim)
    expect(shape == values.shape, f"the shape became {shape}")
    elements = c.elements(dl, values.dtype) if host else values
    c.call_deleter(address, versioned=versioned)
    same(elements, values, "the memory")
    del noise


def _grows(b: Bench, work: Any, what: str) -> None:
    """Fail if the process grows by half of the size of the exports."""
    nbytes, times = 8 << 20, 16
    array = b.make(np.zeros(nbytes // VALUES.itemsize, VALUES.dtype))
    if b.device(array)[0] != 1:
        nbytes, times = 1 << 20, 100  # its memory may be elsewhere, so the process hardly grows

    def repeat() -> None:
        for _ in range(times):
            work(b.make(np.zeros(nbytes // VALUES.itemsize, VALUES.dtype)))
        gc.collect()

    repeat()  # an allocator may keep the memory that is freed, so the process grows once
    before = _resident()
    repeat()
    wait_for(lambda: _resident() - before < nbytes * times // 2)
    grown = _resident() - before
    expect(grown < nbytes * times // 2, f"{what}: {times} arrays of {nbytes >> 20} MB, and the "
           f"process grew by {grown >> 20} MB")  # fmt: skip


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        raise NotOfferedError("runs on a system that does not tell the size of a process") from None


@producer("life cycle", PYTHON)
def dropped_capsule_is_released(b: Bench) -> None:
    """An unconsumed capsule releases the array when it is dropped."""
    _grows(b, lambda array: b.any_capsule(array) and None, "capsules dropped")


@producer("life cycle", PYTHON)
def deleter_releases(b: Bench) -> None:
    """The deleter releases the array, and the capsule that was consumed does nothing more."""

    def work(array: Any) -> None:
        capsule = b.any_capsule(array)
        address, versioned = c.take(capsule)
        del capsule
        c.call_deleter(address, versioned=versioned)

    _grows(b, work, "deleters called")


@producer("life cycle", PYTHON)
def capsule_dropped_while_raising(b: Bench) -> None:
    """A capsule that is dropped while an exception is pending keeps the exception."""
    array = b.make()
    caught = None
    try:
        print(b.any_capsule(array), 1 / 0)
    except ZeroDivisionError as error:
        caught = error
    gc.collect()
    expect(caught is not None, "the exception is gone")
    same(b.bytes_of(array, VALUES), VALUES, "the array")


@producer("threads", PYTHON)
def deleter_in_another_thread(b: Bench) -> None:
    """The deleter takes the GIL itself: it is called in another thread, without it."""
    address, versioned = c.take(b.any_capsule(b.make()))
    thread = threading.Thread(
        target=c.call_deleter, args=(address,), kwargs={"versioned": versioned}
    )
    thread.start()
    thread.join()


@producer("threads", PYTHON)
def deleter_in_a_thread_of_c(b: Bench) -> None:
    """The deleter is called in a thread that Python does not know."""
    libc = ctypes.CDLL(None)
    address, versioned = c.take(b.any_capsule(b.make()))
    deleter = c.STRUCTS[versioned].from_address(address).deleter
    if not deleter:
        raise NotOfferedError("exports a NULL deleter")
    thread = ctypes.c_ulong()
    start = ctypes.c_void_p(deleter), ctypes.c_void_p(address)
    if libc.pthread_create(ctypes.byref(thread), None, *start) == 0:
        libc.pthread_join(thread, None)


# ---- producer: requests --------------------------------------------------------------------------


@producer("copies", DLPACK)
def copy_true_copies(b: Bench) -> None:
    """copy=True never exports the array's own memory; otherwise BufferError is raised."""
    array = b.make()
    first = c.managed_in(b.any_capsule(array))  # alive: its memory is not used again
    own = place_of(first)
    try:
        managed = c.managed_in(b.versioned(array, copy=True))
    except BufferError:
        raise NotOfferedError("refuses copy=True") from None
    expect(place_of(managed) != own, "copy=True exported the array's own memory")


@producer("copies", DLPACK)
def copy_true_sets_the_flag(b: Bench) -> None:
    """A copy has the flag IS_COPIED."""
    try:
        managed = c.managed_in(b.versioned(b.make(), copy=True))
    except BufferError:
        raise NotOfferedError("refuses copy=True") from None
    expect(managed.flags & c.IS_COPIED, f"flags are {managed.flags:#x}")


@producer("copies", DLPACK)
def copy_false_never_copies(b: Bench) -> None:
    """copy=False exports the array's own memory, or raises BufferError."""
    array = b.make()
    first = c.managed_in(b.any_capsule(array))  # alive: its memory is not used again
    own = place_of(first)
    try:
        managed = c.managed_in(b.export(array, max_version=(1, 3), copy=False))
    except BufferError:
        return
    expect(place_of(managed) == own, "copy=False exported other memory")


def _exports_of_views(b: Bench, **keywords: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield views with gaps: the name, the struct of an export, and whether that is a copy.

    Only a library whose views are views can be asked: what is written to the array is in the view,
    or two exports, both alive, differ in their place.
    """
    missing: list[NotOfferedError] = []  # a library may have some of the views
    views = ("every second row", "a column", "reversed")
    for name in views:
        array = b.make()
        try:
            view = b.index(array, VIEWS[name])
        except NotOfferedError as error:
            missing.append(error)
            continue
        try:
            whole = c.managed_in(b.export(array, max_version=(1, 3), copy=False))
            first, second = (
                c.managed_in(b.export(view, max_version=(1, 3), **keywords)) for _ in range(2)
            )
        except BufferError:
            continue
        inside = 0 <= place_of(first) - place_of(whole) < VALUES.nbytes
        is_elsewhere = not inside and _sees_writes(b, array, view)
        yield name, first, place_of(first) != place_of(second) or is_elsewhere
    if len(missing) == len(views):
        raise missing[0]


def _sees_writes(b: Bench, array: Any, view: Any) -> bool:
    try:
        b.write(array, 5)
    except NotOfferedError:
        return False
    return bool((b.host(view) == 5).all())


@producer("copies", DLPACK)
def copy_false_never_copies_a_view(b: Bench) -> None:
    """copy=False exports the memory of a view with gaps, or raises BufferError."""
    for name, _, is_copy in _exports_of_views(b, copy=False):
        expect(not is_copy, f"{name}: copy=False exported other memory")


@producer("copies", DLPACK)
def copied_view_is_flagged(b: Bench) -> None:
    """An export of a view with gaps is a view, or has the flag IS_COPIED."""
    for name, managed, is_copy in _exports_of_views(b):
        if not hasattr(managed, "flags"):
            raise NotOfferedError("exports the struct of DLPack 0.x only")
        expect(not is_copy or managed.flags & c.IS_COPIED, f"{name}: a copy that is not flagged")


@producer("copies", DLPACK)
def view_has_no_copied_flag(b: Bench) -> None:
    """A view does not have the flag IS_COPIED."""
    array = b.make()
    first, second = (c.managed_in(b.versioned(array)) for _ in range(2))
    if place_of(first) != place_of(second):
        raise NotOfferedError("copies at every export")
    expect(not first.flags & c.IS_COPIED, "a view is flagged as a copy")


def place_of(managed: Any) -> int:
    """Return the address of the first element of an exported struct."""
    return int((managed.dl_tensor.data or 0) + managed.dl_tensor.byte_offset)


@producer("device", DLPACK)
def own_device_on_request(b: Bench) -> None:
    """dl_device may be the device of the array."""
    array = b.make()
    dl = c.managed_in(b.export(array, max_version=(1, 3), dl_device=b.device(array))).dl_tensor
    device = (dl.device.device_type, dl.device.device_id)
    expect(device == b.device(array), f"asked for {b.device(array)}, got {device}")


@producer("device", DLPACK)
def unsupported_device_is_a_buffer_error(b: Bench) -> None:
    """dl_device of a type that the producer does not support: BufferError, and nothing else."""
    array = b.make()
    for device in ((12, 0), (99, 0)):
        try:
            b.producer(array).__dlpack__(max_version=(1, 3), dl_device=device)
        except BufferError:
            continue
        except NotOfferedError:
            raise
        except TypeError as error:
            raise NotOfferedError(f"does not know dl_device: {error}") from None
        except Exception as error:
            raise BrokenError(f"dl_device={device}: {type(error).__name__}: {error}") from None
        raise BrokenError(f"dl_device={device} gave a capsule")


@producer("device", DLPACK)
def host_on_request_is_the_host(b: Bench) -> None:
    """dl_device=(1, 0) gives host memory with the right elements, or a BufferError."""
    array = b.make()
    try:
        capsule = b.export(array, max_version=(1, 3), dl_device=c.CPU)
    except BufferError:
        raise NotOfferedError("exports nothing to the host") from None
    dl = c.managed_in(capsule).dl_tensor
    expect((dl.device.device_type, dl.device.device_id) == c.CPU, "the struct is not on the host")
    same(c.elements(dl, VALUES.dtype), VALUES)


@producer("pending work", DLPACK)
def pending_work_is_done_on_the_host(b: Bench) -> None:
    """With dl_device=(1, 0) the data is complete: pending work is done before."""
    for _ in range(5):
        array, wanted = b.pending()
        capsule = (
            b.any_capsule(array)
            if b.device(array) == c.CPU
            else b.export(array, max_version=(1, 3), dl_device=c.CPU)
        )
        same(c.elements(c.managed_in(capsule).dl_tensor, wanted.dtype), wanted)


@producer("pending work", DLPACK)
def pending_work_is_done_in_a_copy(b: Bench) -> None:
    """A copy for the host has the elements after the pending work."""
    for _ in range(5):
        array, wanted = b.pending()
        try:
            capsule = b.versioned(array, dl_device=c.CPU, copy=True)
        except BufferError:
            raise NotOfferedError("refuses copy=True") from None
        same(c.elements(c.managed_in(capsule).dl_tensor, wanted.dtype), wanted)


# ---- producer: read-only -------------------------------------------------------------------------


@producer("read-only", C_API)
def readonly_is_flagged(b: Bench) -> None:
    """A read-only array has the flag READ_ONLY."""
    flags = c.managed_in(b.versioned(b.readonly())).flags
    expect(flags & c.READ_ONLY, f"flags are {flags:#x}")


@producer("read-only", C_API)
def writable_is_not_flagged(b: Bench) -> None:
    """A writable array, of any number of dimensions, does not have the flag READ_ONLY."""
    array = b.make()
    with suppress(NotOfferedError):
        if b.adapter.readonly is not None:
            for view in (array, b.index(array, (1, 2))):
                flags = c.managed_in(b.versioned(view)).flags
                shape = c.managed_in(b.versioned(view)).dl_tensor.ndim
                expect(not flags & c.READ_ONLY, f"{shape} dimensions: flags are {flags:#x}")
            return
    raise NotOfferedError("has no read-only arrays")
