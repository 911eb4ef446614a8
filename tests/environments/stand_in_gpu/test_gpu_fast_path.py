# SPDX-License-Identifier: Apache-2.0
"""Nobody can tell whether C or Python answered, with a GPU for a default device, either."""

import environments

ON_CPU = environments.TESTS / "core" / "python" / "test_fast_path.py"
#: Without dpnp, whose kernels make SYCL prefer the CPU to the stand-in.
COMPARE = """
import sycl_ext as sx
assert sx.device().device_type == "gpu"
import test_fast_path as on_cpu
for thing in on_cpu.THINGS:
    for name in ("as_tensor", "from_dlpack", "host_view"):
        on_cpu.test_imports(name, thing)
for wishes in on_cpu.WISHES:
    for thing in ("tensor", "tensor the host reads", "view", "read-only"):
        on_cpu.test_to_numpy(thing, wishes)
on_cpu.test_zeros((2, 3))
for usm_type in ("device", "shared", "host", "system"):
    on_cpu.test_places("zeros", None, usm_type)
print("the same")
"""


def test_c_and_python_agree():
    assert environments.python(COMPARE, inherit=True, near=ON_CPU).strip() == "the same"
