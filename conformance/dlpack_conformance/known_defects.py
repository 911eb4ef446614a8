# SPDX-License-Identifier: Apache-2.0
"""What libraries are known not to do, by case and range of versions.

A case that is known to fail must fail: a version that mends it is noticed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

__all__ = ["KNOWN_DEFECTS", "KnownDefect", "find_defect", "is_version"]


@dataclass(frozen=True)
class KnownDefect:
    """A defect of a library.

    Attributes
    ----------
    distribution : str
        Whose; ``*`` is every library.
    versions : str
        Which versions have it, as pip writes ranges.
    cases : tuple of str
        Ids of the cases that fail, without the group; wildcards are allowed.
    reason : str
        What is wrong.
    issue : str
        Where it is reported; empty: nowhere that we know of.
    memory : {"*", "host", "own"}
        For which memory.
    sometimes : bool
        Whether the case passes now and then: a race.
    python : str
        With which versions of Python.
    """

    distribution: str
    versions: str
    cases: tuple[str, ...]
    reason: str
    issue: str = ""
    memory: str = "*"
    sometimes: bool = False
    python: str = ""

    def covers(self, distribution: str, version: str, case: str, memory: str) -> bool:
        """Say whether the defect is the reason for a failure."""
        _, _, name = case.partition("-")
        python = ".".join(map(str, sys.version_info[:3]))
        return (
            fnmatch(distribution, self.distribution)
            and fnmatch(memory, self.memory)
            and any(fnmatch(name, pattern) for pattern in self.cases)
            and SpecifierSet(self.python).contains(python)
            and (not is_version(version) or SpecifierSet(self.versions).contains(version, True))
        )


def is_version(text: str) -> bool:
    """Say whether a version can be compared; a build from source may call itself anything."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


#: Threads that are daemons are unwound at the exit, through the library's C++ code, which ends it.
DAEMON = ("consumer-daemon_at_the_exit",)
DAEMON_WHY = "CPython before 3.14 unwinds the stack of a daemon thread at the exit"
CPYTHON = "https://github.com/python/cpython/issues/87135"
#: What a struct may contradict itself in, for those that look at none of it.
STRUCT = tuple(
    f"consumer-{name}"
    for name in (
        "negative_length", "null_shape_of_a_matrix", "extent_overflows", "strides_overflow",
        "count_overflows", "offset_overflows", "unknown_dtype", "float_of_80_bits",
        "dtype_of_0_bits", "dtype_of_0_lanes", "float4_as_6_bits", "null_data",
    )
)  # fmt: skip
#: The same for one that copies, so that what it reads must be there.
COPIED = tuple(
    f"consumer-{name}"
    for name in (
        "negative_length",
        "null_shape_of_a_matrix",
        "strides_overflow",
        "offset_overflows",
        "null_data",
    )
)
STREAMS = (
    "producer-stream_is_*",
    "producer-stream_on_the_host_is_refused",
    "producer-stream_for_the_host_is_none",
)
LEGACY = ("consumer-asks_for_version_1", "consumer-readonly_is_taken")
SHAPE = ("consumer-null_shape_of_a_matrix",)
OFFSET = ("consumer-offset_overflows",)
NULL = ("consumer-null_data",)
DATA = ("producer-no_elements_are_null",)
DEVICE = ("consumer-unsupported_device_is_a_buffer_error",)
COMPACT = ("consumer-takes_gaps", "consumer-takes_negative_strides", "consumer-takes_zero_strides")
SUB_INTERPRETER = ("consumer-imported_in_a_sub_interpreter",)

DATA_WHY = "data of an array without elements is not NULL"
SHAPE_WHY = "a shape that is NULL is read"
OFFSET_WHY = "the end of the memory is not computed"
NULL_WHY = "NULL data is read, or replaced by memory that nobody has written"
DEVICE_WHY = "another exception than BufferError for a device that it does not know"
LEGACY_WHY = "it asks for the struct of DLPack 0.x, which cannot say read-only"
STREAMS_WHY = "stream is ignored"
SUB_INTERPRETER_WHY = "its import in a sub-interpreter ends the process, or hangs"


NUMPY = "https://github.com/numpy/numpy/issues/"
PYTORCH = "https://github.com/pytorch/pytorch/"

