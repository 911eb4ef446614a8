# SPDX-License-Identifier: Apache-2.0
"""A tensor goes to dpnp and NumPy and back, without a copy."""

import dpnp
import numpy as np

import sycl_ext as sx

t = sx.zeros((2, 3), "float32", usm_type="shared")
a = dpnp.from_dlpack(t)
a += 1
a.sycl_queue.wait()  # dpnp works on a queue of its own, which a host view knows nothing of
n = np.from_dlpack(sx.host_view(t, copy=False))
assert n.tolist() == [[1, 1, 1], [1, 1, 1]]
n[0, 0] = 7
assert dpnp.asnumpy(a)[0, 0] == 7
b = sx.from_dlpack(a, copy=False)
assert b.ptr == t.ptr == n.ctypes.data
assert str(sx.explain(b, np)).startswith("a host view of the same memory")
assert sx.exchange(b, dpnp, copy=False).shape == (2, 3)
