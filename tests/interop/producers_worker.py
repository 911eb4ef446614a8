# SPDX-License-Identifier: Apache-2.0
"""Takes the arrays of one library: ``python producers_worker.py LIBRARY FIRST_CASE``"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sycl_ext as sx
from consumers import ROWS

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@dataclass(frozen=True)
class Library:
    """A library that makes arrays; its row of the consumers knows where they are."""

    distribution: str
    array: str  # what it makes, in words
    make: Callable[[], Any]
    consumer: str = "numpy"
    readonly: bool = False
    environment: str = ".venv-interop"
    handed: Callable[[Any], Any] = lambda array: array


def _numpy(readonly: bool = False) -> np.ndarray:
    array = VALUES.copy()
    array.flags.writeable = not readonly
    return array


def _openvino() -> Any:
    sx.devices()  # as in consumers.py
    import openvino

    return openvino.Tensor(VALUES).data


def _of(module: str, make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(importlib.import_module(module))


class Capsules:
    """A tensor of TensorFlow, which has no ``__dlpack__``."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self) -> Any:
        dlpack = importlib.import_module("tensorflow.experimental.dlpack")
        return dlpack.to_dlpack(self.tensor)


LIBRARIES = {
    "numpy": Library("numpy", "numpy.ndarray", _numpy),
    "numpy, read-only": Library("numpy", "numpy.ndarray", lambda: _numpy(True), readonly=True),
    "numpy 1.26": Library("numpy", "numpy.ndarray", _numpy, environment=".venv-numpy1"),
    "array_api_strict": Library("array-api-strict", "array_api_strict.Array",
        _of("array_api_strict", lambda xp: xp.asarray(VALUES, copy=True)), "array_api_strict"),
    "torch": Library("torch", "torch.Tensor", _of("torch", lambda t: t.from_numpy(VALUES.copy())),
        "torch"),
    # Immutable, though its capsules do not say so.
    "jax": Library("jax", "jax.Array", _of("jax.numpy", lambda jnp: jnp.asarray(VALUES)), "jax",
        readonly=True),
    "tensorflow": Library("tensorflow-cpu", "tf.experimental.dlpack.to_dlpack(x)",
        _of("tensorflow", lambda tf: tf.constant(VALUES)), "tensorflow", handed=Capsules),
    "onnxruntime": Library("onnxruntime", "OrtValue",
        _of("onnxruntime", lambda o: o.OrtValue.ortvalue_from_numpy(VALUES.copy())), "onnxruntime",
        handed=lambda value: value._ortvalue),
    "pyarrow": Library("pyarrow", "pyarrow.Array", _of("pyarrow",
        lambda arrow: arrow.array(VALUES.ravel())), "pyarrow.Array", readonly=True),
    "polars": Library("polars", "polars.Series.to_numpy(allow_copy=False)",
        _of("polars", lambda p: p.Series(VALUES.ravel()).to_numpy(allow_copy=False)),
        readonly=True),
    "openvino": Library("openvino", "openvino.Tensor.data", _openvino),
    "mlx": Library("mlx", "mlx.core.array", _of("mlx.core", lambda mx: mx.array(VALUES)), "mlx"),
    "tvm_ffi": Library("apache-tvm-ffi", "tvm_ffi.Tensor",
        _of("tvm_ffi", lambda tvm: tvm.from_dlpack(VALUES.copy())), "tvm_ffi"),
    "dpnp": Library("dpnp", "dpnp.ndarray on the CPU",
        _of("dpnp", lambda np: np.asarray(VALUES, device="cpu", usm_type="device")), "dpnp"),
    "dpnp, GPU": Library("dpnp", "dpnp.ndarray on the GPU",
        _of("dpnp", lambda np: np.asarray(VALUES, device="level_zero:gpu:0", usm_type="device")),
        "dpnp"),
    "memoryview": Library("sycl_ext", "memoryview", lambda: memoryview(
        bytearray(VALUES.tobytes())).cast("f", VALUES.shape), "memoryview"),
}  # fmt: skip

#: How an array is taken, and the expected result: "view", "copy" or the name of an exception.
WAYS: dict[str, Callable[[Any], Any]] = {
    "from_dlpack(x, device=cpu)": lambda x: sx.from_dlpack(x, device="opencl:cpu"),
    "from_dlpack(x, device=gpu)": lambda x: sx.from_dlpack(x, device="level_zero:gpu:0"),
    "from_dlpack(x, copy=True)": lambda x: sx.from_dlpack(x, device="opencl:cpu", copy=True),
    "from_dlpack(x, copy=False)": lambda x: sx.from_dlpack(x, device="opencl:cpu", copy=False),
    "as_tensor(x, device=cpu)": lambda x: sx.as_tensor(x, device="opencl:cpu"),
    "host_view(x)": sx.host_view,
    "host_view(x, copy=True)": lambda x: sx.host_view(x, copy=True),
    "exchange(x, numpy)": lambda x: sx.exchange(x, np),
    "exchange(x, gpu)": lambda x: sx.exchange(x, sx.device("level_zero:gpu:0")),
    "copy_from(x)": lambda x: _filled(x),
}
CASES = list(WAYS)


def _filled(x):
    return sx.empty(sx.host_view(x).shape, VALUES.dtype, device="level_zero:gpu:0").copy_from(x)


def take(name: str, library: Library) -> dict[str, Any]:
    array = library.make()
    x, address = library.handed(array), ROWS[library.consumer].address(array)
    try:
        result = WAYS[name](x)
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    if isinstance(result, np.ndarray):
        pointer, values, writable = result.ctypes.data, result, result.flags.writeable
    elif isinstance(result, sx.HostView):
        pointer, values, writable = result.ptr, np.asarray(result), not result.readonly
    else:
        pointer, values, writable = result.ptr, result.to_numpy(), not result.readonly
    return {
        "outcome": "view" if pointer == address else "copy",
        "right": bool(np.array_equal(values.ravel(), VALUES.ravel())),
        "writes_to_readonly": bool(library.readonly and writable and pointer == address),
    }


def main(name: str, first: int) -> None:
    library = LIBRARIES[name]
    version = importlib.metadata.version(library.distribution).partition("+")[0]
    print(json.dumps({"version": version}), flush=True)
    for number, way in enumerate(CASES):
        if number < first:
            continue
        print(json.dumps({"begin": number}), flush=True)
        outcome = take(way, library)
        gc.collect()
        print(json.dumps({"end": number, **outcome}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
