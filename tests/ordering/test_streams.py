# SPDX-License-Identifier: Apache-2.0
"""An object that is not a queue is an error as ``stream``: never a crash, and never a capsule.

Addresses of no queue: ``core/runtime/sycl/test_untrusted.py``.
"""

import ctypes

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance import structs

QUEUE = dpctl.SyclQueue()
ZEROS = ctypes.create_string_buffer(256)
GARBAGE = ctypes.create_string_buffer(np.random.default_rng(1).bytes(256), 256)


def answer(value):
    """Return an answer, or raise it when it is a class of exceptions."""
    if isinstance(value, type):
        raise value("the stream is lost")
    return value


class Asked:
    """Says that it is a queue, and answers, or raises, when it is asked for it."""

    def __init__(self, result):
        self.stream_value = result

    def _get_capsule(self):
        return answer(self.stream_value)


class Stream(Asked):
    _get_capsule = None

    @property
    def sycl_queue(self):
        return answer(self.stream_value)


def ring():
    """Two streams that each name the other as the queue."""
    first = Stream(None)
    first.stream_value = Stream(first)
    return first


def capsule(name, memory=ZEROS):
    return structs._new(ctypes.addressof(memory), name, None)


#: Each form of a queue -> what only looks like it.
ALMOST = {
    "a dpctl.SyclQueue": {
        "a dict": lambda: {"queue": QUEUE},
        "a class": lambda: dpctl.SyclQueue,
        "a SyclEvent": lambda: QUEUE.submit_barrier(),
        "a SyclContext": lambda: QUEUE.sycl_context,
    },
    "a 'SyclQueueRef' capsule": {
        "capsule of no name": lambda: capsule(None),
        "capsule of DLPack": lambda: sx.zeros(3).__dlpack__(),
        "consumed capsule": lambda: capsule(b"used_SyclQueueRef"),
        "capsule of zeros": lambda: capsule(b"SyclQueueRef"),
        "capsule of random bytes": lambda: capsule(b"SyclQueueRef", GARBAGE),
    },
    "the address of a sycl::queue as an int": {
        "0": lambda: 0,
        "42": lambda: 42,
        "the address of random bytes": lambda: ctypes.addressof(GARBAGE),
    },
    "an object with _get_capsule()": {
        "_get_capsule() raises TypeError": lambda: Asked(TypeError),
        "_get_capsule() raises ValueError": lambda: Asked(ValueError),
        "_get_capsule() answers None": lambda: Asked(None),
        "_get_capsule() answers an int": lambda: Asked(1),
        "_get_capsule() answers another capsule": lambda: Asked(capsule(b"x")),
    },
    "an object with sycl_queue": {
        "sycl_queue is None": lambda: Stream(None),
        "sycl_queue is 0": lambda: Stream(0),
        "sycl_queue is 42": lambda: Stream(42),
        "sycl_queue is an object": lambda: Stream(object()),
        "streams that name each other": ring,
    },
}
WRONG = {name: make for of_form in ALMOST.values() for name, make in of_form.items()}
EXPORTS = ({}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True})


@pytest.mark.parametrize("name", WRONG)
def test_stream_that_is_not_a_queue_is_an_error(name):
    for export in EXPORTS:
        with pytest.raises((TypeError, ValueError), match=r"\w"):
            sx.zeros(8).__dlpack__(stream=WRONG[name](), **export)


def test_wrong_stream_is_refused_before_a_copy_is_made():
    """The copy would have been dropped, after the time and the memory that it took."""
    tensor = sx.zeros(8)
    made = sx.memory.statistics()[tensor.device, tensor.usm_type].total_allocations
    with pytest.raises(TypeError, match="is not a SYCL queue"):
        tensor.__dlpack__(stream="none", max_version=(1, 0), copy=True)
    assert sx.memory.statistics()[tensor.device, tensor.usm_type].total_allocations == made


@pytest.mark.parametrize("kind", [Asked, Stream])
def test_exception_of_a_stream_goes_through(kind):
    for export in EXPORTS:
        with pytest.raises(RuntimeError, match="the stream is lost"):
            sx.zeros(8).__dlpack__(stream=kind(RuntimeError), **export)
