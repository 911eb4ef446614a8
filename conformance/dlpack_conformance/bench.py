# SPDX-License-Identifier: Apache-2.0
"""The library under test as the cases see it, and the results of a case."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import numpy as np

from dlpack_conformance import structs as c
from dlpack_conformance.adapter import Adapter
from dlpack_conformance.producers import Hands, Struct, address_of

__all__ = [
    "VALUES",
    "Bench",
    "BrokenError",
    "Memory",
    "NotOfferedError",
    "aligned",
    "exchange_dtype",
    "expect",
    "same",
]

Memory = Literal["host", "own"]


#: Seconds within which a library frees unused memory.
PATIENCE = 10
#: Readable bytes before an array, for a library that accepts a hostile byte_offset.
MARGIN = 4096


def aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array to a multiple of 256 bytes, as the header requires, with a margin of zeros."""
    room = np.zeros(MARGIN + values.nbytes + 256, "uint8")
    start = MARGIN + -address_of(room) % 256
    made: np.ndarray[Any, Any] = room[start : start + values.nbytes].view(values.dtype)
    made = made.reshape(values.shape)
    made[...] = values
    return made


#: The array of most cases.
VALUES = aligned(np.arange(12, dtype="float32").reshape(3, 4))


def exchange_dtype(name: str) -> None:
    """Make `VALUES` of another dtype; for a worker, before it imports the cases."""
    global VALUES
    VALUES = aligned(VALUES.astype(name))


class BrokenError(AssertionError):
    """A case fails: the expected and the actual result."""


class NotOfferedError(Exception):
    """The library does not have this feature, or its adapter does not provide it.

    The text continues a sentence that begins with the library: "has no read-only arrays".
    """


def expect(condition: object, message: str) -> None:
    """Fail with a message unless the condition holds."""
    if not condition:
        raise BrokenError(message)


def same(result: Any, wanted: np.ndarray[Any, Any], what: str = "the result") -> None:
    """Fail unless the array has these elements and this shape."""
    array = np.asarray(result)
    expect(array.shape == wanted.shape, f"{what} has shape {array.shape}, not {wanted.shape}")
    good = array.tobytes() == wanted.tobytes() or bool((array == wanted).all())
    expect(good, f"{what} is {array.ravel()[:8].tolist()}, not {wanted.ravel()[:8].tolist()}")


