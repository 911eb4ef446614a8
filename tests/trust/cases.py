# SPDX-License-Identifier: Apache-2.0
"""The cases of the table in docs/trust.md: ``cases.py LIBRARY CASE`` runs one, in a process.

The docstring of a case is its name in the table.  A case prints one word first:

    survived   an exception that is one, or the right result
    wrong      no exception where there is no right result, a wrong one, or a broken promise
    n/a        the library has no such thing

Each library is a `Library`: how it takes a producer, shows bytes to the host, and makes an array.
Apart from the library in question nothing but NumPy is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import dlpack_ctypes as c

VALUES = np.arange(12, dtype="float32").reshape(3, 4)


# ---- libraries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """What the cases need to know of a library."""

    module: str
    take: Callable[[Any, Any], Any] = lambda lib, x: lib.from_dlpack(x)
    host: Callable[[Any, Any], Any] = lambda _, x: np.asarray(x)
    zeros: Callable[[Any, Any], Any] = lambda lib, shape: lib.zeros(shape)


LIBRARIES = {
    "sycl_ext": Library("sycl_ext", host=lambda _, x: x.to_numpy()),
    "numpy": Library("numpy"),
    "torch": Library("torch", host=lambda _, x: x.numpy()),
    "dpnp": Library("dpnp", host=lambda lib, x: x if isinstance(x, np.ndarray) else lib.asnumpy(x)),
    "jax": Library(
        "jax",
        take=lambda _, x: import_module("jax.dlpack").from_dlpack(x),
        zeros=lambda lib, shape: lib.numpy.zeros(shape),
    ),
}
ON_A_GPU = ("sycl_ext", "dpnp")  # those that know SYCL devices


class Bench:
    """The library under test; set by `main`."""

    name: str
    library: Library
    module: Any

    def load(self, name: str) -> None:
        """Import it."""
        self.name, self.library = name, LIBRARIES[name]
        self.module = import_module(self.library.module)

    def take(self, x: Any) -> Any:
        """Import from a producer."""
        return self.library.take(self.module, x)

    def host(self, x: Any) -> np.ndarray:
        """Show an array of the library as NumPy does."""
        return self.library.host(self.module, x)

    def zeros(self, shape: Any = (3, 4)) -> Any:
        """Make an array of the library."""
        return self.library.zeros(self.module, shape)


bench = Bench()
CASES: dict[str, dict[str, Callable[[], str]]] = {}


def case(group: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Put a function into the table."""

    def put(function: Callable[[], str]) -> Callable[[], str]:
        assert function.__doc__
        CASES.setdefault(group, {})[function.__doc__.rstrip(".")] = function
        return function

    return put


def find(name: str) -> Callable[[], str]:
    """Return the case of a name."""
    return next(cases[name] for cases in CASES.values() if name in cases)


# ---- producers, by hand --------------------------------------------------------------------------


class Struct:
    """A managed tensor over `VALUES`; every field can be set.  Counts the calls of its deleter."""

    alive: set[Struct] = set()  # noqa: RUF012

    def __init__(self, versioned: bool, **fields: Any) -> None:
        array = fields.get("array", VALUES)
        shape = fields.get("shape", array.shape)
        strides = fields.get("strides", tuple(step // array.itemsize for step in array.strides))
        self.deleted = 0
        self.dims = [
            None if dims is None else (ctypes.c_int64 * len(dims))(*dims)
            for dims in (shape, strides)
        ]
        self.struct = managed = c.STRUCTS[versioned]()
        self.deleter = c.Deleter(self.delete)
        if fields.get("deleter", True):
            managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        if versioned:
            managed.version = c.DLPackVersion(*fields.get("version", (1, 0)))
            managed.flags = fields.get("flags", 0)
        dl = managed.dl_tensor
        dl.data = fields.get("data", array.ctypes.data)
        dl.device = c.DLDevice(*fields.get("device", (1, 0)))
        dl.ndim = fields.get("ndim", len(shape or ()))
        dl.dtype = c.DLDataType(*fields.get("dtype", (2, 32, 1)))
        pointers = [ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64)) for dims in self.dims]
        dl.shape, dl.strides = pointers
        dl.byte_offset = fields.get("byte_offset", 0)
        self.capsule = c.new_capsule(ctypes.addressof(managed), c.NAMES[versioned])
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.deleter))  # it outlives the interpreter
        Struct.alive.add(self)

    def delete(self, _address: int) -> None:
        """Count; the struct stays, so that a second call is counted as well."""
        self.deleted += 1


