# SPDX-License-Identifier: Apache-2.0
"""Images of SYCL objects, real and forged, for processes that may die of them."""

from __future__ import annotations

import ctypes
import random

import dpctl

import sycl_ext as sx
from sycl_ext import _core
from waiting import eventually

#: A queue's implementation, with its control block, is larger than this.
NBYTES = 512
WORDS = NBYTES // 8

KEPT: list[object] = []


def words(address, count=2):
    """The words at an address that can be read, as a list."""
    return list((ctypes.c_uint64 * count).from_address(address))


def stored(values):
    """The address of new memory with these words in it; it stays."""
    memory = (ctypes.c_uint64 * len(values))(*(value & (1 << 64) - 1 for value in values))
    KEPT.append(memory)
    return ctypes.addressof(memory)


def capsule(address, name):
    """A capsule around an address."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


QUEUE_NAME, CONTEXT_NAME = b"SyclQueueRef", b"SyclContextRef"


def takes(call, refusal):
    """Whether a call takes what it is given; a refusal is a ValueError with these words."""
    try:
        call()
    except ValueError as error:
        if refusal not in str(error):
            raise
        return False
    return True


def takes_queue(address):
    """Whether an address is taken for that of a queue: as an int, and in a capsule."""
    answer = takes_stream(address)
    assert answer == takes_stream(capsule(address, QUEUE_NAME))
    return answer


def takes_stream(stream):
    # A tensor of its own: a block keeps the queues that were named at its exports, and the memory
    # of a copied queue goes sooner than that.  The thread that frees drops them with the block.
    answer = takes(lambda: sx.empty(1).__dlpack__(stream=stream), "no sycl::queue of this process")
    assert eventually(lambda: not _core._test.deferred_frees())
    return answer


def takes_context(address):
    """Whether an address is taken for that of a context."""
    held = capsule(address, CONTEXT_NAME)
    return takes(lambda: sx.register_context(held), "no sycl::context of this process")


class Real:
    """A live object, and its parts."""

    def __init__(self, owner):
        self.owner = owner
        self.address = owner.addressof_ref()
        self.object, self.control_block = words(self.address)
        self.image = words(self.control_block, WORDS)

    def copy_of_everything(self, at=None):
        """Words that say of themselves that they are the object; the address of the allocation."""
        at = stored(self.image) if at is None else at
        shift = at - self.control_block
        moved = [
            value + shift if value in (self.object, self.control_block) else value
            for value in self.image
        ]
        ctypes.memmove(at, (ctypes.c_uint64 * WORDS)(*moved), NBYTES)
        return at

    def pointer_pair(self, at):
        """A SYCL object over a moved allocation."""
        return stored([at + self.object - self.control_block, at])


def real_queue():
    return Real(dpctl.SyclQueue("cpu"))


def real_context():
    return Real(dpctl.SyclContext([dpctl.SyclDevice("cpu")]))


def random_words(generator, real):
    """Possible contents of freed or foreign memory."""
    return generator.choice(
        [
            0,
            1,
            generator.getrandbits(64),
            generator.getrandbits(47) & ~7,
            generator.choice(real.image),
            generator.choice([real.object, real.control_block, real.address]),
            id(real) & ~7,
            ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
            -1,
        ]
    )


def seeded(seed):
    return random.Random(seed)
