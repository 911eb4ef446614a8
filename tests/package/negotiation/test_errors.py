# SPDX-License-Identifier: Apache-2.0
"""Which exceptions count as the refusal of a library, after which another way is tried."""

from __future__ import annotations

import functools
import signal

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


HANDLERS = {
    "function": function,
    "lambda": lambda *_: function(),
    "method": Object().method,
    "callable object": Object(),
    "partial": functools.partial(function, 1),
    "partial of a method": functools.partial(Object().method, 1),
    "function that calls another": outer,
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

    def consumer(x):
        calls.append(x)
        if len(calls) == 1:
            signal.raise_signal(handled)
        return np.from_dlpack(x)

    t = sx.ones(4, usm_type="shared")
    with pytest.raises(TimeIsOverError):
        sx.exchange(t, consumer)
    assert len(calls) == 1
    assert sx.exchange(t, consumer)[0] == 1


def test_exception_of_that_class_without_a_signal_is_a_refusal():
    """The class says nothing: a library may raise its own."""

    class Refuses(Array):
        def __dlpack__(self, *, dl_device=None, copy=None, **keywords):
            if dl_device is None:
                raise TimeIsOverError("no view")
            return self.array.__dlpack__(dl_device=dl_device, copy=True, **keywords)

        def __dlpack_device__(self):
            return (2, 0)

    assert sx.exchange(Refuses(None, None), np)[0] == 1
