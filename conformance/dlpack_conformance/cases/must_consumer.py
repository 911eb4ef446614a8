# SPDX-License-Identifier: Apache-2.0
"""Requirements of dlpack.h, DLPack's Python specification or the array API for a consumer."""

from __future__ import annotations

import gc
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
    wait_for,
)
from dlpack_conformance.cases.registry import (
    C_API,
    DLPACK,
    FROM_DLPACK,
    PYTHON,
    consumer,
    put,
)
from dlpack_conformance.producers import Hands

# ---- consumer ------------------------------------------------------------------------------------


@consumer("versions", PYTHON)
def good_struct(b: Bench) -> None:
    """A valid struct of the version that the consumer requests is accepted."""
    same(b.host(b.take(b.given())), VALUES)


@consumer("versions", DLPACK)
def legacy_struct_though_asked(b: Bench) -> None:
    """The version is checked: a producer may still export the struct of DLPack 0.x."""
    b.right(lambda: b.take(Hands(lambda _: b.struct(False).capsule, b.given().device)), VALUES)


@consumer("versions", C_API)
def other_major_version(b: Bench) -> None:
    """Only the deleter of a struct with another major version is used."""
    made = []

    def make(_: bool) -> Any:
        made.append(b.struct(True, version=(2, 0)))
        return made[-1].capsule

    b.refused(lambda: b.take(Hands(make, b.given().device)))


@consumer("versions", C_API)
def later_minor_version(b: Bench) -> None:
    """A later minor version of the same layout is accepted."""
    b.right(lambda: b.take(b.given(version=(1, 99))), VALUES)


@consumer("life cycle", PYTHON)
def capsule_is_renamed(b: Bench) -> None:
    """A capsule that was consumed is renamed, or its destructor is taken away."""
    taken = b.take(b.given())
    kept = [struct for struct in b.structs if not struct.consumed and not struct.deleted]
    released = [struct for struct in b.structs if struct.deleted and not struct.consumed]
    expect(not released, "the deleter ran, and the capsule still has its name")
    expect(len(kept) < len(b.structs), "the capsule still has its name")
    del taken


@consumer("life cycle", PYTHON)
def deleter_is_called_once(b: Bench) -> None:
    """The deleter is called once, when the array is dropped."""
    taken = b.take(b.given())
    same(b.host(taken), VALUES)
    del taken
    wait_for(lambda: all(struct.deleted >= struct.consumed for struct in b.structs))
    for struct in b.structs:
        expect(struct.deleted == struct.consumed, f"the deleter ran {struct.deleted} times")


@consumer("life cycle", PYTHON)
def array_keeps_the_memory(b: Bench) -> None:
    """The array stays alive as long as it is used, even if the producer is gone."""
    values = np.arange(100_000, dtype=VALUES.dtype).reshape(100, 1000)
    taken = b.take(b.given(values))
    gc.collect()
    noise = [np.zeros_like(values) for _ in range(3)]
    same(b.host(taken), values)
    del noise


@consumer("life cycle", C_API)
def null_deleter(b: Bench) -> None:
    """A NULL deleter is not called."""
    b.right(lambda: b.take(b.given(deleter=False)), VALUES)
    gc.collect()


@consumer("layout", C_API)
def byte_offset_is_added(b: Bench) -> None:
    """byte_offset leads from data to the first element."""
    b.right(
        lambda: b.take(b.given(byte_offset=VALUES.strides[0], shape=(2, 4), strides=(4, 1))),
        VALUES[1:],
    )


@consumer("layout", C_API)
def null_strides_mean_compact(b: Bench) -> None:
    """Before DLPack 1.2, NULL strides mean a compact array."""
    b.right(lambda: b.take(b.given(strides=None)), VALUES)


UNUSUAL: dict[str, tuple[str, dict[str, Any], np.ndarray[Any, Any]]] = {
    "negative_strides": ("Negative strides", {"array": VALUES[::-1]}, VALUES[::-1]),
    "zero_strides": ("Strides of 0", {"strides": (0, 1)}, np.stack([VALUES[0]] * 3)),
    "transposed": ("Fortran order", {"array": VALUES.T}, VALUES.T),
    "sliced": ("Strides with gaps", {"array": VALUES[::2, ::2]}, VALUES[::2, ::2]),
    "null_shape": (
        "0 dimensions, shape and strides NULL",
        {"shape": None, "strides": None, "ndim": 0},
        VALUES[0, 0],
    ),
    "no_elements": (
        "No elements, data NULL",
        {"data": 0, "shape": (0, 4), "strides": (4, 1)},
        VALUES[:0],
    ),
    "length_of_1": (
        "Any stride of a length of 1",
        {"shape": (1, 4), "strides": (2**62, 1)},
        VALUES[:1],
    ),
}


def _layout_case(
    name: str, what: str, fields: dict[str, Any], wanted: np.ndarray[Any, Any]
) -> None:
    def run(b: Bench) -> None:
        b.right(lambda: b.take(b.given(**fields)), wanted)

    text = f"{what}: the right elements, or an exception"
    put("consumer", run, "layout", C_API, alone=False, name=name, text=text)