class Hands:
    """A producer that hands out what `make` makes of (whether a version was asked for)."""

    def __init__(self, make: Callable[[bool], Any], device: Any = (1, 0)) -> None:
        self.make, self.device = make, device

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.make(keywords.get("max_version") is not None)


def given(**fields: Any) -> Hands:
    """Return a producer of such structs, on the host."""
    return Hands(lambda versioned: Struct(versioned, **fields).capsule)


# ---- verdicts ------------------------------------------------------------------------------------


def refused(call: Callable[[], Any]) -> str:
    """There is no right result."""
    try:
        call()
    except Exception:
        return given_back_once()
    return "wrong"


def right(call: Callable[[], Any], wanted: np.ndarray) -> str:
    """There is one right result; an exception will do, too."""
    try:
        found = np.asarray(bench.host(call()))
    except Exception:
        return given_back_once()
    return verdict(found.shape == wanted.shape and bool((found == wanted).all()))


def given_back_once() -> str:
    """After an error: what was consumed is released, once; what was not is left alone."""
    gc.collect()
    consumed = [c.capsule_name(struct.capsule).startswith("used") for struct in Struct.alive]
    deleted = [struct.deleted for struct in Struct.alive if struct.struct.deleter]
    return verdict(len(deleted) != len(consumed) or deleted == consumed)


def verdict(good: bool) -> str:
    """Return the word for it."""
    return "survived" if good else "wrong"


# ---- nothing bad: the control --------------------------------------------------------------------


@case("nothing bad")
def a_good_struct() -> str:
    """A good struct."""
    return verdict(bool((bench.host(bench.take(given())) == VALUES).all()))


@case("nothing bad")
def a_good_export() -> str:
    """A good export."""
    dl = c.managed_in(bench.zeros().__dlpack__()).dl_tensor
    return verdict(c.lengths(dl.shape, dl.ndim) == (3, 4))


# ---- a struct that contradicts itself ------------------------------------------------------------

BAD = {
    "negative length": {"shape": (3, -4)},
    "ndim is -1": {"ndim": -1},
    "ndim is 65": {"shape": (1,) * 65, "strides": (1,) * 65},
    "NULL shape": {"shape": None, "ndim": 2},
    "extent overflows": {"shape": (2**62, 8), "strides": (8, 1)},
    "extent overflows by strides": {"strides": (2**62, 1)},
    "count overflows to 0": {"shape": (2**32, 2**32), "strides": (0, 0)},
    "byte_offset leaves the address space": {"byte_offset": 2**64 - 4096},
    "unknown dtype code": {"dtype": (99, 32, 1)},
    "float of 80 bits": {"dtype": (2, 80, 1)},
    "0 bits": {"dtype": (2, 0, 1)},
    "4 lanes": {"dtype": (2, 32, 4)},
    "0 lanes": {"dtype": (2, 32, 0)},
    "another major version": {"version": (2, 0)},
    "another device than announced": {"device": (2, 0)},
}
for _name, _fields in BAD.items():

    def _refused(fields: dict[str, Any] = _fields) -> str:
        def call() -> None:
            if "version" in fields:
                bench.take(Hands(lambda _: Struct(True, **fields).capsule))
            else:
                bench.take(given(**fields))

        return refused(call)

    _refused.__doc__ = _name
    case("a struct that contradicts itself")(_refused)


@case("a struct that contradicts itself")
def null_data() -> str:
    """NULL data."""
    return refused(lambda: bench.host(bench.take(given(data=0))).sum())


# ---- a struct that is unusual --------------------------------------------------------------------

UNUSUAL: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "negative strides": ({"array": VALUES[::-1]}, VALUES[::-1]),
    "zero strides": ({"strides": (0, 1)}, np.stack([VALUES[0]] * 3)),
    "NULL strides": ({"strides": None}, VALUES),
    "byte_offset": ({"byte_offset": 16, "shape": (2, 4), "strides": (4, 1)}, VALUES[1:]),
    "0 dimensions, NULL shape": ({"shape": None, "strides": None, "ndim": 0}, VALUES[0, 0]),
    "no elements, NULL data": ({"data": 0, "shape": (0, 4), "strides": (4, 1)}, VALUES[:0]),
    "no elements, wild data": ({"data": 8, "shape": (0, 4), "strides": (4, 1)}, VALUES[:0]),
    "NULL deleter": ({"deleter": False}, VALUES),
    "unknown flag bits": ({"flags": 0xFF00}, VALUES),
    "a later minor version": ({"version": (1, 99)}, VALUES),
    "any stride of a length of 1": (
        {"shape": (1, 4), "strides": (2**62, 1)},
        VALUES[:1],
    ),
}
for _name, (_fields, _wanted) in UNUSUAL.items():

    def _right(fields: dict[str, Any] = _fields, wanted: np.ndarray = _wanted) -> str:
        found = right(lambda: bench.take(given(**fields)), wanted)
        gc.collect()
        return found

    _right.__doc__ = _name
    case("a struct that is unusual")(_right)


