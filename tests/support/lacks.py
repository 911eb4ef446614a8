# SPDX-License-Identifier: Apache-2.0
"""Tests that an environment leaves out, and why; docs/develop/seen.md shows the reasons."""

from __future__ import annotations

IMPORTS = "only the Level Zero adapters import host memory, and map virtual memory"
ORDERS = "an OpenCL driver does not count, and neither waits nor fails on a test's order"
REAL = "Intel's real driver does not count, and neither waits nor fails on a test's order"
HANDLES = "without a device, a handle of memory crashes the process that opens it"
SYSTEM = "the host's memory is not the device's: it has no system USM"
KERNELS = "without a device, no kernel runs"
UNMOVED = "without a device, OpenCL copies by kernels, which move no data"
CONTEXTS = "the driver has one list of USM for all contexts"
TWO_CONTEXTS = "no command knows two contexts' memory"
PCI = "without a device, the driver knows no PCI address"
PARTITIONS = "PoCL makes no partitions"
SUB_GROUPS = "PoCL links no kernel with sub-groups, such as those of dpnp for sums and products"
TILES = "a GPU is divided into its tiles, and not by numbers of compute units"
#: Tests that divide a device by numbers of compute units.
BY_COMPUTE_UNITS = (
    "test_equal_partitions_give_the_same_entries",
    "test_sub_devices_say_parent_partition_and_number",
    "test_concurrent_partitions_give_one_entry",
    "test_private_context_has_the_sub_devices_of_its_device",
    "test_partition_error_names_partitions_that_work",
    "test_impossible_partition_is_refused",
    "test_sub_device_of_a_third_party_is_known_by_its_handle",
    "test_sub_device_of_a_sub_device_has_both_parents",
    "test_pickled_tensor_of_an_unnamed_sub_device_arrives_on_its_parent",
)
#: Tests of `tests/core/dlpack`, and of protocols and exchanges, that read back what a copy wrote.
BY_COPIES = (
    "test_export_for_a_queue_runs_no_python_of_ours",
    "test_export_under_a_usm_device_is_usm",
    "test_deleter_may_import",
    "test_enum_device_type_is_taken",
    "test_producer_is_asked_first_to_copy_to_the_device",
    "test_null_deleter_is_never_called",
    "test_null_strides_are_compact",
    "test_null_shape_and_strides_of_0_dimensions",
    "test_result_is_of_the_requested_kind",
    "test_exchange_to_a_device_returns_the_requested_kind",
    "test_to_device_returns_the_requested_kind",
    "test_dlpack_may_be_made_of_the_description",
    "test_exchange_is_a_view_where_one_is_possible",
    "test_direct_call_gets_a_view",
    "test_import_of_dpnp_does_not_wait_for_its_queue",
    "test_export_of_a_subclass_is_the_one_that_counts",
    "test_host_device_types_are_the_host",
    "test_negative_strides_arrive_as_a_copy",
    "test_dpnp_export_with_an_offset_is_imported",
    "test_dpnp_asarray_gets_the_memory_of_the_sub_device",
    "test_direct_dpnp_construction_gives_what_from_dlpack_gives",
    "test_subclass_without_methods_is_read_as_its_base",
    "test_stride_of_a_length_of_1_is_ignored",
    "test_scalar_of_an_exchanged_dtype_is_taken",
    "test_device_that_is_not_of_sycl_is_reached_by_a_copy_alone",
    "test_description_of_an_ndarray_subclass_is_ignored",
    "test_conversion_function_is_right_or_refused",
    "test_plan_knows_the_arguments_of_a_partial_that_copy",
    "test_conversion_of_the_dtype_is_a_copy",
    "test_copy_for_a_consumer_is_made_once",
    "test_function_of_a_library_is_given_its_array",
    "test_layout_of_usm_ndarray_survives",
    "test_layout_survives_the_pickle",
    "test_unpickling_needs_no_registration",
    "test_exception_leaves_the_tensor_as_it_was",
    "test_failed_request_is_given_up",
    "test_memory_with_gaps_is_staged",
    "test_read_only_memory",
    "test_request_is_copied_back_when_it_is_done",
    "test_request_that_is_never_made_keeps_no_memory",
    "test_signal_during_a_wait_loses_no_data",
    "test_staged_memory_for_reading_is_not_written_back",
)
WITHOUT_SYSTEM_USM = {
    "host memory": SYSTEM,
    "test_system_memory": SYSTEM,
    "test_array_that_only_begins_in_usm_is_system_memory": SYSTEM,
    "test_foreign_producer_is_asked_for_host_memory": SYSTEM,
    "test_copy_to_an_array_of_generated_strides": SYSTEM,
    "test_memory_of_a_context_that_was_only_met": SYSTEM,
    "test_table_refuses_what_it_cannot_hand_out": SYSTEM,
    "test_base": SYSTEM,
    "test_elements_that_share_memory_are_not_filled": SYSTEM,
    **{
        f"test_view_of_a_weak_proxy_keeps_the_object[{of_the_host}-{name}(copy=False)]": SYSTEM
        for of_the_host in ("a host view", "a NumPy array")
        for name in ("from_dlpack", "as_tensor")
    },
    "test_arrays_that_numpy_does_not_export": SYSTEM,
    "test_cycle_that_others_hold_is_not_collected": SYSTEM,
    "test_pickled_host_memory_arrives_as_host_usm": SYSTEM,
    "producer of copies": SYSTEM,
    "test_exchange_is_a_view_where_one_is_possible[from_dlpack1-a host view]": SYSTEM,
    "test_refusal_of_a_view_leads_to_a_copy": SYSTEM,
    "test_host_device_types_are_the_host[from_dlpack(copy=False)]": SYSTEM,
    **{
        f"test_device_of_the_memory_is_chosen[numpy-{importer}]": SYSTEM
        for importer in ("from_dlpack", "as_tensor")
    },
    **{
        f"test_ways_read_arrays_of_each_producer[{of_the_host}]": SYSTEM
        for of_the_host in ("NumPy", "torch", "producer", "legacy producer")
    },
}
#: Functions of dpnp that copy by a kernel, in some or all layouts.
BY_KERNELS = (
    *("dpnp:array", "dpnp:copy", "dpnp:ascontiguousarray", "dpnp:asfortranarray"),
    *("dpnp.tensor:from_numpy", "DPNPUnaryFunc", "dpnp copies", "dpnp converts"),
)
NEO = {
    **WITHOUT_SYSTEM_USM,
    **dict.fromkeys(BY_KERNELS, KERNELS),
    **dict.fromkeys(BY_COMPUTE_UNITS, TILES),
    "adapter": REAL,
    "test_interrupted_script_ends_with_the_code_of_ctrl_c": REAL,
    "test_forked_child_and_process_end_release_no_registration": REAL,
    "test_forked_child_frees_no_memory_of_its_parent": REAL,
    "test_work_that_was_pending_at_the_fork": REAL,
    "with_ipc": HANDLES,
    "test_ways_read_arrays_of_each_producer[dpnp]": KERNELS,
    "test_advice_of_an_operator_works": KERNELS,
    "test_memory_that_a_refusal_advises_is_shared_without_a_copy": KERNELS,
    "test_pending_work_is_not_waited_for": KERNELS,
    "test_form[SyclContext]": "both cards are of the default context, so it names none of them",
    "xpu without a GPU": "there are GPUs",
    "test_hint_on_the_cpu_device_does_nothing": "there are GPUs",
    "test_pci_addresses_differ": PCI,
    "test_node_and_processors_of_a_gpu_are_those_of_its_address": PCI,
    "test_free_memory_shrinks_with_an_allocation": "without a device, no memory is in use",
}
NEO_LEVEL_ZERO = {
    **NEO,
    "USM of another context": CONTEXTS,
    "test_context": CONTEXTS,
    "test_memory_of_another_context_than_it_says": CONTEXTS,
    "test_memory_is_not_that_of_a_context_which_others_name": CONTEXTS,
}
#: Environment -> what its tests cannot use: a fixture, or the name of a test -> the reason.
LACKS: dict[str, dict[str, str]] = {
    "opencl_gpu": {
        "imports_of_host_memory": IMPORTS,
        "adapter": ORDERS,
        **dict.fromkeys(
            (
                "test_unpickled_tensor_finds_its_gpu_under_another_number",
                "test_unpickled_tensor_finds_its_tile_where_the_tiles_are_root_devices",
                "test_unpickled_tensor_warns_where_its_gpu_is_missing",
            ),
            "every device is the one CPU, with its UUID",
        ),
        "test_interrupted_script_ends_with_the_code_of_ctrl_c": ORDERS,
        "test_forked_child_frees_no_memory_of_its_parent": ORDERS,
        "test_work_that_was_pending_at_the_fork": ORDERS,
        "with_ipc": "OpenCL has no handles for other processes",
        "test_device_is_found_by_its_uuid": "every device is the one CPU, with its UUID",
        "test_pci_addresses_differ": "every device is the one CPU, with its UUID",
        "test_node_and_processors_of_a_gpu_are_those_of_its_address": "a CPU is on no bus",
        "test_free_memory_shrinks_with_an_allocation": "OpenCL does not tell free memory",
        "tiles": "its partitions are those of a CPU device",
        "test_gpus_share_one_context": "each GPU is a platform of its own",
        "test_private_context_is_copied_to_the_default": TWO_CONTEXTS,
    },
    "neo_v1": NEO_LEVEL_ZERO,
    "neo_v2": NEO_LEVEL_ZERO,
    "neo_opencl": {
        **WITHOUT_SYSTEM_USM,
        "USM of another context": CONTEXTS,
        "test_memory_of_another_context_than_it_says": CONTEXTS,
        **dict.fromkeys(BY_COPIES, UNMOVED),
        **{
            f"test_empty_array_has_an_address_in_the_context_of_dpnp[device-{where}-None]": (
                TWO_CONTEXTS
            )
            for where in ("private", "half")
        },
        "test_queue_in_the_list_is_that_of_the_copy": TWO_CONTEXTS,
    },
    "pocl": {
        **WITHOUT_SYSTEM_USM,
        "halves": PARTITIONS,
        **dict.fromkeys(BY_COMPUTE_UNITS, PARTITIONS),
        "test_dpnp_asarray_gets_the_memory_of_the_sub_device": PARTITIONS,
        "test_direct_dpnp_construction_gives_what_from_dlpack_gives[sub-device]": PARTITIONS,
        "Tensor.to_device(part)": PARTITIONS,
        "test_writes_of_dpnp_are_read[exchange-in place-shared]": SUB_GROUPS,
        "test_writes_of_dpnp_are_read[exchange-in place-device]": SUB_GROUPS,
        "test_reads_after_the_gil_was_held": SUB_GROUPS,
        "test_reads_while_threads_submit": SUB_GROUPS,
        "test_eight_threads_share_arrays_with_dpnp": SUB_GROUPS,
        "Tensor.copy_from(a tensor of a part)": PARTITIONS,
    },
}
