# SPDX-License-Identifier: Apache-2.0
"""Whether the device runs kernels, which then are the pending work of the other parts."""

from collections.abc import Iterator

from sycl_ext_hardware.late import LateKernel, memory_of
from sycl_ext_hardware.samples import Row, expect, numbers
from sycl_ext_hardware.setup import NEW, OLD, Setup

#: The row that the other parts depend on.
RUNS = "a kernel copies memory"


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    yield RUNS, lambda: copy_by_kernel(setup)


def copy_by_kernel(setup: Setup) -> str:
    """Run a kernel on memory of each kind."""
    late = LateKernel(setup.device.sycl_queue, setup.size.milliseconds)
    for kind in setup.kinds:
        source = setup.tensor(kind, numbers(NEW, 4096))
        target = setup.tensor(kind, numbers(OLD, 4096))
        memories = memory_of(target), memory_of(source)
        late.submit(setup.device.sycl_queue, *memories).wait()
        expect(target.to_numpy(copy=True), numbers(NEW, 4096), f"{kind} USM")
    return "of SPIR-V, without a compiler"
