# SPDX-License-Identifier: Apache-2.0
"""Tests that an environment leaves out, and why; docs/seen.md shows the reasons."""

from __future__ import annotations

IMPORTS = "only the Level Zero adapters import host memory, and map virtual memory"
ORDERS = "an OpenCL driver does not count, and neither waits nor fails on a test's order"
REAL = "Intel's real driver does not count, and neither waits nor fails on a test's order"
HANDLES = "without a device, a handle of memory crashes the process that opens it"
SYSTEM = "the host's memory is not the device's: it has no system USM"
MEMSET = "without a device, memset leaves the data as it is"
MAPPED = "without a device, virtual memory cannot be mapped"
CONTEXTS = "the driver has one list of USM for all contexts"
PCI = "without a device, the driver knows no PCI address"
PARTITIONS = "PoCL makes no partitions"
WITHOUT_SYSTEM_USM = {
    "host memory": SYSTEM,
    "test_system_memory": SYSTEM,
    "test_an_array_that_only_begins_in_usm": SYSTEM,
    "test_a_producer_elsewhere_is_asked_for_the_host": SYSTEM,
}
NEO = {
    **WITHOUT_SYSTEM_USM,
    "adapter": REAL,
    "test_a_script_that_is_interrupted_ends_as_any_other": REAL,
    "test_a_child_and_the_end_leave_it_alone": REAL,
    "test_a_child_frees_nothing_of_the_parents": REAL,
    "test_work_that_was_pending_at_the_fork": REAL,
    "with_ipc": HANDLES,
    "test_device_memory_called_host_memory": MEMSET,
    "test_a_child_that_uses_the_package_alone": MEMSET,
    "reserved": MAPPED,
    "test_a_hole_between_two_mappings": MAPPED,
    "test_memory_that_is_only_read": MAPPED,
    "test_pci_addresses_differ": PCI,
    "test_node_and_processors_of_a_gpu_are_those_of_its_address": PCI,
    "test_free_memory_shrinks_with_an_allocation": "without a device, no memory is in use",
}
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
        "test_pci_addresses_differ": "every device is the one CPU, with its UUID",
        "test_node_and_processors_of_a_gpu_are_those_of_its_address": "a CPU is on no bus",
        "test_free_memory_shrinks_with_an_allocation": "OpenCL does not tell free memory",
        "tiles": "its partitions are those of a CPU device",
        "test_one_context_for_both": "each GPU is a platform of its own",
        "test_a_private_context_goes_to_the_default_one": "no command knows two contexts' memory",
    },
    "neo_v1": {**NEO, "USM of another context": CONTEXTS},
    "neo_v2": {**NEO, "USM of another context": CONTEXTS},
    "pocl": {
        **WITHOUT_SYSTEM_USM,
        "test_any_strides": SYSTEM,
        "test_memory_of_a_context_that_was_only_met": SYSTEM,
        "halves": PARTITIONS,
        "test_the_same_cut_gives_the_same_entries": PARTITIONS,
        "test_the_parts_say_what_they_are": PARTITIONS,
        "test_many_threads_cut_at_once": PARTITIONS,
        "test_a_private_context_is_cut_as_its_device_is": PARTITIONS,
        "test_the_error_of_a_cut_names_cuts_that_work": PARTITIONS,
        "test_a_cut_that_cannot_be_made": PARTITIONS,
        "test_a_sub_device_of_somebody_else": PARTITIONS,
        "test_a_part_of_a_part": PARTITIONS,
        "Tensor.to_device(part)": PARTITIONS,
        "Tensor.copy_from(a tensor of a part)": PARTITIONS,
    },
}
