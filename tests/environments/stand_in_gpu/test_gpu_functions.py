# SPDX-License-Identifier: Apache-2.0
"""The public functions in C++ with a GPU for a default device."""

import environments

ON_CPU = environments.TESTS / "core" / "python" / "test_functions.py"
#: Without dpnp, whose kernels make SYCL prefer the CPU to the stand-in.
RUN = f"""
import pytest
import sycl_ext as sx
assert sx.device().device_type == "gpu"
options = ["-q", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts="]
assert pytest.main([*options, {str(ON_CPU)!r}]) == 0
"""


def test_functions_pass_their_tests_on_a_gpu():
    assert " passed in " in environments.python(RUN, inherit=True, near=ON_CPU)
