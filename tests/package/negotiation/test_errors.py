# SPDX-License-Identifier: Apache-2.0
"""Which exceptions count as the refusal of a library, after which another way is tried."""

from __future__ import annotations

import functools
import signal
import types

import numpy as np
import pytest

import sycl_ext as sx


class TimeIsOverError(Exception):
    pass


def function(*_):
    raise TimeIsOverError


class Object:
    def method(self, *_):
        raise TimeIsOverError

    def __call__(self, *_):
        raise TimeIsOverError


def outer(*_):
    function()


def once(number, _):
    signal.signal(number, signal.SIG_IGN)
    raise TimeIsOverError


def drops_its_arguments(number, frame):
    del number, frame
    raise TimeIsOverError


def rebinds_its_arguments(number, frame):
    number = signal.Signals(number)
    del frame
    raise TimeIsOverError


HANDLERS = {
    "function that deletes its arguments": drops_its_arguments,
    "function that rebinds its arguments": rebinds_its_arguments,
    "function": function,
    "lambda": lambda *_: function(),
    "method": Object().method,
    "callable object": Object(),
    "partial": functools.partial(function, 1),
    "partial of a method": functools.partial(Object().method, 1),
    "function that calls another": outer,
    "function that is set for one signal": once,
}


@pytest.fixture(params=HANDLERS)
def handled(request):
    """A signal whose handler raises."""
    before = signal.signal(signal.SIGALRM, HANDLERS[request.param])
    yield signal.SIGALRM
    signal.signal(signal.SIGALRM, before)


class Array:
    """A producer of host memory that gets a signal in one of its methods."""

    def __init__(self, number, at):
        self.number, self.at, self.array = number, at, np.ones(4)

    def reach(self, at):
        if at == self.at:
            signal.raise_signal(self.number)

    def __dlpack_device__(self):
        self.reach("__dlpack_device__")
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.reach("__dlpack__")
        if keywords and self.at == "__dlpack__ without keywords":
            raise TypeError("no keywords")
        self.reach("__dlpack__ without keywords")
        return self.array.__dlpack__(**keywords)


@pytest.mark.parametrize("at", ["__dlpack_device__", "__dlpack__", "__dlpack__ without keywords"])
@pytest.mark.parametrize(
    "way",
    [
        sx.from_dlpack,
        sx.as_tensor,
        sx.host_view,
        lambda x: sx.exchange(x, np),
        functools.partial(sx.from_dlpack, device=0),
    ],
    ids=["from_dlpack", "as_tensor", "host_view", "exchange", "from_dlpack to a device"],
)
def test_exception_of_a_signal_handler_is_no_refusal_of_the_producer(handled, at, way):
    with pytest.raises(TimeIsOverError):
        way(Array(handled, at))


def test_exception_of_a_signal_handler_is_no_refusal_of_the_consumer(handled):
    calls = []
    library = types.ModuleType("library_of_arrays")

    def from_dlpack(x):
        calls.append(x)
        if len(calls) == 1:
            signal.raise_signal(handled)
        return x.ptr

    library.from_dlpack = from_dlpack
    t = sx.ones(4, usm_type="shared")
    with pytest.raises(TimeIsOverError):
        sx.exchange(t, library)
    assert len(calls) == 1
    assert sx.exchange(t, library) == t.ptr


class Signals:
    """Gets a signal where other code may raise anything."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        signal.raise_signal(self.number)
        return 1

    def tell(self, *_):
        signal.raise_signal(self.number)
        return ""

    __str__ = __repr__ = tell


def _display(signals):
    with np.printoptions(formatter={"float": signals.tell}):
        return repr(sx.ones(3, usm_type="host"))


def _quote(signals):
    def refuse(_):
        raise BufferError(signals)

    library = types.ModuleType("library_of_arrays")
    library.from_dlpack = refuse
    return sx.exchange(sx.ones(3), library)


@pytest.mark.parametrize(
    "call",
    [
        _display,
        _quote,
        lambda signals: sx.zeros(signals),
        lambda signals: sx.zeros((3, signals)),
    ],
    ids=["repr", "message of a refusal", "length", "shape"],
)
def test_exception_of_a_signal_handler_comes_out_of_a_call_that_suppresses_others(handled, call):
    with pytest.raises(TimeIsOverError):
        call(Signals(handled))