# ---- devices -------------------------------------------------------------------------------------


@case("a device that is not there")
def device_99() -> str:
    """Device (14, 99)."""
    return refused(lambda: bench.take(Hands(given(device=(14, 99)).make, (14, 99))))


@case("a device that is not there")
def device_minus_1() -> str:
    """Device (14, -1)."""
    return refused(lambda: bench.take(Hands(given(device=(14, -1)).make, (14, -1))))


@case("a device that is not there")
def device_text() -> str:
    """A text for a device."""
    return right(lambda: bench.take(Hands(given().make, "cpu")), VALUES)


@case("a device that is not there")
def device_beyond_32_bits() -> str:
    """A device id of 41 bits."""
    return right(lambda: bench.take(Hands(given().make, (14, 2**40))), VALUES)


@case("a device that is not there")
def host_memory_called_usm() -> str:
    """Host memory that is called USM."""
    return refused(lambda: bench.take(Hands(given(device=(14, 0)).make, (14, 0))))


# ---- read-only memory ----------------------------------------------------------------------------


@case("read-only memory")
def written_through_an_import() -> str:
    """Written through an import."""
    locked = VALUES.copy()
    locked.flags.writeable = False

    def make(versioned: bool) -> object:
        if not versioned:
            raise BufferError("read-only, and this struct cannot say so")
        return Struct(True, array=locked, flags=c.READ_ONLY).capsule

    with contextlib.suppress(Exception):
        array = bench.take(Hands(make))
        if bench.name == "torch":
            array += 77
        else:
            bench.host(array)[...] = 77
    return verdict(not (locked == 77).any() and (locked == VALUES).all())


@case("read-only memory")
def exported_without_a_word() -> str:
    """Exported to a consumer of DLPack 0.x, which cannot be told."""
    if bench.name in ("torch", "dpnp"):
        return "n/a"
    array = bench.zeros()
    if bench.name == "sycl_ext":
        array = array.as_readonly()
    elif bench.name == "numpy":
        array.flags.writeable = False
    return refused(lambda: array.__dlpack__())


# ---- hostile producers ---------------------------------------------------------------------------


@case("a hostile producer")
def raises() -> str:
    """Raises."""
    return refused(lambda: bench.take(Hands(lambda _: 1 / 0)))


@case("a hostile producer")
def returns_none() -> str:
    """Returns None."""
    return refused(lambda: bench.take(Hands(lambda _: None)))


@case("a hostile producer")
def returns_another_capsule() -> str:
    """Returns a capsule of another name."""
    return refused(lambda: bench.take(Hands(lambda _: c.new_capsule(4096, b"dl"))))


@case("a hostile producer")
def returns_a_nameless_capsule() -> str:
    """Returns a capsule without a name."""
    return refused(lambda: bench.take(Hands(lambda _: c.new_capsule(4096, None))))


@case("a hostile producer")
def returns_a_used_capsule() -> str:
    """Returns a capsule that was consumed."""
    made: dict[bool, object] = {}

    def used(versioned: bool) -> object:
        return made.setdefault(versioned, Struct(versioned).capsule)

    first = bench.take(Hands(used))
    found = "wrong"
    with contextlib.suppress(Exception):
        bench.take(Hands(used))
        return found
    return verdict((bench.host(first) == VALUES).all())


@case("a hostile producer")
def exits() -> str:
    """Raises SystemExit, which has to go through."""

    def leave(_: bool) -> object:
        raise SystemExit(3)

    try:
        bench.take(Hands(leave))
    except SystemExit:
        return "survived"
    except Exception:
        return "wrong"
    return "wrong"


@case("a hostile producer")
def exits_early() -> str:
    """Raises SystemExit where it is asked for its device."""

    class Leaving(Hands):
        def __dlpack_device__(self) -> Any:
            raise SystemExit(3)

    try:
        found = bench.take(Leaving(lambda versioned: Struct(versioned).capsule))
    except SystemExit:
        return "survived"
    except Exception:
        return "wrong"
    return verdict(bool((bench.host(found) == VALUES).all()))  # it did not ask


@case("a hostile producer")
def comes_back_in() -> str:
    """Collects garbage, and comes back in."""

    def again(versioned: bool) -> object:
        bench.take(given())
        gc.collect()
        return Struct(versioned).capsule

    return right(lambda: bench.take(Hands(again)), VALUES)


