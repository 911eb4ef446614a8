# SPDX-License-Identifier: Apache-2.0
"""What tests need and some test environments lack.

A test says it at its head, and is left out in an environment that lacks it:

    @needs("kernels")
    @needs("system_usm", "a NumPy array")  # only the cases with this in their id

A fixture is a need of its own: where there are no `tiles`, tests that take them are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

#: Begins a program where the driver builds kernels and runs none: the compiler is made to fail.
BREAK_KERNELS = "from sycl_ext import _core; _core._test.break_kernels()\n"


def needs(feature: str, *cases: str) -> pytest.MarkDecorator:
    """Leave a test out where a feature is lacking; with `cases`, only the cases of these names."""
    return pytest.mark.needs(feature, *cases)


def needed(item: Any) -> Iterator[str]:
    """Yield the features and fixtures that a collected test needs."""
    yield from getattr(item, "fixturenames", ())
    case = item.callspec.id if hasattr(item, "callspec") else ""
    for mark in item.iter_markers("needs"):
        feature, *cases = mark.args
        if not cases or not {case, *case.split("-")}.isdisjoint(cases):
            yield feature


_CONTEXTS = "the driver has one list of USM for all contexts"
_TWO_CONTEXTS = "no command knows two contexts' memory"
_SYSTEM = "the host's memory is not the device's: it has no system USM"
_ONE_CPU = "every device is the one CPU, with its UUID"
_PARTITIONS = "PoCL makes no partitions"

_NEO = {
    "adapter": "Intel's real driver does not count, and neither waits nor fails on a test's order",
    "compute_units": "a GPU is divided into its tiles, and not by numbers of compute units",
    "context_of_one_gpu": "both cards are of the default context, so it names none of them",
    "contexts": _CONTEXTS,
    "free_memory": "without a device, no memory is in use",
    "kernels": "without a device, no kernel runs",
    "list_of_a_context": _CONTEXTS,
    "no_gpu": "there are GPUs",
    "pci_address": "without a device, the driver knows no PCI address",
    "system_usm": _SYSTEM,
    "virtual_memory": "without a device, the driver maps none",
    "with_ipc": "without a device, a handle of memory crashes the process that opens it",
}
#: What an environment lacks, a feature or a fixture, and why.
LACKS: dict[str, dict[str, str]] = {
    "no_dpctl": {
        "dpctl": "a program that the test starts imports dpctl",
        "halves": "dpctl is asked for the number of compute units",
    },
    "opencl_gpu": {
        "adapter": "an OpenCL driver does not count, and neither waits nor fails on a test's order",
        "copies_between_contexts": _TWO_CONTEXTS,
        "free_memory": "OpenCL does not tell free memory",
        "imports_of_host_memory": "only the Level Zero adapters import host memory, and map "
        "virtual memory",
        "one_context": "each GPU is a platform of its own",
        "own_uuid": _ONE_CPU,
        "pci_address": "a CPU is on no bus",
        "system_usm": _SYSTEM,
        "tiles": "its partitions are those of a CPU device",
        "with_ipc": "OpenCL has no handles for other processes",
    },
    "neo_v1": _NEO,
    "neo_v2": _NEO,
    "neo_opencl": {
        "contexts": _CONTEXTS,
        "copies_between_contexts": _TWO_CONTEXTS,
        "device_copies": "without a device, no kernel runs, by which OpenCL copies device USM",
        "kernels": _NEO["kernels"],
        "system_usm": _SYSTEM,
    },
    "pocl": {
        "compute_units": _PARTITIONS,
        "halves": _PARTITIONS,
        "sub_groups": "PoCL links no kernel with sub-groups, such as those of dpnp for sums and "
        "products",
        "system_usm": _SYSTEM,
    },
}


def runs_no_kernel() -> bool:
    """Whether the driver of this environment builds kernels and runs none."""
    return "kernels" in LACKS.get(os.environ.get("SYCL_EXT_ENVIRONMENT", ""), {})
