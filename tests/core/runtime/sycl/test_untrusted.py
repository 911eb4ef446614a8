# SPDX-License-Identifier: Apache-2.0
"""Addresses that once were those of a queue or context, or that are made to look so."""

import sys

import pytest

import environments
from needs import needs

if not sys.platform.startswith("linux"):
    pytest.skip("memory is read safely only on Linux", allow_module_level=True)

LAB = "from untrusted_lab import *\n"
pytestmark = needs("dpctl")


def run(code, **how):
    return environments.python(LAB + code, near=__file__, **how)


def test_live_objects_are_taken():
    run("""
queues = [dpctl.SyclQueue("cpu"), dpctl.SyclQueue("cpu", property="in_order"),
          dpctl.SyclQueue(real_context().owner, dpctl.SyclDevice("cpu")),
          dpctl.SyclQueue("cpu", property="enable_profiling"), sx.device().sycl_queue,
          sx.device().create_sub_devices(partition=1)[0].sycl_queue]
for queue in queues:
    for _ in range(3):
        assert takes_queue(queue.addressof_ref())
        assert takes_context(queue.sycl_context.addressof_ref())
    # A copy of the object's own bytes is the object.
    assert takes_queue(stored(words(queue.addressof_ref())))
""")


def test_wild_addresses():
    run("""
import mmap
generator, real = seeded(1), real_queue()
empty = mmap.mmap(-1, 4096)
at_the_end = ctypes.addressof(ctypes.c_char.from_buffer(empty)) + 4096 - 8
local = ctypes.c_uint64(7)
code = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value & ~15
for address in (1, 7, 8, 4096, (1 << 47) - 8, 1 << 47, (1 << 64) - 8, (1 << 64) - 16, at_the_end,
                real.address + 4, real.address + 1, real.control_block, id(real), code,
                code + 16, ctypes.addressof(local),
                *(generator.getrandbits(48) for _ in range(500))):
    assert not takes_queue(address), hex(address)
    assert not takes_context(address), hex(address)
assert not takes_queue(real_context().address) and not takes_context(real.address)
# The object begins with a reference to itself, which is as good as a queue.
assert takes_queue(real.object) and not takes_context(real.object)
""")


@pytest.mark.parametrize("churn", ["nothing", "lists", "queues", "contexts", "arrays"])
def test_freed_objects(churn):
    """A queue that is gone is refused, or is a live one again, for every new use of the memory."""
    run(f"""
import gc, numpy as np
generator = seeded(2)
first = real_queue()
assert takes_queue(first.address)  # makes the queue that others are compared with
def churn(kind):
    if kind == "lists":
        return [[generator.random() for _ in range(70)] for _ in range(50)]
    if kind == "queues":
        return [dpctl.SyclQueue("cpu") for _ in range(5)]
    if kind == "contexts":
        return [dpctl.SyclContext([dpctl.SyclDevice("cpu")]) for _ in range(5)]
    if kind == "arrays":
        return [np.full(2 ** k // 8, number, np.uint64)
                for k in range(4, 12) for number in (0, 1 << 33, 2 ** 64 - 1)]
for _ in range(60):
    queues = [real_queue() for _ in range(8)]
    contexts = [Real(queue.owner.sycl_context) for queue in queues]
    private = [real_context() for _ in range(3)]
    stale = [(real.address, real.object, real.control_block) for real in queues]
    gone = [(real.address, real.object, real.control_block) for real in private]
    del queues, contexts, private
    kept = churn({churn!r})
    for address, *pair in stale:
        takes_queue(address)  # the memory may be a new queue's
        takes_queue(stored(pair))
    for address, *pair in gone:
        takes_context(address)
        takes_context(stored(pair))
    if {churn!r} == "nothing":
        assert not any(takes_queue(stored(pair)) for _, *pair in stale)
        assert not any(takes_context(stored(pair)) for _, *pair in gone)
""")


def test_forged_objects_of_other_classes_and_places_are_refused():
    run("""
for make, takes in ((real_queue, takes_queue), (real_context, takes_context)):
    real = make()
    at = real.copy_of_everything()
    assert takes(real.pointer_pair(at))  # nobody can tell
    vtable, counts = real.image[:2]
    for other in (0, 1, vtable + 8, vtable - 8, real.object, 0x4141414141414141, -1):
        ctypes.c_uint64.from_address(at).value = other & (1 << 64) - 1
        assert not takes(real.pointer_pair(at)), hex(other)
    ctypes.c_uint64.from_address(at).value = vtable
    block_of_malloc = 0x271
    for count in (0, counts >> 32 << 32, counts | 0x80000000, -1, block_of_malloc):  # no owner
        ctypes.c_uint64.from_address(at + 8).value = count & (1 << 64) - 1
        assert not takes(real.pointer_pair(at)), hex(count)
    for block in (0, 8, real.object, at + 8, -16):
        assert not takes(stored([real.object, block])), hex(block)
    for place in (0, 8, at, at + 24, -16):  # not behind the control block
        assert not takes(stored([place, real.control_block])), hex(place)
""")


#: Lets the system calls of these numbers fail with an error from now on.
SECCOMP = """
import ctypes, struct
def deny(numbers, error):
    load, equal, answer = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0)]
    for number in numbers:
        code += [(equal, 0, 1, number), (answer, 0, 0, 0x00050000 | error)]
    code += [(answer, 0, 0, 0x7FFF0000)]
    program = b"".join(struct.pack("HBBI", *line) for line in code)
    memory = ctypes.create_string_buffer(program, len(program))
    filter = struct.pack("HxxxxxxP", len(code), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, filter, 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP
READV, WRITEV, PIPE, PIPE2 = 310, 311, 22, 293
"""


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("before", ["", "first = real_queue(); takes_queue(first.address)"])
def test_system_calls_that_containers_deny(error, before):
    """As in containers, and without a free descriptor: addresses are checked all the same."""
    run(f"""
{SECCOMP}
import errno, os
{before}
real, context = real_queue(), real_context()
deny([READV, WRITEV, PIPE, PIPE2], errno.{error})
files = len(os.listdir("/proc/self/fd"))
assert takes_queue(real.address) and takes_context(context.address)
assert not takes_queue(context.address) and not takes_queue(8) and not takes_queue(1 << 63)
generator = seeded(9)
for _ in range(300):
    assert not takes_queue(generator.getrandbits(47) & ~7)
    image = list(real.image)
    image[0] = random_words(generator, real) ^ 1
    at = stored(image)
    assert not takes_queue(stored([at + 16, at]))
assert len(os.listdir("/proc/self/fd")) == files
""")
