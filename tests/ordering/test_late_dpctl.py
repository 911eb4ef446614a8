# SPDX-License-Identifier: Apache-2.0
"""dpctl is imported before the first queue of this package, or after it: no work is missed.

As if dpctl was installed while the program runs: before, its import fails.
"""

import pytest

import environments

PROGRAM = """
import sys
import numpy as np, sycl_ext as sx

is_late = {is_late}
if is_late:
    sys.modules["dpctl"] = None
device = sx.device("{device}")
lent = sx.zeros(1 << 12, "int64", usm_type="shared", device=device)
address, queue, capsule = lent.ptr, lent.sycl_queue, lent.__dlpack__(max_version=(1, 3))
assert type(queue).__module__.startswith("sycl_ext" if is_late else "dpctl"), queue
if is_late:
    del sys.modules["dpctl"]
    assert type(lent.sycl_queue) is type(queue)

import dpctl, dpnp
from kernels import Kernels

class Lent:
    __dlpack__ = lambda self, **_: capsule
    __dlpack_device__ = lambda self: device.__dlpack_device__()

def fills(queue, value):
    with Kernels(queue).gate() as gate:
        Kernels(queue).fill(queue, gate, address, lent.nbytes, value)
        assert "pending" in repr(lent), value
    np.testing.assert_array_equal(lent, np.full(1 << 12, value))

[theirs] = [
    queue
    for queue in [dpctl.get_device_cached_queue(known) for known in dpctl.get_devices()]
    if sx.device(queue.sycl_device) is device
]
fills(theirs, 7)  # no tensor knows of it, and nothing of this package was called since
assert (queue == theirs) is not is_late
fills(queue, 8)  # which was handed out before
array = dpnp.from_dlpack(Lent())
array += 1
np.testing.assert_array_equal(lent, np.full(1 << 12, 9))
assert lent.sycl_queue == device.sycl_queue == array.sycl_queue == theirs
assert ((dpnp.asarray(lent) + array) == 18).all()  # dpnp: only arrays of one queue
computed = dpnp.arange(1 << 12, sycl_queue=theirs) * 2
np.testing.assert_array_equal(sx.from_dlpack(computed).to_numpy(), np.arange(0, 1 << 13, 2))
lent.copy_from(sx.from_dlpack(computed), wait=False).wait()
np.testing.assert_array_equal(array.asnumpy(), np.arange(0, 1 << 13, 2))
assert (sx.zeros(3, device=queue).sycl_queue == theirs) is not is_late
"""


@pytest.mark.parametrize("is_late", [True, False], ids=["ours first", "dpctl first"])
@pytest.mark.parametrize(("name", "device"), [("cpu", "cpu"), ("opencl_gpu", "gpu")])
def test_work_on_the_queue_of_dpctl_is_seen(name, device, is_late, tmp_path):
    variables = environments.variables_of(name, tmp_path)
    environments.python(PROGRAM.format(device=device, is_late=is_late), variables)


OWN_CONTEXT = """
import sys
import numpy as np, sycl_ext as sx

if {is_late}:
    sys.modules["dpctl"] = None
device = sx.device("cpu").create_sub_devices([1])[0]
assert not device.default_context
lent = sx.zeros(1 << 12, "int64", device=device)
capsule = lent.__dlpack__(dl_device=device.__dlpack_device__(), max_version=(1, 3))
before = device.sycl_queue
if {is_late}:
    del sys.modules["dpctl"]

import dpctl
from kernels import Kernels

queue = device.sycl_queue
assert isinstance(queue, dpctl.SyclQueue)
assert (queue == before) is not {is_late}
with Kernels(queue).gate() as gate:
    Kernels(queue).fill(queue, gate, lent.ptr, lent.nbytes, 7)
    assert "pending" in repr(lent)
assert lent.to_numpy().min() == 7
"""


@pytest.mark.parametrize("is_late", [True, False], ids=["ours first", "dpctl first"])
def test_work_on_the_queue_of_a_device_is_seen_in_any_context(is_late):
    """dpctl keeps a queue in a context of its own only if somebody asks for it: here the device."""
    environments.python(OWN_CONTEXT.format(is_late=is_late))
