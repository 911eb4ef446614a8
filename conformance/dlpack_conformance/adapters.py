# SPDX-License-Identifier: Apache-2.0
"""The adapters that come with the kit: functions that import their library when they are called."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dlpack_conformance.adapter import Adapter
from dlpack_conformance.bench import NotOfferedError

__all__ = ["ADAPTERS", "find"]


class Capsules:
    """A producer for a library whose arrays have no ``__dlpack__``."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the host."""
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        """Return a capsule; there is no library to ask what the keywords mean."""
        if keywords:
            raise NotOfferedError("has no __dlpack__")
        return self._make()


def numpy() -> Adapter:
    """``numpy.ndarray``."""

    def readonly(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = values.copy()
        array.flags.writeable = False
        return array

    def index(array: Any, key: Any) -> Any:
        return array[(*key, ...) if isinstance(key, tuple) else key]  # never a scalar

    return Adapter(
        "numpy", np.array, np.from_dlpack, readonly=readonly, index=index, modules=("numpy",)
    )


def array_api_strict() -> Adapter:
    """The strict implementation of the array API standard, over NumPy."""
    xp: Any = import_module("array_api_strict")
    return Adapter(
        "array-api-strict",
        lambda values: xp.asarray(values, copy=True),
        xp.from_dlpack,
        host=np.from_dlpack,
        modules=("array_api_strict",),
    )


def torch() -> Adapter:
    """``torch.Tensor``; on an accelerator when there is one."""
    xp: Any = import_module("torch")
    accelerator: Any = getattr(xp, "accelerator", None)
    has = accelerator is not None and accelerator.is_available()
    device = str(accelerator.current_accelerator()) if has else "cpu"
    return Adapter(
        "torch",
        lambda values: xp.from_numpy(values.copy()).to(device),
        xp.from_dlpack,
        host=lambda tensor: tensor.cpu().numpy(),
        modules=("torch",),
    )


def jax() -> Adapter:
    """``jax.Array``, with 64 bits."""
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    library: Any = import_module("jax")
    xp: Any = import_module("jax.numpy")

    def pending() -> tuple[Any, np.ndarray[Any, Any]]:
        ones = xp.ones((200, 200), "float32")
        for _ in range(20):
            ones = ones @ ones / 200
        return ones, np.ones((200, 200), "float32")

    return Adapter(
        "jax",
        xp.asarray,
        library.dlpack.from_dlpack,
        readonly=xp.asarray,  # its arrays are immutable
        pending=pending,
        modules=("jax",),
    )


def tensorflow() -> Adapter:
    """``tf.Tensor``, through ``tf.experimental.dlpack``."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    xp: Any = import_module("tensorflow")
    dlpack = xp.experimental.dlpack
    return Adapter(
        "tensorflow-cpu",
        xp.constant,
        lambda x: dlpack.from_dlpack(x.__dlpack__()),
        host=lambda tensor: tensor.numpy(),
        producer=lambda tensor: Capsules(lambda: dlpack.to_dlpack(tensor)),
        modules=("tensorflow",),
    )


def onnxruntime() -> Adapter:
    """``OrtValue``, as its C extension has it."""
    library: Any = import_module("onnxruntime").OrtValue
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")

    def make(values: np.ndarray[Any, Any]) -> Any:
        value = library.ortvalue_from_shape_and_type(values.shape, values.dtype)  # its own memory
        value.update_inplace(values)
        return value._ortvalue

    return Adapter(
        "onnxruntime",
        make,
        lambda x: state.OrtValue.from_dlpack(x.__dlpack__()),
        host=lambda value: value.numpy(),
        index=None,
        modules=("onnxruntime",),
    )


def pyarrow() -> Adapter:
    """``pyarrow.Tensor``."""
    library: Any = import_module("pyarrow")
    return Adapter(
        "pyarrow",
        lambda values: library.Tensor.from_numpy(values.copy()),
        library.Tensor.from_dlpack,
        host=lambda tensor: tensor.to_numpy(),
        index=None,
        modules=("pyarrow",),
    )


def mlx() -> Adapter:
    """``mlx.core.array``."""
    xp: Any = import_module("mlx.core")

    def pending() -> tuple[Any, np.ndarray[Any, Any]]:
        ones = xp.ones((100, 100))
        for _ in range(20):
            ones = ones @ ones / 100
        xp.async_eval(ones)
        return ones, np.ones((100, 100), "float32")

    return Adapter("mlx", xp.array, xp.from_dlpack, host=np.array, pending=pending)


def tvm_ffi() -> Adapter:
    """``tvm_ffi.Tensor``."""
    library: Any = import_module("tvm_ffi")
    return Adapter(
        "apache-tvm-ffi",
        lambda values: library.from_dlpack(values.copy()),
        library.from_dlpack,
        host=np.from_dlpack,
        index=None,
        modules=("tvm_ffi",),
    )


def onedal() -> Adapter:
    """Tables of scikit-learn-intelex."""
    library: Any = import_module("onedal.datatypes")
    return Adapter(
        "scikit-learn-intelex",
        take=library.to_table,
        host=library.from_table,
        modules=("onedal",),
    )


def nanobind() -> Adapter:
    """Functions of a C++ extension, which is compiled when it is used first."""
    from dlpack_conformance.nanobind_module import load

    module: Any = load()
    return Adapter(
        "nanobind",
        module.make,
        module.take,
        host=lambda taken: (
            taken.host() if isinstance(taken, module.Taken) else np.from_dlpack(taken)
        ),
        readonly=module.make_readonly,
        index=None,
        write=lambda taken, value: taken.fill(value),
    )


def dpnp() -> Adapter:
    """``dpnp.ndarray``, on dpctl's default device."""
    import_module("sycl_ext")  # for the embedded CPU device of pip
    xp: Any = import_module("dpnp")

    def host(array: Any) -> Any:
        return array if isinstance(array, np.ndarray) else xp.asnumpy(array)

    def readonly(values: np.ndarray[Any, Any]) -> Any:
        array = xp.asarray(values)
        array.flags.writable = False
        return array

    return Adapter(
        "dpnp",
        lambda values: xp.asarray(values, copy=True),
        xp.from_dlpack,
        host=host,
        readonly=readonly,
        pending=lambda: _pending_of_dpnp(xp),
        on_queue=lambda values, queue: xp.asarray(values, copy=True, sycl_queue=queue),
        modules=("dpnp",),
    )


def _pending_of_dpnp(xp: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return the sum of many numbers, in memory that the host reaches."""
    count, steps = 1_000_000, 10
    zeros = xp.zeros(count, dtype="int64", usm_type="shared")
    array = xp.zeros(count, dtype="int64", usm_type="shared")
    for step in range(1, steps + 1):
        xp.add(zeros, step, out=array)
    return array, np.full(count, steps)


@functools.cache  # memory must not be freed while commands use it
def _sources() -> tuple[Any, Any, Any]:
    """Return a queue, and device memory of zeros and of ones."""
    dpctl: Any = import_module("dpctl")
    memory: Any = import_module("dpctl.memory")
    queue = dpctl.SyclQueue(property="in_order")
    zeros, ones = (memory.MemoryUSMDevice(8 << 20, queue=queue) for _ in range(2))
    zeros.copy_from_host(np.zeros(zeros.nbytes, "uint8"))
    ones.copy_from_host(np.ones(ones.nbytes, "uint8"))
    return queue, zeros, ones


def _pending_copies() -> tuple[Any, np.ndarray[Any, Any]]:
    """Return memory to which a device copies zeros, many times, and then ones."""
    queue, zeros, ones = _sources()
    memory: Any = import_module("dpctl.memory")
    found = memory.MemoryUSMShared(ones.nbytes, queue=queue)
    for source in [zeros] * 20 + [ones]:
        queue.memcpy_async(found, source, ones.nbytes)
    return found, np.ones(ones.nbytes, "uint8")


def sycl_ext() -> Adapter:
    """``sycl_ext.Tensor``."""
    sx: Any = import_module("sycl_ext")

    def make(values: np.ndarray[Any, Any], **where: Any) -> Any:
        return sx.empty(values.shape, values.dtype, **where).copy_from(values)

    def write(tensor: Any, value: Any) -> None:
        tensor.copy_from(np.full(tensor.shape, value, tensor.dtype))

    def pending() -> Any:  # not dpnp's: where no kernel runs, it frees memory under a command
        memory, wanted = _pending_copies()
        return sx.as_tensor(memory), wanted

    return Adapter(
        "sycl_ext",
        make,
        sx.from_dlpack,
        host=lambda tensor: tensor.to_numpy(),
        write=write,
        readonly=lambda values: make(values).as_readonly(),
        pending=pending,
        on_queue=lambda values, queue: make(values, device=queue),
        modules=("sycl_ext",),
    )


#: name for ``--dlpack`` -> the function that makes the adapter
ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "numpy": numpy,
    "array_api_strict": array_api_strict,
    "torch": torch,
    "jax": jax,
    "tensorflow": tensorflow,
    "onnxruntime": onnxruntime,
    "pyarrow": pyarrow,
    "mlx": mlx,
    "tvm_ffi": tvm_ffi,
    "onedal": onedal,
    "nanobind": nanobind,
    "dpnp": dpnp,
    "sycl_ext": sycl_ext,
}


def find(name: str) -> Adapter:
    """Return the adapter of a name, or what a text like ``package.module:attribute`` names.

    Raises
    ------
    ValueError
        When there is no such adapter.
    TypeError
        When what is named is none.
    """
    if name in ADAPTERS:
        return ADAPTERS[name]()
    module, colon, attribute = name.partition(":")
    if not colon:
        known = ", ".join(ADAPTERS)
        raise ValueError(f"no adapter {name!r}; there are {known}, and package.module:attribute")
    found: Any = getattr(import_module(module), attribute)
    made = found() if callable(found) else found
    if not isinstance(made, Adapter):
        raise TypeError(f"{name} is {made!r:.60}, and not a dlpack_conformance.Adapter")
    return made
