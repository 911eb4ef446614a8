# SPDX-License-Identifier: Apache-2.0
"""Which libraries of the process are a SYCL runtime, by the names of their files."""

import pytest

import environments
from stand_in_build import compiler, run
from sycl_ext import _core

LOAD = """
import ctypes
from sycl_ext import _core
before = _core.loaded_libsycl()
ctypes.CDLL({path!r})
after = _core.loaded_libsycl()
assert _core.has_other_libsycl() == (len(after) > len(before))
print(len(after) - len(before))
"""


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("libsycl-jit.so", 0),  # the runtime loads it where a kernel is compiled
        ("libsycl.s", 0),
        ("libsycl", 0),
        ("libsycl-devicelib-host.so", 0),
        ("libsycl.so.8", 1),
        ("libsycl-0123abcd.so.8", 1),
        ("libsycl-preview.so.8", 1),
    ],
)
def test_library_counts_as_runtime_by_its_name(name, counts, tmp_path):
    path = tmp_path / name
    run([*compiler(), "-shared", "-x", "c++", "/dev/null", "-o", str(path)])
    result = environments.python(LOAD.format(path=str(path)), environments.cpu())
    assert int(result.splitlines()[-1]) == counts


def test_runtime_of_the_process_is_found():
    (ours,) = _core.loaded_libsycl()
    assert ours.rpartition("/")[2].startswith("libsycl.so")
