# SPDX-License-Identifier: Apache-2.0
"""A test of the conda package: numbers go to USM and back, and through DLPack.

And the SYCL runtime and the CPU device must be those of the prefix, found without any help.
"""

import sys
from pathlib import Path

import numpy as np

import sycl_ext as sx

numbers = np.arange(12, dtype="float32").reshape(3, 4)
tensor = sx.empty((3, 4), "float32", usm_type="shared").copy_from(numbers)
again = sx.from_dlpack(tensor, copy=False)
assert again.ptr == tensor.ptr
assert (again.to_numpy() == numbers).all()
assert (sx.exchange(again.T[::-1], np) == numbers.T[::-1]).all()
print(f"round trip through {tensor.device!r}")

loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
for library in ("libsycl.so", "libintelocl.so"):
    found = {Path(path) for path in loaded if library in path}
    assert found, f"{library} is not loaded"
    assert {path.parent for path in found} == {Path(sys.prefix).resolve() / "lib"}, found