for _name, (_what, _fields, _wanted) in UNUSUAL.items():
    _layout_case(_name, _what, _fields, _wanted)


#: The dtypes that most libraries have.
FREQUENT = ("int8", "int16", "int32", "uint8", "float32")


@consumer("dtypes", C_API)
def dtype_is_kept(b: Bench) -> None:
    """The result has the dtype of the producer, unless that dtype is refused."""
    refusals = []
    for name in FREQUENT:
        values = np.array([[0, 1, 2], [3, 4, 100]], name)
        try:
            taken = b.take(b.given(values))
        except NotOfferedError:
            raise
        except Exception as error:
            refusals.append(error)
            continue
        result = b.host(taken)
        expect(result.dtype == values.dtype, f"{name} became {result.dtype}")
        same(result, values)
    if len(refusals) == len(FREQUENT):
        raise NotOfferedError(f"refuses {', '.join(FREQUENT)}: {refusals[0]}")


@consumer("flags", C_API)
def unknown_flags_are_ignored(b: Bench) -> None:
    """Flag bits without a meaning change nothing."""
    b.right(lambda: b.take(b.given(flags=0xFF00)), VALUES)


@consumer("device", FROM_DLPACK)
def stays_on_its_device(b: Bench) -> None:
    """Without a device, the result is on the device of the producer."""
    hands = b.given()
    taken = b.take(hands)
    try:
        device = b.device(taken)
    except Exception:
        raise NotOfferedError("has arrays without __dlpack_device__") from None
    if b.memory == "host" and b.device(b.make())[0] != 1 != device[0]:
        raise NotOfferedError("has no arrays in host memory")
    expect(device == hands.device, f"memory of device {hands.device} became one of {device}")


@consumer("errors", FROM_DLPACK)
def buffer_error_goes_through(b: Bench) -> None:
    """A BufferError of the producer reaches the user."""

    def make(_: bool) -> Any:
        raise BufferError("this array is not for you")

    try:
        b.take(Hands(make, b.given().device))
    except BufferError:
        return
    except Exception as error:
        raise BrokenError(f"it became {type(error).__name__}: {error}") from None
    raise BrokenError("it is gone")


class _Copying(Hands):
    """A producer that obeys ``copy``."""

    def __init__(self, b: Bench, values: np.ndarray[Any, Any]) -> None:
        super().__init__(lambda versioned: b.struct(versioned, values).capsule, b.given().device)
        self._copy: Any = lambda: b.struct(True, values.copy(), flags=c.IS_COPIED).capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        return self._copy() if keywords.get("copy") else capsule


@consumer("copies", FROM_DLPACK)
def copy_true_owns_its_memory(b: Bench) -> None:
    """copy=True: a write to the producer's memory does not reach the result."""
    if b.memory == "own":  # the host does not write to that memory, but the library does
        array = b.make()
        taken = b.take_or_refuse(b.producer(array), copy=True)
        b.write(array, 77)
    else:
        values = aligned(VALUES)
        taken = b.take_or_refuse(_Copying(b, values), copy=True)
        same(b.host(taken), VALUES)
        values[...] = 77
    same(b.host(taken), VALUES)


@consumer("copies", FROM_DLPACK)
def copy_false_is_a_view(b: Bench) -> None:
    """copy=False: a write to the producer's memory reaches the result, or there is an error."""
    if b.memory == "own":
        array = b.make()
        taken = b.take_or_refuse(b.producer(array), copy=False)
        b.write(array, 77)
    else:
        values = aligned(VALUES)
        taken = b.take_or_refuse(_Copying(b, values), copy=False)
        values[...] = 77
    same(b.host(taken), np.full_like(VALUES, 77))


@consumer("pending work", FROM_DLPACK)
def pending_work_reaches_a_view(b: Bench) -> None:
    """An array that is imported while work on it is pending has the elements after the work."""
    for _ in range(5):
        array, wanted = b.pending()
        same(b.host(b.take(b.producer(array))), wanted)


@consumer("pending work", FROM_DLPACK)
def pending_work_reaches_a_copy(b: Bench) -> None:
    """A copy that is made while work is pending has the elements after the work."""
    for _ in range(40):
        array, wanted = b.pending()
        same(b.host(b.take_or_refuse(b.producer(array), copy=True)), wanted)


@consumer("streams", DLPACK)
def no_stream_for_the_host(b: Bench) -> None:
    """A producer of host memory gets stream=None only."""
    hands = b.given()
    if hands.device != c.CPU:
        raise NotOfferedError("is asked this only with host memory")
    b.take(hands)
    streams = [call["stream"] for call in hands.calls if call.get("stream") is not None]
    expect(not streams, f"stream={streams}")


@consumer("streams", DLPACK)
def no_stream_when_the_host_is_asked_for(b: Bench) -> None:
    """With dl_device=(1, 0), stream is None."""
    hands = b.given()
    b.take(hands)
    for call in hands.calls:
        if call.get("dl_device") == c.CPU:
            expect(call.get("stream") is None, f"asked with {call}")
