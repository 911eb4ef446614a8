# SPDX-License-Identifier: Apache-2.0
"""Passes objects that are not queues to `__dlpack__`, in a process of its own.

Prints one line of JSON for each case, after it: [case, name of the exception or null, its text].
"""

from __future__ import annotations

import ctypes
import json
import sys

import dpctl
import numpy as np

import sycl_ext as sx
from dlpack_conformance import structs as dlpack_ctypes
from lab import usm


class Raises:
    """Says that it is a queue, and raises when it is asked for it."""

    def __init__(self, error):
        self.error = error

    def _get_capsule(self):
        raise self.error


class Answers:
    def __init__(self, answer):
        self.answer = answer

    def _get_capsule(self):
        return self.answer


class Stream:
    def __init__(self, sycl_queue):
        self.sycl_queue = sycl_queue


class RaisingStream:
    @property
    def sycl_queue(self):
        raise RuntimeError("the stream is lost")


def ring():
    """Two streams that each name the other as the queue."""
    first, second = Stream(None), Stream(None)
    first.sycl_queue, second.sycl_queue = second, first
    return first


def freed_queue():
    """An address where no other queue comes: this process has the memory, where it gets it."""
    address = dpctl.SyclQueue().addressof_ref()
    malloc = ctypes.CDLL(None).malloc
    malloc.restype = ctypes.c_void_p
    any(malloc(ctypes.c_size_t(16)) == address for _ in range(1000))  # two pointers, as a queue is
    return address


queue = dpctl.SyclQueue("level_zero:gpu:0", property="in_order")
zeros = ctypes.create_string_buffer(256)
garbage = ctypes.create_string_buffer(np.random.default_rng(1).bytes(256), 256)
# Pointers to pointers, as in a queue; the memory that they lead to is not a queue.
mirror = (ctypes.c_void_p * 32)(*[ctypes.addressof(zeros)] * 32)
maze = (ctypes.c_void_p * 32)()
maze[:] = [ctypes.addressof(maze)] * 32
# The second half of a queue with a first half that leads nowhere.
half = (ctypes.c_void_p * 2)(8, ctypes.c_void_p.from_address(queue.addressof_ref() + 8).value)


def capsule(name, address=None):
    return dlpack_ctypes._new(address or ctypes.addressof(zeros), name, None)


INTS = {
    "0": 0,
    "1": 1,
    "2": 2,
    "42": 42,
    "-2": -2,
    "-2**63": -(2**63),
    "2**63": 2**63,
    "2**64-8": 2**64 - 8,
    "2**70": 2**70,
    "-2**70": -(2**70),
    "a page that nobody has": 4096,
    "not aligned": queue.addressof_ref() + 1,
    "between two queues": queue.addressof_ref() + 8,
    "zeros": ctypes.addressof(zeros),
    "random bytes": ctypes.addressof(garbage),
    "pointers to zeros": ctypes.addressof(mirror),
    "pointers to themselves": ctypes.addressof(maze),
    "a Python object": id(queue),
    "a function": ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
    "a sycl::context": queue.sycl_context.addressof_ref(),
    "a sycl::device": queue.sycl_device.addressof_ref(),
    "USM": usm(sx.zeros(64, "uint8", device="level_zero:gpu:0"))._pointer,
    "a queue that is gone": freed_queue(),
}
OTHERS = {
    "True": True,
    "False": False,
    "a float": 1.5,
    "a string": "queue",
    "a tuple": (14, 1),
    "a dict": {"queue": queue},
    "an object": object(),
    "a class": dpctl.SyclQueue,
    "a SyclDevice": queue.sycl_device,
    "a SyclContext": queue.sycl_context,
    "a SyclEvent": queue.submit_barrier(),
    "capsule of a context": queue.sycl_context._get_capsule(),
    "capsule of no name": capsule(None),
    "capsule of DLPack": sx.zeros(3).__dlpack__(),
    "consumed capsule": capsule(b"used_SyclQueueRef"),
    "capsule of zeros": capsule(b"SyclQueueRef"),
    "capsule of random bytes": capsule(b"SyclQueueRef", ctypes.addressof(garbage)),
    "_get_capsule() raises TypeError": Raises(TypeError("no")),
    "_get_capsule() raises ValueError": Raises(ValueError("no")),
    "_get_capsule() answers None": Answers(None),
    "_get_capsule() answers an int": Answers(1),
    "_get_capsule() answers another capsule": Answers(capsule(b"x")),
    "sycl_queue is None": Stream(None),
    "sycl_queue is 0": Stream(0),
    "sycl_queue is 42": Stream(42),
    "sycl_queue is an object": Stream(object()),
    "streams that name each other": ring(),
}
#: Exceptions of others: they come out as they are.
FOREIGN = {
    "_get_capsule() raises RuntimeError": Raises(RuntimeError("the stream is lost")),
    "sycl_queue raises RuntimeError": RaisingStream(),
}
EXPORTS = {
    "view": {"max_version": (1, 0)},
    "legacy view": {},
    "copy": {"max_version": (1, 0), "copy": True},
}
NAMES = [f"{export}: {name}" for export in EXPORTS for name in (*INTS, *OTHERS, *FOREIGN)]


def main():
    tensor = sx.zeros(8, device="level_zero:gpu:0")
    for case in NAMES:
        export, name = case.split(": ", 1)
        stream = {**INTS, **OTHERS, **FOREIGN}[name]
        try:
            tensor.__dlpack__(stream=stream, **EXPORTS[export])
            line = [case, None, ""]
        except Exception as error:
            line = [case, type(error).__name__, str(error)]
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