_numpy_before_2_5 = partial(KnownDefect, "numpy", ">=2.1,<2.5")
_numpy_before_2_4 = partial(KnownDefect, "numpy", ">=2.1,<2.4")
_numpy = partial(KnownDefect, "numpy", ">=2.1")
_array_api_strict = partial(KnownDefect, "array-api-strict", ">=2.3")
_torch = partial(KnownDefect, "torch", ">=2.10")
_jax = partial(KnownDefect, "jax", ">=0.10")
_tensorflow = partial(KnownDefect, "tensorflow*", ">=2.21")
_onnxruntime_before_1_32 = partial(KnownDefect, "onnxruntime", ">=1.31,<1.32")
_onnxruntime = partial(KnownDefect, "onnxruntime", ">=1.31")
_pyarrow = partial(KnownDefect, "pyarrow", ">=26")
_mlx = partial(KnownDefect, "mlx", ">=0.32")
_apache_tvm_ffi = partial(KnownDefect, "apache-tvm-ffi", ">=0.1.15")
_nanobind = partial(KnownDefect, "nanobind", ">=3")
_scikit_learn_intelex = partial(KnownDefect, "scikit-learn-intelex", ">=2026.2")
_dpnp = partial(KnownDefect, "dpnp", ">=0.20")

KNOWN_DEFECTS: tuple[KnownDefect, ...] = (
    _numpy_before_2_5(DEVICE, DEVICE_WHY, f"{NUMPY}30937"),
    _numpy_before_2_4(("producer-unsupported_device_is_a_buffer_error",), DEVICE_WHY),
    _numpy_before_2_4(("producer-strides_are_always_written",), "strides are NULL in C order"),
    _numpy(SHAPE, SHAPE_WHY),
    _numpy(("consumer-strides_overflow", *OFFSET), OFFSET_WHY),
    _numpy(NULL, NULL_WHY),
    _numpy(DATA, DATA_WHY),
    _array_api_strict(SHAPE, SHAPE_WHY),
    _array_api_strict(("consumer-strides_overflow", *OFFSET), OFFSET_WHY),
    _array_api_strict(NULL, NULL_WHY),
    _array_api_strict(DATA, DATA_WHY),
    _array_api_strict(DEVICE, DEVICE_WHY, f"{NUMPY}30937"),
    _torch(
        ("consumer-negative_strides", "consumer-takes_negative_strides"),
        "negative strides end the process",
        f"{PYTORCH}issues/188023",
    ),
    _torch(("producer-copy_true_sets_the_flag",), "a copy does not have the flag IS_COPIED"),
    _torch(
        ("producer-unsupported_device_is_a_buffer_error",),
        "another exception than BufferError for a dl_device that it does not know",
    ),
    _torch(
        ("consumer-readonly_is_not_written_to", "consumer-readonly_survives_an_export"),
        "the flag READ_ONLY is ignored",
        f"{PYTORCH}issues/44027",
    ),
    _torch(DEVICE, DEVICE_WHY),
    _torch(("consumer-ndim_minus_1",), "ndim is not checked"),
    _torch(SHAPE, SHAPE_WHY),
    _torch(
        ("consumer-extent_overflows", "consumer-strides_overflow"),
        "an extent that overflows ends the process",
    ),
    _torch(
        ("consumer-count_overflows",),
        "after the error the deleter has run, and the capsule is not renamed",
    ),
    _torch(OFFSET, OFFSET_WHY),
    _torch(NULL, NULL_WHY),
    _torch(("producer-max_version_is_short",), "only the first part of max_version is looked at"),
    _torch(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _torch(SUB_INTERPRETER, SUB_INTERPRETER_WHY, sometimes=True),
    _jax(("consumer-null_deleter",), "a deleter that is NULL ends the process"),
    _jax(("consumer-copy_true_owns_its_memory",), "copy=True shares the memory"),
    _jax(("producer-knows_version_1",), "max_version is ignored"),
    _jax(("producer-readonly_needs_a_version",), "immutable arrays are exported as writable"),
    _jax(DATA, DATA_WHY),
    _jax(LEGACY, LEGACY_WHY),
    _jax(COMPACT, "compact arrays only"),
    _jax(DEVICE, DEVICE_WHY),
    _jax(("producer-max_version_is_short", "producer-copy_is_a_text"), "arguments are ignored"),
    _jax(SHAPE, SHAPE_WHY),
    _jax(OFFSET, OFFSET_WHY),
    _jax(NULL, NULL_WHY),
    _jax(
        ("consumer-other_device_than_announced",),
        "the device comes from __dlpack_device__, and not from the struct",
    ),
    _jax(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _jax(SUB_INTERPRETER, SUB_INTERPRETER_WHY),
    _tensorflow(DATA, DATA_WHY),
    _tensorflow(LEGACY, LEGACY_WHY),
    _tensorflow((*COMPACT, "consumer-takes_columns_first"), "compact arrays only"),
    _tensorflow(DEVICE, DEVICE_WHY),
    _tensorflow(SHAPE, SHAPE_WHY),
    _tensorflow(("consumer-extent_overflows",), "an extent that overflows ends the process"),
    _tensorflow(("consumer-dtype_of_0_lanes", "consumer-lanes"), "lanes are ignored"),
    _tensorflow(
        ("consumer-other_device_than_announced",),
        "after the error the deleter has run, and the capsule is not renamed",
    ),
    _onnxruntime_before_1_32(("producer-dtype_bool",), "bool is exported as uint8"),
    _onnxruntime_before_1_32(("consumer-null_deleter",), "a deleter that is NULL ends the process"),
    _onnxruntime_before_1_32(("consumer-byte_offset_is_added",), "byte_offset is ignored"),
    _onnxruntime(
        ("producer-knows_version_1", "producer-knows_every_keyword"),
        "__dlpack__ has no keyword but stream",
        "https://github.com/microsoft/onnxruntime/issues/24071",
    ),
    _onnxruntime_before_1_32(("producer-strides_are_always_written",), "strides are NULL"),
    _onnxruntime(STREAMS[:2], STREAMS_WHY),
    _onnxruntime(LEGACY, LEGACY_WHY),
    _onnxruntime((*COMPACT, "consumer-takes_columns_first"), "compact arrays only"),
    _onnxruntime(DEVICE, DEVICE_WHY),
    _onnxruntime(("consumer-ndim_minus_1",), "ndim is not checked"),
    _onnxruntime(SHAPE, SHAPE_WHY),
    _onnxruntime_before_1_32(OFFSET, OFFSET_WHY),
    _onnxruntime(NULL, NULL_WHY),
    _onnxruntime(SUB_INTERPRETER, SUB_INTERPRETER_WHY),
    _pyarrow(("consumer-producer_without_keywords",), "a producer of 2021 is not asked again"),
    _pyarrow(("consumer-takes_negative_strides",), "refuses negative strides"),
    _pyarrow(DEVICE, DEVICE_WHY),
    _pyarrow(
        ("producer-max_version_is_short", "producer-copy_is_a_text"), "arguments are not checked"
    ),
    _pyarrow(("consumer-count_overflows", *OFFSET), OFFSET_WHY),
    _pyarrow(NULL, NULL_WHY),
    _pyarrow(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _mlx(("consumer-other_major_version",), "the major version is not looked at (nanobind)"),
    _mlx(("consumer-buffer_error_goes_through",), "a BufferError becomes a TypeError (nanobind)"),
    _mlx(("producer-knows_version_1",), "max_version is ignored"),
    _mlx(DATA, DATA_WHY),
    _mlx(("consumer-asks_for_version_1",), LEGACY_WHY),
    _mlx(STREAMS, STREAMS_WHY),
    _mlx(("producer-max_version_is_*",), "arguments are ignored"),
    _mlx(("consumer-takes_negative_strides",), "refuses negative strides"),
    _mlx(("consumer-imports_are_views",), "every import is a copy"),
    _mlx(DEVICE, DEVICE_WHY),
    _mlx(COPIED, "copies what it is told to"),
    _mlx(("consumer-consumed_capsule",), "the capsule of a producer keeps its name (nanobind)"),
    _mlx(("consumer-exit_goes_through",), "SystemExit becomes a TypeError (nanobind)"),
    _mlx(("consumer-producer_recurses",), "each error is answered with several calls (nanobind)"),
    _mlx(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _apache_tvm_ffi(
        ("producer-older_version_is_respected",), "max_version=(0, 8) is an AttributeError"
    ),
    _apache_tvm_ffi(("producer-copies_on_request",), "copy=True is refused"),
    _apache_tvm_ffi(DATA, DATA_WHY),
    _apache_tvm_ffi(STREAMS, STREAMS_WHY),
    _apache_tvm_ffi(LEGACY, LEGACY_WHY),
    _apache_tvm_ffi(
        ("consumer-ndim_minus_1", *STRUCT), "hands on what it is told, and looks at none of it"
    ),
    _apache_tvm_ffi(
        ("producer-max_version_is_short",), "only the first part of max_version is looked at"
    ),
    _apache_tvm_ffi(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _nanobind(("consumer-other_major_version",), "the major version is not looked at"),
    _nanobind(("consumer-buffer_error_goes_through",), "a BufferError becomes a TypeError"),
    _nanobind(("consumer-consumed_capsule",), "the capsule of a producer keeps its name"),
    _nanobind(("producer-copies_on_request",), "copy=True is refused"),
    _nanobind(
        ("producer-readonly_needs_a_version",), "a read-only array is exported without a word"
    ),
    _nanobind(DATA, DATA_WHY),
    _nanobind((*STREAMS, "producer-copy_is_a_text"), "arguments are ignored"),
    _nanobind(
        ("consumer-readonly_is_taken",), "nb::ndarray<> is of writable memory: nb::ro takes it"
    ),
    _nanobind((*STRUCT, "consumer-lanes"), "hands on what it is told, and looks at none of it"),
    _nanobind(("consumer-exit_goes_through",), "SystemExit becomes a TypeError"),
    _nanobind(("consumer-producer_recurses",), "each error is answered with several calls"),
    _nanobind(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _scikit_learn_intelex(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True),
    _apache_tvm_ffi(SUB_INTERPRETER, SUB_INTERPRETER_WHY, sometimes=True),
    _scikit_learn_intelex(("consumer-null_shape",), "an array of 0 dimensions ends the process"),
    _scikit_learn_intelex(("consumer-no_elements",), "an array without elements loses its shape"),
    _scikit_learn_intelex(LEGACY, LEGACY_WHY),
    _scikit_learn_intelex(COMPACT, "compact arrays only"),
    _scikit_learn_intelex(DEVICE, DEVICE_WHY),
    _scikit_learn_intelex(SHAPE, SHAPE_WHY),
    _scikit_learn_intelex(OFFSET, OFFSET_WHY),
    _scikit_learn_intelex(("consumer-dtype_of_0_lanes",), "lanes are ignored"),
    _scikit_learn_intelex(NULL, NULL_WHY),
    _scikit_learn_intelex(SUB_INTERPRETER, SUB_INTERPRETER_WHY),
    _dpnp(("producer-writable_is_not_flagged",), "an array of 0 dimensions has the flag READ_ONLY"),
    _dpnp(("consumer-null_deleter",), "a deleter that is NULL ends the process"),
    _dpnp(
        ("consumer-null_strides_mean_compact",),
        "strides that are NULL end the process",
        memory="own",
    ),
    _dpnp(
        ("consumer-byte_offset_is_added",), "byte_offset is ignored in host memory", memory="host"
    ),
    _dpnp(
        ("consumer-pending_work_reaches_a_copy", "producer-pending_work_*"),
        "work that is pending is not waited for",
        sometimes=True,
    ),
    _dpnp(DATA, DATA_WHY),
    _dpnp(("producer-readonly_needs_a_version",), "a read-only array is exported without a word"),
    _dpnp(("producer-no_synchronisation_on_request",), "stream=-1 is refused"),
    _dpnp(("producer-address_of_a_queue_is_a_stream",), "stream takes a dpctl.SyclQueue alone"),
    _dpnp(
        ("producer-sub_device_is_exported", "producer-private_context_is_not_handed_over"),
        "DLPackCreationError, which is no BufferError",
    ),
    _dpnp(
        ("consumer-takes_negative_strides",),
        "refuses negative strides with byte_offset 0",
        memory="own",
    ),
    _dpnp(
        ("consumer-ndim_minus_1", "consumer-null_shape_of_a_matrix"),
        "ndim and shape are not checked",
    ),
    _dpnp(("consumer-strides_overflow",), "the end of the memory is not computed"),
    _dpnp(
        ("consumer-negative_length", "consumer-extent_overflows", "consumer-count_overflows"),
        "the shape is not checked",
        memory="own",
    ),
    _dpnp(OFFSET, OFFSET_WHY, memory="host"),
    _dpnp(("producer-copy_is_a_text",), "copy takes anything"),
    _dpnp(("producer-deleter_after_the_interpreter",), "the deleter needs a living interpreter"),
    _dpnp(DAEMON, DAEMON_WHY, CPYTHON, python="<3.14", sometimes=True, memory="own"),
)


def find_defect(
    distribution: str,
    version: str,
    case: str,
    memory: str,
    among: Iterable[KnownDefect] | None = None,
) -> KnownDefect | None:
    """Return what is known of a case.

    Examples
    --------
    >>> find_defect("torch", "2.13.0", "must-consumer-negative_strides", "host").issue
    'https://github.com/pytorch/pytorch/issues/188023'
    >>> find_defect("numpy", "2.4.6", "must-consumer-negative_strides", "host") is None
    True
    """
    for defect in KNOWN_DEFECTS if among is None else among:
        if defect.covers(distribution, version, case, memory):
            return defect
    return None
