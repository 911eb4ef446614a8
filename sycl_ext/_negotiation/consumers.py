# SPDX-License-Identifier: Apache-2.0
"""Known limitations of consumers: one row each, with its reason. Pure Python.

A consumer without a row is assumed to behave well: it is tried directly, then with a host view. A
row describes arrays that would crash a consumer, give wrong results, or cannot work.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_ext._negotiation.consumer_row import ALL, COMPLEX, FP8, NARROW, RARE_FP8, Consumer, When
from sycl_ext._negotiation.loaded import loaded
from sycl_ext._negotiation.usm_types import ALLOCATED

SMALL = ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16")
WIDE = ("int64", "uint64", "float64", "complex128")


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("+")[0].split(".")[:3] if number.isdigit())


def dpnp_by_usm_interface(from_dlpack: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """Import a description as ``dpnp.asarray`` does, in a fifth of its time.

    It replaces dpnp's own function only, not a function that a program has put in its place.
    """
    if from_dlpack is not loaded("dpnp.dpnp_iface_arraycreation", "from_dlpack"):
        return None
    try:
        from dpctl.memory import as_usm_memory
        from dpnp import ndarray
        from dpnp.tensor import usm_ndarray

        wrap = ndarray._create_from_usm_ndarray
    except (ImportError, AttributeError):  # of another release
        return None

    def read(x: Any) -> Any:  # `as_usm_memory` reads a description twice, and keeps its object
        return wrap(usm_ndarray(x.shape, dtype=x.dtype, buffer=as_usm_memory(x._lent())))

    return read


#: Libraries whose functions take NumPy arrays, and the dtypes that the libraries lack.
OF_NUMPY: dict[str, tuple[str, ...]] = {
    "numba": NARROW,
    "openvino": (),
    "pandas": NARROW,
    "PIL": NARROW,
    "polars": (*COMPLEX, *NARROW),
    "scipy": NARROW,
    "sklearn": NARROW,
    "xgboost": NARROW,
}
ONNXRUNTIME: dict[str, Any] = {
    "package": "onnxruntime",
    "functions": "NumPy array",
    "importer": ":capi.onnxruntime_pybind11_state.OrtValue.from_dlpack",
    "memory": "host",
    "takes": "legacy capsule",
    "strides": "compact",
    "readonly": "refused",
}
#: A library whose versions differ has several rows, one after the other, oldest first.
CONSUMERS: tuple[Consumer, ...] = (
    Consumer(
        "numpy",
        memory="host",
        readonly="kept" if _release(np.__version__) >= (2, 1) else "refused",
        narrow_importer=":asarray",
        reason="2.4 raises RuntimeError on kDLOneAPI; before 2.1 it requests the legacy struct, "
        "which has no read-only flag; its from_dlpack supports neither bfloat16 nor float8, which "
        "its arrays have through ml_dtypes",
    ),
    Consumer(
        "array_api_strict",
        memory="host",
        lacks=("float16", *NARROW),
        reason="2.6: NumPy inside; does not forward device=; no float16 in the standard",
    ),
    Consumer(
        "torch",
        memory="host",
        usm_types=("device",),
        takes_native=True,
        configured={
            "usm_types": When("xpu.is_available", True),
            "takes_native": When("cuda.is_available", True),  # also of ROCm, which torch calls CUDA
        },
        root_only=True,
        drops_stream=True,
        strides="nonnegative",
        readonly="dropped",
        lacks=RARE_FP8,
        reason="2.13 on the CPU: RuntimeError on kDLOneAPI; aborts on negative strides "
        "(pytorch#188023); ignores the read-only flag; has five of the float8 dtypes; with XPU it "
        "accepts only device USM of a root device, and passes no stream (pytorch#195825)",
    ),
    Consumer(
        "jax",
        importer=".dlpack:from_dlpack",
        memory="host",
        strides="compact",
        takes_native=True,
        alignment=64,
        readonly="refused",
        narrows=WIDE,
        configured={
            "takes_native": When("default_backend", "gpu"),
            "narrows": When("config.jax_enable_x64", False),
        },
        reason="0.10 requests the legacy struct, and refuses kDLOneAPI without a request; strides "
        "that are not compact are an error; it copies memory that is not aligned to 64 bytes; "
        "64-bit dtypes require jax_enable_x64",
    ),
    Consumer(
        "tensorflow",
        importer=":experimental.dlpack.from_dlpack",
        memory="host",
        takes="legacy capsule",
        strides="compact",
        alignment=64,
        readonly="refused",
        lacks=FP8,
        reason="2.21 accepts a legacy capsule, of compact arrays; it accepts any address, and "
        "aborts when it computes with memory that is not aligned to 64 bytes",
    ),
    Consumer(
        **ONNXRUNTIME,
        lacks=("bool", *COMPLEX, *FP8),
        reason="1.31 accepts a legacy capsule, of compact arrays, and has no complex dtypes; bool "
        "must be sent as uint8, with OrtValue.from_dlpack(capsule, True)",
    ),
    Consumer(
        **ONNXRUNTIME,
        since="1.32",
        lacks=(*COMPLEX, *RARE_FP8),
        reason="1.32 accepts a legacy capsule, of compact arrays; it has bool and five of the "
        "float8 dtypes, and no complex ones",
    ),
    Consumer(
        "pyarrow",
        importer=":Tensor.from_dlpack",
        functions="NumPy array",
        memory="host",
        strides="nonnegative",
        lacks=("bool", *COMPLEX, *NARROW),
        reason="26: ArrowNotImplementedError on kDLOneAPI; no bool, complex or 8-bit floats",
    ),
    Consumer(
        "mlx",
        importer=".core:from_dlpack",
        memory="host",
        strides="nonnegative",
        copies=ALL,
        lacks=FP8,
        narrows=("float64", "complex128"),
        reason="0.32 on the CPU: ValueError on kDLOneAPI and on negative strides; copies whatever "
        "it is given; float64 becomes float32, and complex128 complex64",
    ),
    Consumer(
        "tvm_ffi",
        readonly="dropped",
        reason="0.1.15 accepts kDLOneAPI directly, through the C exchange API, and drops the "
        "read-only flag",
    ),
    Consumer(
        "dpnp",
        memory="usm",
        strides="nonnegative",
        null_data=False,
        lacks=NARROW,
        usm_interface_importer=dpnp_by_usm_interface,
        reason="0.20: TypeError on the NULL pointer of an empty array; ValueError on negative "
        "strides with byte_offset 0; returns a numpy.ndarray for host memory; no bfloat16 or "
        "float8",
    ),
    Consumer(
        "open3d",
        importer=":core.Tensor.from_dlpack",
        functions="NumPy array",
        memory="host",
        usm_types=ALLOCATED,  # with one device; the numbers of a GPU and the CPU are not DLPack's
        configured={"usm_types": When("core.sycl.device_count", 1)},
        readonly="refused",
        lacks=("float16", *COMPLEX, *NARROW),
        reason="0.20 mistakes DLPack's device number for one of its own, which are a GPU and the "
        "CPU, and crashes in a kernel on the wrong one; requests the legacy struct, which has no "
        "read-only flag; RuntimeError on other dtypes",
    ),
    Consumer(
        "onedal",
        importer=".datatypes:to_table",
        functions="producer",
        memory="any",
        strides="compact",
        readonly="refused",
        ndims=range(1, 65),
        copies=ALL,
        lacks=(*SMALL, *COMPLEX, *NARROW),
        reason="2026.2 always copies; only float32, float64, int32 and int64, with "
        "compact strides; SIGSEGV or ValueError on arrays of 0 dimensions",
    ),
    Consumer(
        "dpctl",
        importer=".memory:as_usm_memory",
        functions="producer",
        memory="usm",
        strides="compact",
        readonly="dropped",
        system_usm=False,
        null_data=False,
        lacks=NARROW,
        any_context=True,
        reason="0.22: bytes without shape, strides or a read-only flag; ValueError on 'system' "
        "USM, on the NULL pointer of an empty array, and on bfloat16 and float8",
    ),
    Consumer(
        "sycl_ext",
        memory="usm",
        functions="producer",
        any_context=True,
        reason="this package; it copies host memory to a default device that cannot read it",
    ),
    *(
        Consumer(
            package,
            importer="",
            memory="host",
            functions="NumPy array",
            lacks=lacks,
        )
        for package, lacks in OF_NUMPY.items()
    ),
)


#: The libraries whose row depends on their version.
WITH_VERSIONS = {row.package for row in CONSUMERS if row.since is not None}


@functools.lru_cache(maxsize=64)
def consumer_for(package: str, version: str) -> Consumer | None:
    """Return the row for a version of a library; None: it has no row.

    A version that cannot be read counts as the oldest one.

    Examples
    --------
    >>> [len(consumer_for("onnxruntime", have).lacks) for have in ("1.31.1", "1.32.0", "2.0", "")]
    [11, 5, 5, 11]
    """
    have = _release(version)
    for row in reversed(CONSUMERS):
        if row.package == package and (row.since is None or _release(row.since) <= have):
            return row
    return None
