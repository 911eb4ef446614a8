# SPDX-License-Identifier: Apache-2.0
"""Takes the arrays of one library: ``python producers_worker.py LIBRARY FIRST_CASE``"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sycl_ext as sx

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@dataclass(frozen=True)
class Library:
    """A library that makes arrays: `make` imports it, and returns (array, address, read-only)."""

    distribution: str
    array: str  # what it makes, in words
    make: Callable[[], tuple[Any, int, bool]]
    environment: str = ".venv-interop"


def _numpy():
    array = VALUES.copy()
    return array, array.ctypes.data, False


def _numpy_readonly():
    array = VALUES.copy()
    array.flags.writeable = False
    return array, array.ctypes.data, True


def _torch():
    import torch

    tensor = torch.from_numpy(VALUES.copy())
    return tensor, tensor.data_ptr(), False


def _jax():
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax.numpy

    array = jax.numpy.asarray(VALUES)
    return (
        array,
        array.unsafe_buffer_pointer(),
        True,
    )  # immutable, though its capsules do not say so


def _onnxruntime():
    import onnxruntime

    value = onnxruntime.OrtValue.ortvalue_from_numpy(VALUES.copy())
    return value._ortvalue, value.data_ptr(), False


def _pyarrow():
    import pyarrow

    array = pyarrow.array(VALUES.ravel())
    return array, array.buffers()[1].address, True


def _polars():
    import polars

    array = polars.Series(VALUES.ravel()).to_numpy(allow_copy=False)
    return array, array.ctypes.data, True


def _openvino():
    sx.devices()  # as in consumers.py
    import openvino

    array = openvino.Tensor(VALUES).data
    return array, array.ctypes.data, False


def _mlx():
    import mlx.core

    from consumers import _address_by_dlpack

    array = mlx.core.array(VALUES)
    return array, _address_by_dlpack(array), False


def _tvm():
    import tvm_ffi

    from consumers import _address_by_dlpack

    tensor = tvm_ffi.from_dlpack(VALUES.copy())
    return tensor, _address_by_dlpack(tensor), False


def _dpnp():
    import dpnp

    array = dpnp.asarray(VALUES, device="cpu", usm_type="device")
    return array, array.get_array()._pointer, False


def _dpnp_gpu():
    import dpnp

    array = dpnp.asarray(VALUES, device="level_zero:gpu:0", usm_type="device")
    return array, array.get_array()._pointer, False


def _strict():
    import array_api_strict

    array = array_api_strict.asarray(VALUES, copy=True)
    return array, array._array.ctypes.data, False


def _memoryview():
    data = bytearray(VALUES.tobytes())
    view = memoryview(data).cast("f", VALUES.shape)
    return view, np.asarray(view).ctypes.data, False


def _tensorflow():
    import tensorflow

    from dlpack_conformance.structs import managed_in

    tensor = tensorflow.constant(VALUES)
    make = tensorflow.experimental.dlpack.to_dlpack
    return Capsules(lambda: make(tensor)), managed_in(make(tensor)).dl_tensor.data, False


class Capsules:
    """A producer of the capsules of a function."""

    def __init__(self, make):
        self.make = make

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self):
        return self.make()


LIBRARIES = {
    "numpy": Library("numpy", "numpy.ndarray", _numpy),
    "numpy, read-only": Library("numpy", "numpy.ndarray", _numpy_readonly),
    "numpy 1.26": Library("numpy", "numpy.ndarray", _numpy, ".venv-numpy1"),
    "array_api_strict": Library("array-api-strict", "array_api_strict.Array", _strict),
    "torch": Library("torch", "torch.Tensor", _torch),
    "jax": Library("jax", "jax.Array", _jax),
    "tensorflow": Library("tensorflow-cpu", "tf.experimental.dlpack.to_dlpack(x)", _tensorflow),
    "onnxruntime": Library("onnxruntime", "OrtValue", _onnxruntime),
    "pyarrow": Library("pyarrow", "pyarrow.Array", _pyarrow),
    "polars": Library("polars", "polars.Series.to_numpy(allow_copy=False)", _polars),
    "openvino": Library("openvino", "openvino.Tensor.data", _openvino),
    "mlx": Library("mlx", "mlx.core.array", _mlx),
    "tvm_ffi": Library("apache-tvm-ffi", "tvm_ffi.Tensor", _tvm),
    "dpnp": Library("dpnp", "dpnp.ndarray on the CPU", _dpnp),
    "dpnp, GPU": Library("dpnp", "dpnp.ndarray on the GPU", _dpnp_gpu),
    "memoryview": Library("sycl_ext", "memoryview", _memoryview),
}

#: How an array is taken, and what the result must be: "view", "copy" or the name of an exception.
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
    x, address, readonly = library.make()
    try:
        result = WAYS[name](x)
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    if isinstance(result, np.ndarray):
        found, values, writable = result.ctypes.data, result, result.flags.writeable
    elif isinstance(result, sx.HostView):
        found, values, writable = result.ptr, np.asarray(result), not result.readonly
    else:
        found, values, writable = result.ptr, result.to_numpy(), not result.readonly
    return {
        "outcome": "view" if found == address else "copy",
        "right": bool(np.array_equal(values.ravel(), VALUES.ravel())),
        "writes_to_readonly": bool(readonly and writable and found == address),
    }


def main(name: str, first: int) -> None:
    library = LIBRARIES[name]
    version = importlib.metadata.version(library.distribution).partition("+")[0]
    print(json.dumps({"version": version}), flush=True)
    for number, way in enumerate(CASES):
        if number < first:
            continue
        print(json.dumps({"begin": number}), flush=True)
        found = take(way, library)
        gc.collect()
        print(json.dumps({"end": number, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
