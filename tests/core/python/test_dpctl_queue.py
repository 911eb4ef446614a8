# SPDX-License-Identifier: Apache-2.0
"""dpctl's functions run Python: hooks of profilers, which may raise, or change what dpctl keeps."""

import environments

LENT = """
import sys
import dpctl, dpnp, numpy as np, sycl_ext as sx

tensor = sx.zeros(8, usm_type="shared")
lent = sx.exchange(tensor, dpnp)
lent += 1
queue = tensor.sycl_queue

def events(call):
    seen = []
    sys.setprofile(lambda *event: seen.append(event))
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen)
"""


def test_buffer_request_runs_no_python():
    """No signal ends its wait: NumPy drops the exception of a handler that runs in it."""
    handled = environments.python(
        LENT
        + """
import signal

class Stop(BaseException):
    pass

def handler(*_):
    raise Stop

memoryview(tensor)
signal.signal(signal.SIGALRM, handler)
handled = 0
for after in range(1, 400):
    lent += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, after / 1e6)
        try:
            for _ in range(30):
                view = memoryview(tensor)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        handled += 1
print(handled)
"""
    )
    assert 0 < int(handled) <= 399


def test_profile_hook_that_raises():
    """At each event of each call the exception comes out, or the call is as without it."""
    environments.python(
        LENT
        + """
class Stop(BaseException):
    pass

CALLS = {
    "to_numpy": tensor.to_numpy,
    "buffer": lambda: bytes(tensor),
    "__dlpack__": tensor.__dlpack__,
    "__dlpack__(stream)": lambda: tensor.__dlpack__(stream=queue),
    "from_dlpack": lambda: sx.from_dlpack(lent),
    "copy_from": lambda: tensor.copy_from(lent),
    "sycl_queue": lambda: tensor.sycl_queue,
}
if sys.version_info < (3, 14):  # there, dpnp 0.20 alone crashes if a hook raises in its constructor
    CALLS["exchange"] = lambda: sx.exchange(tensor, dpnp)
raised = set()
for name, call in CALLS.items():
    call()
    for last in range(events(call)):
        left = last

        def hook(*_):
            global left
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise Stop

        sys.setprofile(hook)
        try:
            call()
            sys.setprofile(None)
        except Stop:
            raised.add(name)
        np.testing.assert_array_equal(tensor, np.ones(8))
assert raised >= {"to_numpy", "from_dlpack", "__dlpack__(stream)"}, raised
"""
    )


def test_profile_hook_that_changes_dictionary_of_queues():
    """The core looks for a queue in a dictionary of dpctl's, which is emptied at each event."""
    environments.python(
        LENT
        + """
import gc
from dpctl.utils import SequentialOrderManager

def hook(*_):
    global left
    left -= 1
    if left < 0:
        sys.setprofile(None)
        SequentialOrderManager.clear()
        gc.collect()
        others.extend(bytearray(size) for size in range(1, 400))

others, left, last = [], -1, 0
while left < 0:  # until the call has fewer events
    lent += 1
    queue.wait()  # the events that are lost here are over, and are looked for all the same
    left = last
    sys.setprofile(hook)
    found = tensor.to_numpy()
    sys.setprofile(None)
    np.testing.assert_array_equal(found, np.full(8, last + 2))
    last += 1
assert last > 2, last
"""
    )


def test_profile_hook_that_is_removed_by_a_collection():
    """dpctl's functions make a frame for the hook, and a collection then may remove the hook."""
    environments.python(
        LENT
        + """
import gc

def collected(phase, info):
    pass

def hook(frame, event, arg):
    global left
    left -= frame.f_code is collected.__code__
    if left < 0:
        raise ValueError("a hook that raises is removed")

gc.callbacks.append(collected)
for last in range(60):
    lent += 1
    left = last
    gc.set_threshold(1)
    sys.setprofile(hook)
    try:
        found = tensor.to_numpy()
    finally:
        sys.setprofile(None)
        gc.set_threshold(700)
    np.testing.assert_array_equal(found, np.full(8, last + 2))
"""
    )
