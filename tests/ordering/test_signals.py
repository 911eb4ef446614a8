# SPDX-License-Identifier: Apache-2.0
"""Waits end at a signal, and its handler may use the same memory."""

import environments
from slow_gpu import BORROWED, SLOW_GPU


def test_a_signal_in_a_buffer_request_is_handled_when_the_request_is_done(gpu_environment):
    """NumPy would drop the exception of the handler.  A wait of ours it ends at once."""
    environments.python(
        SLOW_GPU
        + """
class Stop(Exception):
    pass

def handler(*_):
    raise Stop

def interrupt():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.4)
    adapter.fakegpu_set_delay_us(0)

signal.signal(signal.SIGUSR1, handler)
shared, source = (sx.zeros(1000, usm_type="shared", device=gpu) for _ in range(2))
for request, is_buffer in ((np.asarray, 1), (memoryview, 1), (sx.Tensor.to_numpy, 0)):
    adapter.fakegpu_set_delay_us(HELD)
    copy = shared.copy_from(source, wait=False)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        request(shared)
    except Stop:
        was_done = copy.done()
    else:
        raise AssertionError(request)
    thread.join()
    assert was_done == bool(is_buffer), request
    assert np.asarray(shared)[3] == 0  # an innocent call
""",
        gpu_environment,
    )


def test_a_wait_that_was_interrupted_is_not_over(gpu_environment):
    """Work whose event nobody has kept is still pending after Ctrl-C."""
    environments.python(
        BORROWED
        + """
taken = take()
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    taken.to_numpy()
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
found = bytes(memoryview(taken))
assert found == b"1" * 8, found
""",
        gpu_environment,
    )


def test_where_there_is_no_thread_to_be_had(gpu_environment):
    """A wait is then one that no signal ends, and not none."""
    environments.python(
        BORROWED
        + """
taken = take()
threading.Timer(0.3, adapter.fakegpu_set_delay_us, (0,)).start()
libc, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
assert libc.pthread_attr_init(attributes) == 0
assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 47)) == 0
assert libc.pthread_setattr_default_np(attributes) == 0  # no thread gets such a stack
assert bytes(taken.to_numpy()) == b"1" * 8
""",
        gpu_environment,
    )