class Bench:
    """A library, and the memory of the hand-made producers that it gets.

    Parameters
    ----------
    adapter : Adapter
        The library.
    memory : {"host", "own"}
        Place of the elements of hand-made structs: host memory, or memory of the library's own
        device, in an array that the library made.
    """

    def __init__(self, adapter: Adapter, memory: Memory = "host") -> None:
        self.adapter, self.memory = adapter, memory
        self.structs: list[Struct] = []

    # ---- the library as a producer

    def make(self, values: np.ndarray[Any, Any] | None = None) -> Any:
        """Make an array."""
        if self.adapter.make is None:
            raise NotOfferedError("makes no arrays")
        return self.adapter.make(VALUES if values is None else values)

    def producer(self, array: Any) -> Any:
        """Return the object that has ``__dlpack__`` and ``__dlpack_device__``."""
        return self.adapter.producer(array)

    def device(self, array: Any) -> tuple[int, int]:
        """Return the device that an array reports."""
        kind, number = self.producer(array).__dlpack_device__()
        return int(kind.value if isinstance(kind, Enum) else kind), int(number)

    def device_or(self, array: Any, other: tuple[int, int]) -> tuple[int, int]:
        """Return the device of an array, or the default if it does not report one."""
        try:
            return self.device(array)
        except Exception:
            return other

    def legacy(self, array: Any) -> Any:
        """Return a capsule of the struct of DLPack 0.x."""
        try:
            capsule = self.producer(array).__dlpack__()
        except BufferError:
            raise NotOfferedError("does not export the struct of DLPack 0.x") from None
        if c.is_versioned(capsule):
            raise BrokenError("exported a versioned struct to a consumer that did not ask for it")
        return capsule

    def versioned(self, array: Any, **keywords: Any) -> Any:
        """Return a capsule of the struct of DLPack 1.x."""
        capsule = self.export(array, max_version=(1, 3), **keywords)
        if not c.is_versioned(capsule):
            raise NotOfferedError("exports the struct of DLPack 0.x only")
        return capsule

    def export(self, array: Any, **keywords: Any) -> Any:
        """Call ``__dlpack__`` with keywords; libraries of 2021 do not have them."""
        try:
            return self.producer(array).__dlpack__(**keywords)
        except TypeError as error:
            raise NotOfferedError(f"does not know {', '.join(keywords)}: {error}") from None

    def any_capsule(self, array: Any) -> Any:
        """Return a capsule of the struct that most consumers get."""
        try:
            return self.producer(array).__dlpack__(max_version=(1, 3))
        except (TypeError, NotOfferedError):
            return self.producer(array).__dlpack__()

    def index(self, array: Any, key: Any) -> Any:
        """Return a view."""
        if self.adapter.index is None:
            raise NotOfferedError("has no indexing")
        try:
            view = self.adapter.index(array, key)
        except Exception as error:
            raise NotOfferedError(f"has no such view: {error}") from None
        if not hasattr(self.producer(view), "__dlpack__"):
            raise NotOfferedError(f"has no such view: {type(view).__name__} is not an array")
        return view

    def write(self, array: Any, value: float) -> None:
        """Set all elements of an array that the library made."""
        try:
            self.adapter.write(array, value)
        except Exception as error:
            raise NotOfferedError(f"does not write: {error}") from None

    def readonly(self) -> Any:
        """Make a read-only array."""
        if self.adapter.readonly is None:
            raise NotOfferedError("has no read-only arrays")
        return self.adapter.readonly(VALUES)

    def pending(self) -> tuple[Any, np.ndarray[Any, Any]]:
        """Make an array with pending computations."""
        if self.memory == "host" and self.device(self.make())[0] != 1:
            raise NotOfferedError("is asked this only with memory of its own device")
        if self.adapter.pending is None:
            raise NotOfferedError("computes nothing in the background")
        made = self.adapter.pending()
        if made is None:
            raise NotOfferedError("computes nothing in the background here")
        return made

    def bytes_of(self, array: Any, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Read an array as a host consumer would, without its library."""
        capsule = self.any_capsule(array)
        dl = c.managed_in(capsule).dl_tensor
        if (dl.device.device_type, dl.device.device_id) != c.CPU:
            capsule = self.export(array, max_version=(1, 3), dl_device=c.CPU)
            dl = c.managed_in(capsule).dl_tensor
        strides = c.lengths(dl.strides, dl.ndim)
        in_bytes = values.size > 1 and values.itemsize > 1 and strides == values.strides
        expect(not in_bytes, f"the strides {strides} count bytes; they must count elements")
        return c.elements(dl, values.dtype)

    # ---- the library as a consumer

    def take(self, x: Any, **keywords: Any) -> Any:
        """Import from a producer."""
        if self.adapter.take is None:
            raise NotOfferedError("takes no arrays")
        return self.adapter.take(x, **keywords)

    def take_with(self, x: Any, **keywords: Any) -> Any:
        """Import with keywords that some libraries do not have."""
        try:
            return self.take(x, **keywords)
        except TypeError as error:
            raise NotOfferedError(f"does not know {', '.join(keywords)}: {error}") from None

    def take_or_refuse(self, x: Any, **keywords: Any) -> Any:
        """Import with ``copy=``, which may be refused."""
        try:
            return self.take_with(x, **keywords)
        except (BufferError, ValueError) as error:
            refused = ", ".join(f"{name}={value}" for name, value in keywords.items())
            raise NotOfferedError(f"refuses {refused}: {error}") from None

    def host(self, array: Any) -> np.ndarray[Any, Any]:
        """Return the elements of an array."""
        elements = np.asarray(self.adapter.host(array))
        kind = type(array).__name__
        expect(
            elements.dtype != object, f"numpy.asarray cannot read the {kind}; give Adapter(host=)"
        )
        return elements

    def struct(
        self, versioned: bool, array: np.ndarray[Any, Any] | None = None, **fields: Any
    ) -> Struct:
        """Return a struct over elements of an array, in the memory of this bench."""
        base = array = VALUES if array is None else array
        while isinstance(base.base, np.ndarray) and base is not VALUES:
            base = base.base
        data, device, keep = self._home(base)
        data += address_of(array) - address_of(base)
        given = {"data": data, "device": device, "keep": keep}
        made = Struct(versioned, array, **{**given, **fields})
        self.structs.append(made)
        return made

    def given(self, array: np.ndarray[Any, Any] | None = None, **fields: Any) -> Hands:
        """Return a producer of such structs."""
        device = fields.get("device") or self._home(VALUES)[1]
        return Hands(lambda versioned: self.struct(versioned, array, **fields).capsule, device)

    def _home(self, base: np.ndarray[Any, Any]) -> tuple[int, tuple[int, int], Any]:
        if self.memory == "host":
            return address_of(base), c.CPU, base
        array = self.make(base)
        capsule = self.any_capsule(array)
        dl = c.managed_in(capsule).dl_tensor
        place = (dl.data or 0) + dl.byte_offset
        return place, (dl.device.device_type, dl.device.device_id), (array, capsule)

    # ---- checks after an import

    def right(self, call: Callable[[], Any], wanted: np.ndarray[Any, Any]) -> None:
        """There is one right result; an exception is also accepted."""
        result = None
        try:
            result = self.host(call())
        except NotOfferedError:
            raise
        except Exception:
            pass
        if result is None:  # the exception is gone, with everything that it referenced
            self.given_back_once()
        else:
            same(result, wanted)

    def refused(self, call: Callable[[], Any]) -> None:
        """There is no right result: an exception that does not leak is required."""
        if (result := self.taken(call)) is not None:
            raise BrokenError(f"accepted silently: {describe(result)}")

    def taken(self, call: Callable[[], Any]) -> Any:
        """Return a result, or None for an exception that does not leak."""
        try:
            return call()
        except NotOfferedError:
            raise
        except Exception:
            pass
        self.given_back_once()
        return None

    def refused_or_carried(self, x: Hands, device: tuple[int, int]) -> None:
        """An exception, or an array that reports that device."""
        result = self.taken(lambda: self.take(x))
        if result is None:
            return
        reported = self.device_or(result, c.CPU)
        expect(reported == device, f"memory of device {device} became one of {reported}")

    def given_back_once(self) -> None:
        """After an error: a consumed capsule is released once; any other capsule is unchanged."""
        structs = [struct for struct in self.structs if struct.struct.deleter]
        wait_for(lambda: all(struct.deleted >= struct.consumed for struct in structs))
        for struct in structs:
            expect(
                struct.deleted == struct.consumed,
                f"after the error, the deleter of a capsule that was "
                f"{'' if struct.consumed else 'not '}consumed has run {struct.deleted} times",
            )


def describe(result: object) -> str:
    """Return the type of a result, and its text if that is short."""
    try:
        text = repr(result)
    except Exception as error:
        text = f"repr raises {type(error).__name__}"
    return f"{type(result).__name__} {' '.join(text.split())[:60]}"


def wait_for(condition: Callable[[], bool]) -> bool:
    """Collect garbage until a condition holds; some libraries free memory in a thread."""
    end = time.monotonic() + PATIENCE
    while True:
        gc.collect()
        if condition():
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