@case("a hostile producer")
def recurses() -> str:
    """Asks for itself without end."""
    hands = Hands(lambda _: bench.take(hands))
    return refused(lambda: bench.take(hands))


@case("a hostile producer")
def deletes_itself() -> str:
    """Deletes itself."""

    class Gone(Hands):
        def __dlpack__(self, **keywords: Any) -> object:
            holder.clear()
            self.__class__ = Hands
            capsule = super(Gone, Gone(self.make)).__dlpack__(**keywords)
            del self
            gc.collect()
            return capsule

    holder = [Gone(lambda versioned: Struct(versioned).capsule)]
    return right(lambda: bench.take(holder[0]), VALUES)


@case("a hostile producer")
def other_thread() -> str:
    """Makes its capsule in another thread."""

    def elsewhere(versioned: bool) -> object:
        made: list[object] = []
        thread = threading.Thread(target=lambda: made.append(Struct(versioned).capsule))
        thread.start()
        thread.join()
        return made[0]

    return right(lambda: bench.take(Hands(elsewhere)), VALUES)


@case("a hostile producer")
def answers_for_another() -> str:
    """Answers with a class that lies about its attributes."""

    class Liar:
        def __getattr__(self, name: str) -> Any:
            return lambda *_args, **_keywords: self

    return refused(lambda: bench.take(Liar()))


# ---- a hostile consumer --------------------------------------------------------------------------

WRONG_ARGUMENTS: dict[str, dict[str, Any]] = {
    "stream is a text": {"stream": "x"},
    "stream is an object": {"stream": object()},
    "stream is a wild address": {"stream": 0xDEAD0000},
    "stream is an unmapped address": {"stream": 64},
    "stream is 2**70": {"stream": 2**70},
    "max_version is a text": {"max_version": "1.0"},
    "max_version is (1,)": {"max_version": (1,)},
    "dl_device is a text": {"dl_device": "cpu"},
    "dl_device is (99, 99)": {"dl_device": (99, 99)},
    "dl_device is (14, 2**40)": {"dl_device": (14, 2**40)},
    "copy is a text": {"copy": "maybe", "max_version": (1, 0)},
}
for _name, _wrong in WRONG_ARGUMENTS.items():

    def _asked(keywords: dict[str, Any] = _wrong) -> str:
        array = bench.zeros()
        found = refused(lambda: array.__dlpack__(**keywords))
        gc.collect()
        return found

    _asked.__doc__ = _name
    case("a hostile consumer")(_asked)


@case("a hostile consumer")
def drops_the_capsule() -> str:
    """Drops the capsule, with an exception pending."""
    array = bench.zeros()
    with contextlib.suppress(ZeroDivisionError):
        print(array.__dlpack__(), 1 / 0, file=sys.stderr)
    gc.collect()
    return verdict(not bench.host(array).any())


@case("a hostile consumer")
def calls_the_deleter_elsewhere() -> str:
    """Calls the deleter in another thread, without the GIL."""
    address, versioned = c.take(bench.zeros().__dlpack__())
    threads = [
        threading.Thread(target=c.call_deleter, args=(address,), kwargs={"versioned": versioned})
    ]
    for thread in threads:
        thread.start()
        thread.join()
    return "survived"


@case("a hostile consumer")
def calls_the_deleter_at_the_end() -> str:
    """Calls the deleter after the interpreter is gone."""
    address, versioned = c.take(bench.zeros().__dlpack__())
    deleter = c.STRUCTS[versioned].from_address(address).deleter
    ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)
    return "survived"


@case("a hostile consumer")
def outlives_the_array() -> str:
    """Reads after the array is gone."""
    capsule = bench.zeros(100_000).__dlpack__()
    gc.collect()
    noise = [bench.zeros(100_000) for _ in range(5)]
    dl = c.managed_in(capsule).dl_tensor
    found = (ctypes.c_float * 100).from_address(dl.data + dl.byte_offset)
    return verdict(not any(found) and len(noise) == 5)


# ---- arguments -----------------------------------------------------------------------------------


@case("a memory that is not there")
def too_large() -> str:
    """A petabyte."""
    return refused(lambda: bench.zeros((2**50,)))


@case("a memory that is not there")
def overflowing() -> str:
    """2**40 x 2**40 elements."""
    return refused(lambda: bench.zeros((2**40, 2**40)))


@case("a memory that is not there")
def negative() -> str:
    """A negative length."""
    return refused(lambda: bench.zeros((-3,)))


# ---- threads, processes, the end -----------------------------------------------------------------


