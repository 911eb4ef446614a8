# SPDX-License-Identifier: Apache-2.0
"""Tests that an environment leaves out, and why; docs/seen.md shows the reasons."""

from __future__ import annotations

IMPORTS = "only the Level Zero adapters import host memory, and map virtual memory"
ORDERS = "an OpenCL driver does not count, and neither waits nor fails on a test's order"
#: Environment -> what its tests cannot use: a fixture, or the name of a test -> the reason.
LACKS: dict[str, dict[str, str]] = {
    "opencl_gpu": {
        "imports_of_host_memory": IMPORTS,
        "adapter": ORDERS,
        "test_a_gpu_is_found_under_another_id": ORDERS,
        "test_a_script_that_is_interrupted_ends_as_any_other": ORDERS,
        "test_a_child_frees_nothing_of_the_parents": ORDERS,
        "test_work_that_was_pending_at_the_fork": ORDERS,
        "with_ipc": "OpenCL has no handles for other processes",
        "test_a_device_is_found_by_what_it_is": "every device is the one CPU, with its UUID",
        "tiles": "its partitions are those of a CPU device",
        "test_one_context_for_both": "each GPU is a platform of its own",
        "test_a_private_context_goes_to_the_default_one": "no command knows two contexts' memory",
    },
}
