# SPDX-License-Identifier: Apache-2.0
"""The consumers of the matrix: how each is called, and how a test sees what it made of an array.

A consumer is loaded in a process of its own: these libraries do not all get along.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The rows of the matrix, in its order.
ROWS: dict[str, Consumer] = {}


@dataclass(frozen=True)
class Consumer:
    """One row of the matrix.

    Attributes
    ----------
    distribution : str
        The library with the version of the row.
    call : str
        How the row is called, in words.
    load : callable
        Imports it; returns (what `exchange` is given, the function that takes an array).
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
        It always copies.
    takes_readonly : bool
        False: it refuses a view of read-only memory, since it cannot be told so.
    copies_readonly : bool
        It copies read-only memory, and nothing else.
    """

    distribution: str
    call: str
    load: Callable[[], tuple[Any, Callable[[Any], Any]]]
    address: Callable[[Any], int]
    values: Callable[[Any], np.ndarray]
    writable: Callable[[Any], bool]
    environment: str = ".venv-interop"
    takes_host: bool = True
    copies: bool = False
    takes_readonly: bool = True
    copies_readonly: bool = False

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.distribution).partition("+")[0]


def row(name: str, **fields: Any) -> None:
    ROWS[name] = Consumer(**fields)


def _of_numpy(module: str, function: str = "from_dlpack") -> dict[str, Any]:
    """The columns of every consumer that returns a ``numpy.ndarray``."""

    def load():
        consumer = importlib.import_module(module)
        return consumer, getattr(consumer, function)

    return {
        "load": load,
        "address": lambda array: array.ctypes.data,
        "values": np.asarray,
        "writable": lambda array: array.flags.writeable,
    }


def _address_by_dlpack(result):
    from dlpack_conformance import structs as dlpack_ctypes

    return dlpack_ctypes.managed_in(result.__dlpack__()).dl_tensor.data


# ---- NumPy and what wraps it ---------------------------------------------------------------------

row("numpy", distribution="numpy", call="numpy.from_dlpack(x)", **_of_numpy("numpy"))


def _load_numpy_cpu():
    def from_dlpack(x):
        return np.from_dlpack(x, device="cpu")

    return from_dlpack, from_dlpack


row(
    "numpy, device='cpu'",
    distribution="numpy",
    call='numpy.from_dlpack(x, device="cpu")',
    **{**_of_numpy("numpy"), "load": _load_numpy_cpu},
)
row(
    "numpy 1.26",
    distribution="numpy",
    call="numpy.from_dlpack(x)",
    environment=".venv-numpy1",
    takes_readonly=False,
    **_of_numpy("numpy"),
)
row(
    "array_api_strict",
    distribution="array-api-strict",
    call="array_api_strict.from_dlpack(x)",
    **{
        **_of_numpy("array_api_strict"),
        "address": lambda array: array._array.ctypes.data,
        "values": lambda array: array._array,
        "writable": lambda array: array._array.flags.writeable,
    },
)
row(
    "array_api_compat.numpy",
    distribution="array-api-compat",
    call="array_api_compat.numpy.from_dlpack(x)",
    **_of_numpy("array_api_compat.numpy"),
)


# ---- torch ---------------------------------------------------------------------------------------


def _of_torch(module: str) -> dict[str, Any]:
    def load():
        consumer = importlib.import_module(module)
        return consumer, consumer.from_dlpack

    return {
        "load": load,
        "address": lambda tensor: tensor.data_ptr(),
        "values": lambda tensor: tensor.numpy(),
        "writable": lambda tensor: True,
    }


row("torch", distribution="torch", call="torch.from_dlpack(x)", **_of_torch("torch"))
row(
    "array_api_compat.torch",
    distribution="array-api-compat",
    call="array_api_compat.torch.from_dlpack(x)",
    **_of_torch("array_api_compat.torch"),
)


# ---- the others of the host ----------------------------------------------------------------------


def _load_jax():
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    return jax, jax.dlpack.from_dlpack


row(
    "jax",
    distribution="jax",
    call="jax.dlpack.from_dlpack(x)",
    load=_load_jax,
    address=lambda array: array.unsafe_buffer_pointer(),
    values=np.asarray,
    writable=lambda array: False,  # arrays of jax are immutable
    takes_readonly=False,
)


def _load_tensorflow():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    return tensorflow, lambda x: tensorflow.experimental.dlpack.from_dlpack(x.__dlpack__())


def _address_of_tensorflow(tensor):
    import tensorflow

    from dlpack_conformance import structs as dlpack_ctypes

    capsule = tensorflow.experimental.dlpack.to_dlpack(tensor)
    return dlpack_ctypes.managed_in(capsule).dl_tensor.data


row(
    "tensorflow",
    distribution="tensorflow-cpu",
    call="tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
    load=_load_tensorflow,
    address=_address_of_tensorflow,
    values=lambda tensor: tensor.numpy(),
    writable=lambda tensor: False,
    takes_readonly=False,
)


def _load_onnxruntime():
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import OrtValue

    return onnxruntime, lambda x: OrtValue.from_dlpack(x.__dlpack__())


row(
    "onnxruntime",
    distribution="onnxruntime",
    call="OrtValue.from_dlpack(x.__dlpack__())",
    load=_load_onnxruntime,
    address=lambda value: value.data_ptr(),
    values=lambda value: value.numpy(),
    writable=lambda value: True,
    takes_readonly=False,
)


def _load_pyarrow():
    import pyarrow

    return pyarrow, pyarrow.Tensor.from_dlpack


row(
    "pyarrow",
    distribution="pyarrow",
    call="pyarrow.Tensor.from_dlpack(x)",
    load=_load_pyarrow,
    address=lambda tensor: tensor.to_numpy().ctypes.data,
    values=lambda tensor: tensor.to_numpy(),
    writable=lambda tensor: tensor.is_mutable,
)


def _load_mlx():
    import mlx.core

    return mlx.core, mlx.core.from_dlpack


row(
    "mlx",
    distribution="mlx",
    call="mlx.core.from_dlpack(x)",
    load=_load_mlx,
    address=_address_by_dlpack,
    values=lambda array: np.asarray(memoryview(array)),
    writable=lambda array: True,
    copies=True,
)


def _load_onedal():
    import onedal.datatypes

    return onedal, onedal.datatypes.to_table


def _from_onedal(table):
    from onedal.datatypes import from_table

    return from_table(table)


row(
    "onedal",
    distribution="scikit-learn-intelex",
    call="onedal.datatypes.to_table(x)",
    load=_load_onedal,
    address=lambda table: _from_onedal(table).ctypes.data,
    values=_from_onedal,
    writable=lambda table: _from_onedal(table).flags.writeable,
    copies=True,
    takes_readonly=False,
)


# ---- what takes NumPy arrays or buffers, and no DLPack -------------------------------------------


def _load_openvino():
    import sycl_ext as sx

    sx.devices()  # with OpenVINO's older libtbb.so.12 in the process, the CPU driver does not load
    import openvino

    def tensor(x):
        array = np.from_dlpack(x)
        return openvino.Tensor(array, shared_memory=array.flags.carray)

    return tensor, tensor


row(
    "openvino",
    distribution="openvino",
    call="openvino.Tensor(a, shared_memory=a.flags.carray), a = numpy.from_dlpack(x)",
    load=_load_openvino,
    address=lambda tensor: tensor.data.ctypes.data,
    values=lambda tensor: tensor.data,
    writable=lambda tensor: tensor.data.flags.writeable,
    copies_readonly=True,
)


def _arrow_array(x):
    import pyarrow

    return pyarrow.array(np.from_dlpack(x).ravel())  # Arrow has one dimension


row(
    "pyarrow.Array",
    distribution="pyarrow",
    call="pyarrow.array(numpy.from_dlpack(x).ravel())",
    load=lambda: (_arrow_array, _arrow_array),
    address=lambda array: array.buffers()[1].address,
    values=lambda array: array.to_numpy(),
    writable=lambda array: array.buffers()[1].is_mutable,
)


def _load_polars(form):
    def load():
        import polars

        def series(x):
            return polars.Series(form(x))

        return series, series

    return load


for _name, _form, _words in (
    ("polars", np.from_dlpack, "numpy.from_dlpack(x)"),
    ("polars, Arrow's capsule", _arrow_array, "the pyarrow.Array above"),
):
    row(
        _name,
        distribution="polars",
        call=f"polars.Series({_words})",
        load=_load_polars(_form),
        address=lambda series: series.to_numpy(allow_copy=False).ctypes.data,
        values=lambda series: series.to_numpy(),
        writable=lambda series: False,
    )


def _load_numba():
    import numba

    @numba.njit
    def unchanged(array):
        return array

    def call(x):
        return unchanged(np.from_dlpack(x))

    return call, call


row(
    "numba",
    distribution="numba",
    call="a function of numba.njit, with numpy.from_dlpack(x)",
    **{**_of_numpy("numpy"), "load": _load_numba},
)


def _load_scikit_learn():
    from sklearn.utils import check_array

    return check_array, check_array


row(
    "scikit-learn",
    distribution="scikit-learn",
    call="sklearn.utils.check_array(x), which estimators begin with",
    **{**_of_numpy("numpy"), "load": _load_scikit_learn},
)


def _load_xgboost():
    import xgboost

    return xgboost.DMatrix, xgboost.DMatrix


row(
    "xgboost",
    distribution="xgboost-cpu",
    call="xgboost.DMatrix(x)",
    load=_load_xgboost,
    address=lambda matrix: 0,  # its own form
    values=lambda matrix: matrix.get_data().toarray(),
    writable=lambda matrix: False,
    copies=True,
)


# ---- memory of any kind --------------------------------------------------------------------------


def _back(result):
    """A result that speaks DLPack, as a NumPy array: what its memory holds."""
    import sycl_ext as sx

    return sx.from_dlpack(result).to_numpy(copy=True)


def _load_tvm():
    import tvm_ffi

    return tvm_ffi, tvm_ffi.from_dlpack


row(
    "tvm_ffi",
    distribution="apache-tvm-ffi",
    call="tvm_ffi.from_dlpack(x)",
    load=_load_tvm,
    address=_address_by_dlpack,
    values=_back,
    writable=lambda tensor: True,
)


def _load_nanobind(function):
    def load():
        import nanobind_consumer

        taken = getattr(nanobind_consumer, function)
        return taken, taken

    return load


def _read(taken):
    """The elements that a function of the nanobind module was given, as it sees them."""
    address, shape, _, device_type = taken
    if device_type != 1:
        return None  # the module does not copy from devices
    flat = (ctypes.c_float * int(np.prod(shape))).from_address(address)
    return np.ctypeslib.as_array(flat).reshape(shape)


for _name, _function, _arguments in (
    ("nanobind", "take_any", "nb::ndarray<float>"),
    ("nanobind, nb::ro", "take_readonly", "nb::ndarray<float, nb::ro>"),
    ("nanobind, nb::device::cpu", "take_host", "nb::ndarray<float, nb::device::cpu>"),
):
    row(
        _name,
        distribution="nanobind",
        call=f"a function of a {_arguments}",
        load=_load_nanobind(_function),
        address=lambda taken: taken[0],
        values=_read,
        writable=lambda taken: taken[2],
        takes_readonly=_function == "take_readonly",
    )


def _load_mpi4py():
    from mpi4py import MPI

    return MPI.buffer, MPI.buffer


row(
    "mpi4py",
    distribution="mpi4py",
    call="MPI.buffer(x)",
    load=_load_mpi4py,
    address=lambda buffer: buffer.address,
    values=lambda buffer: None,  # it does not look into memory that is not the host's
    writable=lambda buffer: not buffer.readonly,
)


def _load_dpnp():
    import dpnp

    return dpnp, dpnp.from_dlpack


def _address_of_dpnp(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.get_array()._pointer


def _writable_in_dpnp(array):
    return array.flags.writeable if isinstance(array, np.ndarray) else array.flags.writable


row(
    "dpnp",
    distribution="dpnp",
    call="dpnp.from_dlpack(x)",
    load=_load_dpnp,
    address=_address_of_dpnp,
    values=lambda array: array if isinstance(array, np.ndarray) else array.asnumpy(),
    writable=_writable_in_dpnp,
)


def _load_dpctl():
    import dpctl.memory

    return dpctl.memory.as_usm_memory, dpctl.memory.as_usm_memory


row(
    "dpctl.memory",
    distribution="dpctl",
    call="dpctl.memory.as_usm_memory(x)",
    load=_load_dpctl,
    address=lambda memory: memory._pointer,
    values=lambda memory: memory.copy_to_host().view(np.float32),
    writable=lambda memory: True,
    takes_host=False,
)


# ---- no library ----------------------------------------------------------------------------------

row(
    "memoryview",
    distribution="sycl_ext",
    call="memoryview(x)",
    load=lambda: (memoryview, memoryview),
    address=lambda view: np.asarray(view).ctypes.data,
    values=np.asarray,
    writable=lambda view: not view.readonly,
)


def _load_sycl_ext():
    import sycl_ext as sx

    return sx, sx.from_dlpack


row(
    "sycl_ext",
    distribution="sycl_ext",
    call="sycl_ext.from_dlpack(x)",
    load=_load_sycl_ext,
    address=lambda tensor: tensor.ptr,
    values=lambda tensor: tensor.to_numpy(copy=True),
    writable=lambda tensor: not tensor.readonly,
)
