# SPDX-License-Identifier: Apache-2.0
"""The consumers of the matrix: how each is called, and how a test sees what it made of an array.

A consumer is loaded in a process of its own: these libraries do not all get along.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Consumer:
    """One row of the matrix; without more, it makes arrays of NumPy.

    Attributes
    ----------
    distribution : str
        The library with the version of the row.
    call : str
        How the row is called, in words.
    load : str or callable
        The module that `exchange` is given, or a function that returns what it is given.
    address : callable
        Address of the first element of a result.
    values : callable
        The elements of a result as a NumPy array.
    writable : callable
        Whether the consumer would write to the memory of a result.
    environment : str
        The environment it lives in.
    takes_host : bool
        False: host memory is not for it.
    copies : bool
        It copies whatever it is given.
    takes_readonly : bool
        False: it does not accept read-only memory.
    copies_readonly : bool
        It copies read-only memory, and nothing else.
    """

    distribution: str
    call: str
    load: str | Callable[[], Callable[[Any], Any]]
    address: Callable[[Any], int] = lambda array: array.ctypes.data
    values: Callable[[Any], Any] = np.asarray
    writable: Callable[[Any], bool] = lambda array: array.flags.writeable
    environment: str = ".venv-interop"
    takes_host: bool = True
    copies: bool = False
    takes_readonly: bool = True
    copies_readonly: bool = False
    #: A function of a user that reads host memory: `exchange` hands it a tensor, and it takes a
    #: host view of that.
    views_host: bool = False

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.distribution).partition("+")[0]

    def loaded(self) -> tuple[Any, Callable[[Any], Any]]:
        """Return the consumer for `exchange`, and the function that takes an array."""
        from sycl_ext._negotiation.targets import read_consumer

        if not isinstance(self.load, str):
            function = self.load()
            if not self.views_host:
                return function, function
            import sycl_ext as sx

            return lambda x: function(sx.host_view(x)), function
        module = importlib.import_module(self.load)
        target = read_consumer(module)
        if target.row.takes == "producer":
            return module, target.call
        return module, lambda x: target.call(x.__dlpack__())


def always(answer: bool) -> Callable[[Any], bool]:
    return lambda _: answer


def address_by_dlpack(result: Any) -> int:
    from dlpack_conformance.structs import managed_in

    return managed_in(result.__dlpack__()).dl_tensor.data


def _address_in_tensorflow(tensor: Any) -> int:
    from tensorflow.experimental import dlpack

    from dlpack_conformance.structs import managed_in

    return managed_in(dlpack.to_dlpack(tensor)).dl_tensor.data


def _from_onedal(table: Any) -> Any:
    from onedal.datatypes import from_table

    return from_table(table)


def _openvino() -> Callable[[Any], Any]:
    import sycl_ext as sx

    sx.devices()  # with OpenVINO's older libtbb.so.12 in the process, the CPU driver does not load
    import openvino

    def tensor(x: Any) -> Any:
        array = np.from_dlpack(x)
        return openvino.Tensor(array, shared_memory=array.flags.carray)

    return tensor


def _arrow_array(x: Any) -> Any:
    import pyarrow

    return pyarrow.array(np.from_dlpack(x).ravel())  # Arrow has one dimension


def _polars(form: Callable[[Any], Any]) -> Callable[[], Callable[[Any], Any]]:
    def load() -> Callable[[Any], Any]:
        import polars

        return lambda x: polars.Series(form(x))

    return load


def _numba() -> Callable[[Any], Any]:
    import numba

    @numba.njit
    def unchanged(array):
        return array

    return lambda x: unchanged(np.from_dlpack(x))


def _of(module: str, name: str) -> Callable[[], Callable[[Any], Any]]:
    """A function of a module, which is given as it is."""
    return lambda: getattr(importlib.import_module(module), name)


def _read(taken: tuple) -> np.ndarray | None:
    """The elements that a function of the nanobind module was given, as it sees them."""
    address, shape, _, device_type = taken
    if device_type != 1:
        return None  # the module does not copy from devices
    flat = (ctypes.c_float * int(np.prod(shape))).from_address(address)
    return np.ctypeslib.as_array(flat).reshape(shape)


def _back(result: Any) -> np.ndarray:
    """A result that speaks DLPack, as a NumPy array: what its memory holds."""
    import sycl_ext as sx

    return sx.from_dlpack(result).to_numpy(copy=True)


def _in_dpnp(result: Any, of_dpnp: Callable[[Any], Any], of_numpy: Callable[[Any], Any]) -> Any:
    return of_numpy(result) if isinstance(result, np.ndarray) else of_dpnp(result)


TORCH = {
    "address": lambda tensor: tensor.data_ptr(),
    "values": lambda tensor: tensor.numpy(),
    "writable": always(True),
}
POLARS = {
    "address": lambda series: series.to_numpy(allow_copy=False).ctypes.data,
    "values": lambda series: series.to_numpy(),
    "writable": always(False),
    "views_host": True,
}
NANOBIND = {
    "address": lambda taken: taken[0],
    "values": _read,
    "writable": lambda taken: taken[2],
    "takes_readonly": False,
}

#: The rows of the matrix, in its order.
ROWS: dict[str, Consumer] = {
    # -- NumPy and what wraps it
    "numpy": Consumer("numpy", "numpy.from_dlpack(x)", "numpy"),
    "numpy, device='cpu'": Consumer("numpy", 'numpy.from_dlpack(x, device="cpu")',
        lambda: lambda x: np.from_dlpack(x, device="cpu")),
    "numpy 1.26": Consumer("numpy", "numpy.from_dlpack(x)", "numpy", environment=".venv-numpy1",
        takes_readonly=False),
    "array_api_strict": Consumer("array-api-strict", "array_api_strict.from_dlpack(x)",
        "array_api_strict", address=lambda array: array._array.ctypes.data,
        values=lambda array: array._array, writable=lambda array: array._array.flags.writeable),
    "array_api_compat.numpy": Consumer("array-api-compat", "array_api_compat.numpy.from_dlpack(x)",
        "array_api_compat.numpy"),
    # -- torch
    "torch": Consumer("torch", "torch.from_dlpack(x)", "torch", **TORCH),
    "array_api_compat.torch": Consumer("array-api-compat", "array_api_compat.torch.from_dlpack(x)",
        "array_api_compat.torch", **TORCH),
    # -- the others of the host
    # Its arrays are immutable.
    "jax": Consumer("jax", "jax.dlpack.from_dlpack(x)", "jax",
        address=lambda array: array.unsafe_buffer_pointer(), writable=always(False),
        takes_readonly=False),
    "tensorflow": Consumer("tensorflow-cpu", "tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
        "tensorflow", address=_address_in_tensorflow, values=lambda tensor: tensor.numpy(),
        writable=always(False), takes_readonly=False),
    "onnxruntime": Consumer("onnxruntime", "OrtValue.from_dlpack(x.__dlpack__())", "onnxruntime",
        takes_readonly=False, **TORCH),
    "pyarrow": Consumer("pyarrow", "pyarrow.Tensor.from_dlpack(x)", "pyarrow",
        address=lambda tensor: tensor.to_numpy().ctypes.data,
        values=lambda tensor: tensor.to_numpy(), writable=lambda tensor: tensor.is_mutable),
    "mlx": Consumer("mlx", "mlx.core.from_dlpack(x)", "mlx.core", address=address_by_dlpack,
        values=lambda array: np.asarray(memoryview(array)), writable=always(True), copies=True),
    "onedal": Consumer("scikit-learn-intelex", "onedal.datatypes.to_table(x)", "onedal",
        address=lambda table: _from_onedal(table).ctypes.data, values=_from_onedal,
        writable=lambda table: _from_onedal(table).flags.writeable, copies=True,
        takes_readonly=False),
    # -- what takes NumPy arrays or buffers, and no DLPack
    "openvino":
        Consumer("openvino",
        "openvino.Tensor(a, shared_memory=a.flags.carray), a = numpy.from_dlpack(x)", _openvino,
        address=lambda tensor: tensor.data.ctypes.data, values=lambda tensor: tensor.data,
        writable=lambda tensor: tensor.data.flags.writeable, copies_readonly=True,
        views_host=True),
    "pyarrow.Array": Consumer("pyarrow", "pyarrow.array(numpy.from_dlpack(x).ravel())",
        lambda: _arrow_array, address=lambda array: array.buffers()[1].address,
        values=lambda array: array.to_numpy(), writable=lambda array: array.buffers(
        )[1].is_mutable, views_host=True),
    "polars": Consumer("polars", "polars.Series(numpy.from_dlpack(x))", _polars(np.from_dlpack),
        **POLARS),
    "polars, Arrow's capsule": Consumer("polars", "polars.Series(the pyarrow.Array above)",
        _polars(_arrow_array), **POLARS),
    "numba": Consumer("numba", "a function of numba.njit, with numpy.from_dlpack(x)", _numba,
        views_host=True),
    "scikit-learn":
        Consumer("scikit-learn", "sklearn.utils.check_array(x), which estimators begin with",
        _of("sklearn.utils", "check_array")),
    # Its matrix has a form of its own.
    "xgboost": Consumer("xgboost-cpu", "xgboost.DMatrix(x)", _of("xgboost", "DMatrix"),
        address=lambda matrix: 0, values=lambda matrix: matrix.get_data().toarray(),
        writable=always(False), copies=True),
    # -- memory of any kind
    "tvm_ffi": Consumer("apache-tvm-ffi", "tvm_ffi.from_dlpack(x)", "tvm_ffi",
        address=address_by_dlpack, values=_back, writable=always(True)),
    "nanobind": Consumer("nanobind", "a function of a nb::ndarray<float>",
        _of("nanobind_consumer", "take_any"), **NANOBIND),
    "nanobind, nb::ro": Consumer("nanobind", "a function of a nb::ndarray<float, nb::ro>",
        _of("nanobind_consumer", "take_readonly"), **{**NANOBIND, "takes_readonly": True}),
    "nanobind, nb::device::cpu": Consumer("nanobind",
        "a function of a nb::ndarray<float, nb::device::cpu>",
        _of("nanobind_consumer", "take_host"), views_host=True, **NANOBIND),
    # It does not look into memory that is not the host's.
    "mpi4py": Consumer("mpi4py", "MPI.buffer(x)", _of("mpi4py.MPI", "buffer"),
        address=lambda buffer: buffer.address, values=always(None),
        writable=lambda buffer: not buffer.readonly),
    "dpnp": Consumer("dpnp", "dpnp.from_dlpack(x)", "dpnp",
        address=lambda x: _in_dpnp(x, lambda a: a.get_array()._pointer, lambda a: a.ctypes.data),
        values=lambda x: _in_dpnp(x, lambda a: a.asnumpy(), np.asarray),
        writable=lambda x: _in_dpnp(x, lambda a: a.flags.writable, lambda a: a.flags.writeable)),
    "dpctl.memory": Consumer("dpctl", "dpctl.memory.as_usm_memory(x)",
        _of("dpctl.memory", "as_usm_memory"), address=lambda memory: memory._pointer,
        values=lambda memory: memory.copy_to_host().view(np.float32), writable=always(True),
        takes_host=False),
    # -- no library
    "memoryview": Consumer("sycl_ext", "memoryview(x)", lambda: memoryview,
        address=lambda view: np.asarray(view).ctypes.data, writable=lambda view: not view.readonly,
        views_host=True),
    "sycl_ext": Consumer("sycl_ext", "sycl_ext.from_dlpack(x)", "sycl_ext",
        address=lambda tensor: tensor.ptr, values=lambda tensor: tensor.to_numpy(copy=True),
        writable=lambda tensor: not tensor.readonly),
}  # fmt: skip
