# SPDX-License-Identifier: Apache-2.0
"""The public functions in C++ with a GPU for a default device."""

import environments

ON_CPU = environments.TESTS / "core" / "python" / "test_functions.py"
#: Without dpnp, whose kernels make SYCL prefer the CPU to the stand-in.
RUN = """
import sycl_ext as sx
assert sx.device().device_type == "gpu"
import test_functions
test_functions.test_every_call_gives_what_is_recorded()
print("as recorded")
"""


def test_every_call_gives_what_is_recorded():
    assert environments.python(RUN, inherit=True, near=ON_CPU).strip() == "as recorded"