@case("threads, processes, the end")
def eight_threads() -> str:
    """Eight threads."""
    wrong = []

    def work() -> None:
        for _ in range(300):
            if bench.host(bench.take(given())).sum() != VALUES.sum():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return verdict(not wrong)


@case("threads, processes, the end")
def garbage_at_every_step() -> str:
    """Garbage collection at every step."""
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            found = right(lambda: bench.take(given()), VALUES)
            bench.zeros().__dlpack__()
    finally:
        gc.set_threshold(*threshold)
    return found


@case("threads, processes, the end")
def python_deleter_while_raising() -> str:
    """A deleter that is Python, with an exception pending."""

    def work() -> None:
        taken = bench.take(given())
        raise ZeroDivisionError(repr(type(taken)))

    with contextlib.suppress(ZeroDivisionError):
        work()
    gc.collect()
    return verdict(sum(struct.deleted for struct in Struct.alive) == 1)


@case("threads, processes, the end")
def alive_at_the_exit() -> str:
    """Arrays alive at the exit, of producers that are Python."""
    sys.keep = [bench.take(given()) for _ in range(3)]  # type: ignore[attr-defined]
    return "survived"


@case("threads, processes, the end")
def daemon_at_the_exit() -> str:
    """A daemon thread that exchanges until the exit."""

    def work() -> None:
        while True:
            bench.host(bench.take(given()))

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)
    return "survived"


@case("threads, processes, the end")
def forked() -> str:
    """A child after fork, on the CPU."""
    array = bench.take(given())
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        good = (bench.host(array) == VALUES).all() and not bench.host(bench.zeros()).any()
        os._exit(0 if good else 1)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return "died (hung)"
    if os.WIFSIGNALED(status):
        return f"died ({signal.Signals(os.WTERMSIG(status)).name})"
    return verdict(status == 0)


@case("threads, processes, the end")
def sub_interpreter() -> str:
    """Imported in a sub-interpreter."""
    try:
        interpreters: Any = import_module("_interpreters")
    except ImportError:
        interpreters = import_module("_xxsubinterpreters")
    other = interpreters.create()
    script = f"try:\n import {bench.library.module}\nexcept ImportError: pass"
    with contextlib.suppress(Exception):
        interpreters.run_string(other, script)
    with contextlib.suppress(Exception):
        interpreters.destroy(other)
    return verdict(not bench.host(bench.zeros()).any())


# ---- a device that fails -------------------------------------------------------------------------
# In the environment of the stand-in GPU.


def gpu_array(count: int = 1000) -> Any:
    """Make an array on the first stand-in GPU."""
    if bench.name == "sycl_ext":
        return bench.module.zeros(count, "uint8", device="level_zero:gpu:0")
    return bench.module.zeros(count, dtype="uint8", device="level_zero:gpu:0")


def adapter() -> ctypes.CDLL:
    """Return the switches of the stand-in."""
    from fake_gpu import control

    return control.loaded()


@case("a device that fails")
def asynchronous_error() -> str:
    """An asynchronous error of a command."""
    array = gpu_array()
    adapter().fakegpu_async_error_next()
    with contextlib.suppress(Exception):
        bench.host(array)
        return "wrong"
    return verdict(not bench.host(array).any())


@case("a device that fails")
def every_call_fails() -> str:
    """Every call of the runtime fails once, in making an array and reading it."""
    bench.host(gpu_array())
    for number in range(1, 40):
        adapter().fakegpu_fail_at(number)
        with contextlib.suppress(Exception):
            found = bench.host(gpu_array())
            if found.any():
                return "wrong"
        adapter().fakegpu_fail_at(0)
    return verdict(not bench.host(gpu_array()).any())


@case("a device that fails")
def full() -> str:
    """A full device."""
    kept = []
    with contextlib.suppress(Exception):
        for _ in range(20):
            kept.append(gpu_array(300 << 20))
        return "wrong"
    kept.clear()
    gc.collect()
    return verdict(not bench.host(gpu_array()).any())


@case("a device that fails")
def interrupted() -> str:
    """Ctrl-C while the device takes 4 s."""
    array = gpu_array()
    bench.host(array)
    adapter().fakegpu_set_delay_us(4_000_000)
    pid = os.getpid()
    threading.Timer(0.3, lambda: os.kill(pid, signal.SIGINT)).start()
    start = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        bench.host(array)
    took = time.monotonic() - start
    adapter().fakegpu_set_delay_us(0)
    return verdict(took < 1.3)


def main() -> int:
    """Run one case."""
    name, which = sys.argv[1:]
    bench.load(name)
    print(find(which)(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
