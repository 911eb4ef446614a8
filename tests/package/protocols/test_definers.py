# SPDX-License-Identifier: Apache-2.0
"""A shortcut past DLPack is chosen by the class that defines a protocol, and a refusal is final.

Each class here inherits memory that could be read at once: that of an array of NumPy, PyTorch,
dpnp or this package, or a description. It has DLPack methods of its own, which count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs

#: Every public way to take an array of another library.
VERBS: dict[str, Callable[[Any], Any]] = {
    "from_dlpack": sx.from_dlpack,
    "from_dlpack(device=0)": lambda x: sx.from_dlpack(x, device=0),
    "from_dlpack(device=[0])": lambda x: sx.from_dlpack(x, device=[0]),
    "from_dlpack(copy=True)": lambda x: sx.from_dlpack(x, copy=True),
    "as_tensor": sx.as_tensor,
    "as_tensor(copy=True)": lambda x: sx.as_tensor(x, copy=True),
    "as_tensor(device=0)": lambda x: sx.as_tensor(x, device=0),
    "host_view": sx.host_view,
    "host_view(copy=True)": lambda x: sx.host_view(x, copy=True),
    "copy_from": lambda x: sx.empty(3, "int32").copy_from(x),
    "exchange with NumPy": lambda x: sx.as_tensor(sx.exchange(x, np)),
    "exchange with a device": lambda x: sx.exchange(x, 0),
}


class RefusedError(BufferError):
    """The refusal of a producer."""


def refuse(self: object, **_: object) -> object:
    raise RefusedError("this class refuses")


def answer_reversed(self: object, **keywords: object) -> object:
    """Export other elements than those that the base class has."""
    return np.array([2, 1, 0], "int32").__dlpack__(**keywords)


def on_host(self: object) -> tuple[int, int]:
    return (1, 0)


def ndarray_of(methods: dict[str, Any]) -> Any:
    return np.arange(3, dtype="int32").view(type("Sub", (np.ndarray,), methods))


def recarray_of(methods: dict[str, Any]) -> Any:
    base = type("Sub", (np.recarray,), methods)
    return np.arange(3, dtype="int32").view(base)


def torch_of(methods: dict[str, Any]) -> Any:
    torch = pytest.importorskip("torch")
    cls = type("Sub", (torch.Tensor,), methods)
    return torch.arange(3, dtype=torch.int32).as_subclass(cls)


def dpnp_of(methods: dict[str, Any]) -> Any:
    dpnp = pytest.importorskip("dpnp")
    array = type("Sub", (dpnp.ndarray,), methods)((3,), dtype="int32")
    array[:] = dpnp.asarray(np.arange(3, dtype="int32"))
    return array


def tensor_of(methods: dict[str, Any]) -> Any:
    tensor = sx.zeros(3, "int32").copy_from(np.arange(3, dtype="int32"))
    tensor.__class__ = type("Sub", (sx.Tensor,), {"__slots__": (), **methods})
    return tensor


def host_view_of(methods: dict[str, Any]) -> Any:
    view = sx.host_view(np.arange(3, dtype="int32"))
    view.__class__ = type("Sub", (sx.HostView,), {"__slots__": (), **methods})
    return view


def described_of(methods: dict[str, Any]) -> Any:
    """A class with a description; its subclass adds DLPack."""

    class Described:
        tensor = sx.zeros(3, "int32")

        @property
        def __sycl_usm_array_interface__(self) -> Any:
            return self.tensor.__sycl_usm_array_interface__

    return type("Sub", (Described,), {"__dlpack_device__": on_host, **methods})()


def buffer_of(methods: dict[str, Any]) -> Any:
    return type("Sub", (bytearray,), {"__dlpack_device__": on_host, **methods})(12)


BASES = {
    "numpy": ndarray_of,
    "recarray": recarray_of,
    "torch": torch_of,
    "dpnp": dpnp_of,
    "Tensor": tensor_of,
    "HostView": host_view_of,
    "description": described_of,
    "buffer": buffer_of,
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("base", BASES)
def test_refusal_of_a_subclass_is_passed_on(base: str, verb: str) -> None:
    x = BASES[base]({"__dlpack__": refuse})
    with pytest.raises(sx.ExchangeError, match="this class refuses"):
        VERBS[verb](x)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("base", BASES)
def test_refused_device_of_a_subclass_is_passed_on(base: str, verb: str) -> None:
    methods = {"__dlpack__": answer_reversed, "__dlpack_device__": refuse}
    with pytest.raises(BufferError, match="this class refuses"):
        VERBS[verb](BASES[base](methods))


@needs("device_copies")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("base", BASES)
def test_export_of_a_subclass_is_the_one_that_counts(base: str, verb: str) -> None:
    x = BASES[base]({"__dlpack__": answer_reversed, "__dlpack_device__": on_host})
    result = VERBS[verb](x)
    assert np.asarray(sx.host_view(result)).tolist() == [2, 1, 0]


@pytest.mark.parametrize("verb", VERBS)
def test_refusal_of_an_instance_is_passed_on(verb: str) -> None:
    x = ndarray_of({})
    x.__dlpack__ = lambda **_: refuse(x)
    with pytest.raises(BufferError, match="this class refuses"):
        VERBS[verb](x)


@pytest.mark.parametrize("verb", VERBS)
def test_refusal_through_torch_function_is_passed_on(verb: str) -> None:
    torch = pytest.importorskip("torch")

    def intercept(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == "__dlpack__":
            raise RefusedError("this class refuses")
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    with pytest.raises(BufferError, match="this class refuses"):
        VERBS[verb](torch_of({"__torch_function__": classmethod(intercept)}))


def test_torch_function_that_refuses_everything_is_a_refusal() -> None:
    def intercept(cls: type, *_: Any) -> Any:
        raise RefusedError("this class refuses")

    with pytest.raises(sx.ExchangeError, match="this class refuses"):
        sx.as_tensor(torch_of({"__torch_function__": classmethod(intercept)}))


def test_parameter_of_torch_is_a_view_all_the_same() -> None:
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.arange(3.0), requires_grad=False)
    assert np.asarray(sx.host_view(parameter, copy=False)).ctypes.data == parameter.data_ptr()


@needs("device_copies")
def test_subclass_without_methods_is_read_as_its_base() -> None:
    for base in ("numpy", "recarray", "torch", "dpnp", "Tensor", "HostView"):
        x = BASES[base]({})
        seen = np.asarray(sx.host_view(x))
        assert seen.tolist() == [0, 1, 2], base


def test_description_of_a_subclass_comes_before_the_dlpack_of_its_base() -> None:
    other = sx.zeros(5, "int8")
    methods = {
        "__sycl_usm_array_interface__": property(lambda _: other.__sycl_usm_array_interface__)
    }
    assert sx.as_tensor(ndarray_of(methods)).ptr == other.ptr
    assert sx.as_tensor(dpnp_of(methods)).ptr == other.ptr


def test_inverted_flag_belongs_to_the_class_that_describes() -> None:
    memory = pytest.importorskip("dpctl.memory")

    class Described(memory.MemoryUSMShared):
        @property
        def __sycl_usm_array_interface__(self) -> Any:
            described = dict(super().__sycl_usm_array_interface__)
            described["data"] = (described["data"][0], True)  # read-only, as the protocol says
            return described

    assert sx.as_tensor(Described(4)).readonly
    assert not sx.as_tensor(memory.MemoryUSMShared(4)).readonly


def test_c_table_of_a_subclass_does_not_pass_its_dlpack_by() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    for base in (tensor_of, host_view_of):
        with pytest.raises(BufferError, match="refuses|overrides DLPack methods"):
            tvm_ffi.from_dlpack(base({"__dlpack__": refuse}))
