# SPDX-License-Identifier: Apache-2.0
"""Bad input that a library has to survive.

Each case passes one bad object to the library. It passes if the library raises an ordinary
exception or returns the right result, without a leak and without access to invalid memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

from dlpack_conformance import structs as c
from dlpack_conformance.bench import (
    MARGIN,
    VALUES,
    Bench,
    BrokenError,
    NotOfferedError,
    expect,
    same,
    wait_for,
)
from dlpack_conformance.cases.registry import C_API, DLPACK, NONE, PYTHON, consumer, producer, put
from dlpack_conformance.producers import Hands

# ---- a struct that contradicts itself ------------------------------------------------------------

BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "negative_length": ("a negative length", {"shape": (3, -4)}),
    "ndim_minus_1": ("ndim -1", {"ndim": -1}),
    "null_shape_of_a_matrix": ("ndim 2 and a NULL shape", {"shape": None, "ndim": 2}),
    "extent_overflows": ("an extent over 64 bits", {"shape": (2**62, 8), "strides": (8, 1)}),
    "strides_overflow": ("strides that exceed 64 bits", {"strides": (2**62, 1)}),
    "count_overflows": (
        "a count of elements that overflows to 0",
        {"shape": (2**32, 2**32), "strides": (0, 0)},
    ),
    "offset_overflows": (
        "a byte_offset that exceeds the address space",
        {"byte_offset": 2**64 - MARGIN},
    ),
    "unknown_dtype": ("an unknown dtype code", {"dtype": (99, 32, 1)}),
    "float_of_80_bits": ("a float of 80 bits", {"dtype": (2, 80, 1)}),
    "dtype_of_0_bits": ("a dtype of 0 bits", {"dtype": (2, 0, 1)}),
    "dtype_of_0_lanes": ("a dtype of 0 lanes", {"dtype": (2, 32, 0)}),
    "float4_as_6_bits": ("a float4 of 6 bits", {"dtype": (17, 6, 1)}),
}


def _bad_case(name: str, what: str, fields: dict[str, Any]) -> None:
    def run(b: Bench) -> None:
        b.refused(lambda: b.take(b.given(**fields)))

    text = f"Refuses a struct with {what}"
    put("consumer", run, "struct", C_API, alone=False, name=name, text=text)


for _name, (_what, _fields) in BAD.items():
    _bad_case(_name, _what, _fields)


@consumer("struct", C_API)
def more_dimensions_than_it_has(b: Bench) -> None:
    """65 dimensions of length 1: refused, or an array of 65 dimensions."""
    ones: dict[str, Any] = {"shape": (1,) * 65, "strides": (1,) * 65}
    taken = b.taken(lambda: b.take(b.given(**ones)))
    if taken is None:
        return
    ndim = getattr(taken, "ndim", 65)
    ndim = ndim() if callable(ndim) else ndim
    expect(ndim == 65, f"it became an array of {ndim} dimensions")


@consumer("struct", C_API)
def lanes(b: Bench) -> None:
    """Four lanes: refused, or an array with these lanes."""
    taken = b.taken(lambda: b.take(b.given(dtype=(2, 32, 4), shape=(3,), strides=(1,))))
    if taken is None:
        return
    try:
        elements = b.host(taken)
    except Exception:
        return
    expect(
        elements.size * elements.itemsize == 48, f"it became {elements.dtype} of {elements.shape}"
    )


@consumer("struct", C_API)
def null_data(b: Bench) -> None:
    """Refuses NULL data of an array with elements, or raises an exception when it is read."""
    b.refused(lambda: b.host(b.take(b.given(data=0))).sum())


@consumer("struct", C_API)
def wild_data_without_elements(b: Bench) -> None:
    """An invalid data pointer of an array without elements is not read."""
    wild: dict[str, Any] = {"data": 8, "shape": (0, 4), "strides": (4, 1)}
    b.right(lambda: b.take(b.given(**wild)), VALUES[:0])


# ---- devices -------------------------------------------------------------------------------------


@consumer("device", C_API)
def other_device_than_announced(b: Bench) -> None:
    """Does not treat memory as host memory only because ``__dlpack_device__`` says so."""
    b.refused_or_carried(
        Hands(lambda v: b.struct(v, device=(2, 0)).capsule, b.given().device), (2, 0)
    )


def _device_case(name: str, device: tuple[int, int]) -> None:
    def run(b: Bench) -> None:
        hands = Hands(lambda v: b.struct(v, device=device).capsule, device)
        b.refused_or_carried(hands, device)

    text = f"Refuses memory of device {device}, or passes it on as such"
    put("consumer", run, "device", C_API, alone=False, name=name, text=text)


for _name, _device in {
    "device_99": (14, 99),
    "device_minus_1": (14, -1),
    "type_99": (99, 0),
}.items():
    _device_case(_name, _device)


@consumer("device", C_API)
def host_memory_called_usm(b: Bench) -> None:
    """Does not use host memory that is announced as USM: the context does not know the address."""
    if b.memory == "own":
        raise NotOfferedError("is asked this only with host memory")
    hands = Hands(lambda v: b.struct(v, device=(14, 0)).capsule, (14, 0))
    if b.adapter.on_queue is not None:  # it could check
        b.refused(lambda: b.take(hands))
    b.refused_or_carried(hands, (14, 0))


def _announced_case(name: str, what: str, device: Any) -> None:
    def run(b: Bench) -> None:
        b.right(lambda: b.take(Hands(lambda v: b.struct(v).capsule, device)), VALUES)

    text = f"Survives a producer whose device is {what}"
    put("consumer", run, "device", DLPACK, alone=False, name=name, text=text)


_announced_case("device_is_a_text", "a string", "cpu")
_announced_case("device_of_41_bits", "a number of 41 bits", (14, 2**40))
_announced_case("device_is_one_number", "one number", (1,))


# ---- a producer that violates the protocol -------------------------------------------------------


def _hands(b: Bench, make: Any) -> Hands:
    return Hands(make, b.given().device)


def _answer_case(name: str, what: str, answer: Any) -> None:
    def run(b: Bench) -> None:
        b.refused(lambda: b.take(_hands(b, lambda _: answer())))

    text = f"Refuses a producer that {what}"
    put("consumer", run, "hostile producer", PYTHON, alone=False, name=name, text=text)


_answer_case("producer_raises", "raises ZeroDivisionError", lambda: 1 / 0)
_answer_case("producer_returns_none", "returns None", lambda: None)
_answer_case("other_capsule", "returns another capsule", lambda: c.new_capsule(4096, b"dl"))
_answer_case(
    "nameless_capsule", "returns a capsule without a name", lambda: c.new_capsule(4096, None)
)


@consumer("hostile producer", PYTHON)
def consumed_capsule(b: Bench) -> None:
    """Refuses a capsule that was consumed, and the first array keeps its memory."""
    made: dict[bool, Any] = {}

    def used(versioned: bool) -> Any:
        if versioned not in made:
            made[versioned] = b.struct(versioned)
        return made[versioned].capsule

    first = b.take(_hands(b, used))
    if not any(struct.consumed for struct in b.structs):
        raise NotOfferedError("does not consume capsules")
    try:
        b.take(_hands(b, used))
    except Exception:
        same(b.host(first), VALUES)
        return
    raise BrokenError("taken twice")


class _Exit(Hands):
    def __dlpack_device__(self) -> Any:
        raise SystemExit(3)


@consumer("hostile producer", NONE)
def exit_goes_through(b: Bench) -> None:
    """SystemExit from ``__dlpack__`` propagates."""

    def leave(_: bool) -> Any:
        raise SystemExit(3)

    try:
        b.take(_hands(b, leave))
    except SystemExit:
        return
    except NotOfferedError:
        raise
    except Exception as error:
        raise BrokenError(f"it became {type(error).__name__}") from None
    raise BrokenError("it is gone")


@consumer("hostile producer", NONE)
def early_exit_goes_through(b: Bench) -> None:
    """SystemExit from ``__dlpack_device__`` propagates."""
    try:
        array = b.take(_Exit(lambda versioned: b.struct(versioned).capsule))
    except SystemExit:
        return
    except NotOfferedError:
        raise
    except Exception as error:
        raise BrokenError(f"it became {type(error).__name__}") from None
    same(b.host(array), VALUES)  # it did not ask


@consumer("hostile producer", NONE)
def producer_comes_back_in(b: Bench) -> None:
    """A producer that itself imports, and collects garbage."""

    def again(versioned: bool) -> Any:
        b.take(b.given())
        gc.collect()
        return b.struct(versioned).capsule

    b.right(lambda: b.take(_hands(b, again)), VALUES)


@consumer("hostile producer", NONE)
def producer_recurses(b: Bench) -> None:
    """A producer that imports itself in an endless recursion."""
    most = 100_000  # a library that answers each error with another call makes 2**1000 calls

    def again(versioned: bool) -> Any:
        if len(hands.calls) < most:
            b.take(hands)
        return b.struct(versioned).capsule

    hands: Hands = _hands(b, again)
    result = b.taken(lambda: b.take(hands))
    expect(len(hands.calls) < most, "each error is answered with another call, without end")
    expect(result is None, "accepted silently")


@consumer("hostile producer", NONE)
def producer_deletes_itself(b: Bench) -> None:
    """A producer that loses its last reference during the call."""

    class Gone(Hands):
        def __dlpack__(self, **keywords: Any) -> Any:
            holder.clear()
            capsule = super().__dlpack__(**keywords)
            del self
            gc.collect()
            return capsule

    holder = [Gone(lambda versioned: b.struct(versioned).capsule, b.given().device)]
    b.right(lambda: b.take(holder[0]), VALUES)


@consumer("hostile producer", NONE)
def capsule_of_another_thread(b: Bench) -> None:
    """A producer that makes its capsule in another thread."""

    def elsewhere(versioned: bool) -> Any:
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(b.struct(versioned).capsule))
        thread.start()
        thread.join()
        return made[0]

    b.right(lambda: b.take(_hands(b, elsewhere)), VALUES)


@consumer("hostile producer", NONE)
def object_with_every_attribute(b: Bench) -> None:
    """An object that has every attribute, such as a mock, is refused."""

    class Mock:
        def __getattr__(self, name: str) -> Any:
            return lambda *_args, **_keywords: self

    b.refused(lambda: b.take(Mock()))


# ---- a consumer that violates the protocol -------------------------------------------------------

WRONG_ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "stream_is_a_text": ("stream='x'", {"stream": "x"}),
    "stream_is_an_object": ("stream=object()", {"stream": object()}),
    "stream_is_a_wild_address": ("a stream that is a wild address", {"stream": 0xDEAD0000}),
    "stream_is_unmapped": ("a stream that is an address without memory", {"stream": 64}),
    "stream_is_too_large": ("stream=2**70", {"stream": 2**70}),
    "max_version_is_a_text": ("max_version='1.0'", {"max_version": "1.0"}),
    "max_version_is_short": ("max_version=(1,)", {"max_version": (1,)}),
    "dl_device_is_a_text": ("dl_device='cpu'", {"dl_device": "cpu", "max_version": (1, 0)}),
    "dl_device_of_41_bits": (
        "dl_device=(14, 2**40)",
        {"dl_device": (14, 2**40), "max_version": (1, 0)},
    ),
    "copy_is_a_text": ("copy='maybe'", {"copy": "maybe", "max_version": (1, 0)}),
}


def _argument_case(name: str, what: str, keywords: dict[str, Any]) -> None:
    def run(b: Bench) -> None:
        array = b.make()
        b.refused(lambda: b.producer(array).__dlpack__(**keywords))
        gc.collect()

    put(
        "producer",
        run,
        "hostile consumer",
        DLPACK,
        alone=False,
        name=name,
        text=f"Refuses {what}",
    )


for _name, (_what, _keywords) in WRONG_ARGUMENTS.items():
    _argument_case(_name, _what, _keywords)


@producer("exit", PYTHON, alone=True)
def deleter_after_the_interpreter(b: Bench) -> None:
    """The deleter is called after the interpreter has ended."""
    address, versioned = c.take(b.any_capsule(b.make()))
    deleter = c.STRUCTS[versioned].from_address(address).deleter
    if not deleter:
        raise NotOfferedError("exports a NULL deleter")
    ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)


@producer("threads", NONE)
def eight_threads_export(b: Bench) -> None:
    """Eight threads export and drop the same array."""
    array = b.make()
    _in_threads(lambda: b.any_capsule(array))
    same(b.bytes_of(array, VALUES), VALUES)


# ---- threads, processes, the end -----------------------------------------------------------------


def _in_threads(call: Any, times: int = 200) -> None:
    errors: list[str] = []

    def work() -> None:
        try:
            for _ in range(times):
                call()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not errors, f"{len(errors)} of 8 threads failed: {errors[:1]}")


@consumer("threads", NONE)
def eight_threads_import(b: Bench) -> None:
    """Eight threads import and drop arrays."""

    def call() -> None:
        same(b.host(b.take(b.given())), VALUES)

    call()
    _in_threads(call)


@consumer("threads", NONE)
def garbage_at_every_step(b: Bench) -> None:
    """Garbage is collected at every allocation."""
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            b.right(lambda: b.take(b.given()), VALUES)
    finally:
        gc.set_threshold(*threshold)


@consumer("threads", PYTHON)
def python_deleter_while_raising(b: Bench) -> None:
    """A deleter that is Python code, called while an exception is pending."""

    def work() -> None:
        taken = b.take(b.given())
        raise ZeroDivisionError(type(taken).__name__)

    with suppress(ZeroDivisionError):
        work()
    wait_for(lambda: all(struct.deleted >= struct.consumed for struct in b.structs))
    calls = [struct.deleted for struct in b.structs if struct.consumed]
    expect(all(number == 1 for number in calls), f"deleters ran {calls} times")


@consumer("exit", PYTHON, alone=True)
def alive_at_the_exit(b: Bench) -> None:
    """Arrays of a Python producer are alive at exit."""
    sys.kept_alive = [b.take(b.given()) for _ in range(3)]  # type: ignore[attr-defined]


@consumer("exit", NONE, alone=True)
def daemon_at_the_exit(b: Bench) -> None:
    """A daemon thread imports until the process exits."""
    b.take(b.given())

    def work() -> None:
        while True:
            b.host(b.take(b.given()))

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)


@consumer("processes", NONE, alone=True)
def child_after_fork(b: Bench) -> None:
    """A forked child reads an array that its parent imported, or gets an exception."""
    if b.memory == "own":
        raise NotOfferedError("is asked this only with host memory: no driver promises more")
    array = b.take(b.given())
    same(b.host(array), VALUES)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # less than the time limit of a case
        good = True
        with suppress(Exception):
            good = bool((b.host(array) == VALUES).all())
        os._exit(0 if good else 1)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise BrokenError("the child hung" if name == "SIGALRM" else f"the child died of {name}")
    expect(status == 0, "the child read something else")


@consumer("processes", NONE, alone=True)
def imported_in_a_sub_interpreter(b: Bench) -> None:
    """A sub-interpreter imports the library, or gets an exception."""
    if b.memory == "own":
        raise NotOfferedError("is asked this only with host memory")
    try:
        interpreters: Any = import_module("_interpreters")
    except ImportError:
        interpreters = import_module("_xxsubinterpreters")
    modules = b.adapter.modules
    if not modules:
        raise NotOfferedError("has an adapter that names no module")
    same(b.host(b.take(b.given())), VALUES)
    other = interpreters.create()
    lines = [f"try:\n import {module}\nexcept ImportError: pass" for module in modules]
    with suppress(Exception):
        interpreters.run_string(other, "\n".join(lines))
    with suppress(Exception):
        interpreters.destroy(other)
    same(b.host(b.take(b.given())), VALUES)
