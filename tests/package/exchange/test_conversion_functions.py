# SPDX-License-Identifier: Apache-2.0
"""Functions of libraries as consumers: each is right, or refused with the call that works.

Those of libraries that are not in this environment: ``interop/test_library_functions.py``.
"""

import functools
import sys

import dpnp
import numpy as np
import pandas
import pytest
import torch

import conversions
import sycl_ext as sx
from needs import needs
from sycl_ext._negotiation.consumers import OF_NUMPY

INT64 = np.arange(24).reshape(4, 6)


def usm():
    return sx.empty((4, 6), "int64", usm_type="shared").copy_from(INT64)


@needs("device_copies")
@needs(
    "kernels",
    "dpnp.tensor:from_numpy",
    "dpnp:array",
    "dpnp:ascontiguousarray",
    "dpnp:asfortranarray",
    "dpnp:copy",
)
@pytest.mark.parametrize("name", conversions.EVERYDAY)
def test_conversion_function_is_right_or_refused(name):
    conversions.check(name)


@pytest.mark.parametrize(
    "x", [usm, lambda: INT64, lambda: torch.arange(24).reshape(4, 6), lambda: sx.host_view(INT64)]
)
def test_torch_asarray_keeps_dtype_and_shape(x):
    result = sx.exchange(x(), torch.asarray)
    assert (result.dtype, result.tolist()) == (torch.int64, INT64.tolist())


def test_partial_function_is_given_what_its_function_takes():
    result = sx.exchange(usm(), functools.partial(torch.asarray, dtype=torch.float64))
    assert (result.dtype, result.tolist()) == (torch.float64, INT64.tolist())


@needs("device_copies")
@needs("kernels", "dpnp copies")
@pytest.mark.parametrize(
    "function",
    [
        functools.partial(np.array, copy=None),
        functools.partial(functools.partial(np.array, copy=True), copy=False),
        functools.partial(np.asarray, copy=True),
        functools.partial(np.from_dlpack, copy=None),
        functools.partial(np.asarray, order="F"),
        functools.partial(np.array, copy=None, dtype="i8"),
        functools.partial(np.asarray, dtype=np.dtypes.Int64DType),
        functools.partial(torch.asarray, copy=True),
        functools.partial(dpnp.array, copy=None),
        pytest.param(functools.partial(dpnp.asarray, copy=True), id="dpnp copies"),
        functools.partial(pandas.DataFrame, copy=False),
    ],
)
def test_partial_function_gets_a_view_or_the_copy_that_was_requested(function):
    """Its arguments are its own: `numpy.array` with ``copy=None`` gave the memory for a copy."""
    for x in (usm(), INT64.copy()):
        for copy in (None, True, False):
            if sx.explain(x, function, copy=copy).error is not None:
                assert copy is False
                continue
            result = sx.exchange(x, function, copy=copy)
            assert conversions.values(result).tolist() == INT64.tolist()
            if copy:
                assert conversions.address(result) != conversions.address(x)


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (np.frombuffer, np.asarray),
        (torch.frombuffer, torch.asarray),
        (dpnp.frombuffer, dpnp.asarray),
    ],
)
def test_advice_of_a_function_that_loses_the_dtype_works(function, advice):
    named = sx.explain(usm(), function).reason.partition("; pass ")[2]
    module, _, name = named.rpartition(".")
    assert getattr(sys.modules[module], name) is advice
    assert conversions.values(sx.exchange(usm(), advice)).tolist() == INT64.tolist()


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (pandas.Series, lambda: usm()),
        (pandas.Series, lambda: usm()[0, 0]),
        (pandas.DataFrame, lambda: usm()[0]),
        (pandas.DataFrame, lambda: usm()[0, 0]),
        (pandas.DataFrame, lambda: usm().reshape((2, 3, 4))),
        (np.ascontiguousarray, lambda: usm()[0, 0]),
    ],
)
def test_advice_for_a_wrong_number_of_dimensions_works(function, x):
    tensor = x()
    with pytest.raises(BufferError, match="dimensions, but this one has") as caught:
        sx.exchange(tensor, function)
    reshaped = eval(str(caught.value).partition("; pass ")[2], {"x": tensor})
    assert conversions.values(sx.exchange(reshaped, function)).size == tensor.size


@pytest.mark.parametrize("name", ["pandas", pandas])
def test_library_without_from_dlpack_names_its_function(name):
    with pytest.raises(TypeError, match=r"pass one of its functions, such as pandas\.Series"):
        sx.exchange(usm(), name)


def test_library_name_means_its_module():
    for name in ("dpnp", "dpnp.tensor", "numpy", "torch", "tvm_ffi"):
        by_name = sx.exchange(usm(), name)
        by_module = sx.exchange(usm(), sys.modules[name])
        assert type(by_name) is type(by_module), name


@pytest.mark.parametrize(
    ("function", "route"), [(np.array, sx.Route.HOST_COPY), (dpnp.array, sx.Route.COPY)]
)
def test_copy_of_a_function_is_planned_where_its_library_has_memory(function, route):
    assert sx.explain(sx.zeros(3, "int64", usm_type="shared"), function).route is route


@pytest.mark.parametrize("function", [lambda x: x.__dlpack__(), type(sx.zeros(1)).__dlpack__])
def test_capsule_that_a_function_returns_is_still_unused(function):
    for copy in (None, False):
        capsule = sx.exchange(usm(), function, copy=copy)
        assert sx.from_dlpack(capsule).tolist() == INT64.tolist()


def test_dpnp_asarray_of_a_tensor_is_a_view():
    tensor = usm()
    for copy in (None, False):
        assert sx.as_tensor(sx.exchange(tensor, dpnp.asarray, copy=copy)).ptr == tensor.ptr


@needs("device_copies")
@needs("kernels", "DPNPUnaryFunc")
@pytest.mark.parametrize(
    "function",
    [np.sqrt, torch.sqrt, dpnp.sqrt, torch.nn.ReLU(), torch.Tensor.sqrt, torch.Tensor.numpy],
)
def test_function_of_a_library_is_given_its_array(function):
    """Every function, not only those that convert."""
    tensor = sx.zeros(3, usm_type="shared")
    assert conversions.values(sx.exchange(tensor, function)).tolist() == [0, 0, 0]


def of_library(package, function):
    """A function of a library that takes NumPy arrays, which need not be installed."""
    function.__module__ = package
    return function


@pytest.mark.parametrize("package", OF_NUMPY)
def test_numpy_array_of_a_reversed_tensor_is_a_view(package):
    reversed_ = usm()[::-1]
    for copy in (None, False):
        result = sx.exchange(reversed_, of_library(package, lambda array: array), copy=copy)
        assert result.ctypes.data == reversed_.ptr, copy
        assert result.tolist() == INT64[::-1].tolist()


@pytest.mark.parametrize("package", OF_NUMPY)
def test_error_of_a_function_that_has_its_array_is_passed_on(package):
    """It is about the numbers: the function is not called again with a copy of them."""
    calls = []

    def fit(array):
        calls.append(array)
        raise ValueError("the input has too few samples")

    with pytest.raises(ValueError, match="^the input has too few samples$"):
        sx.exchange(usm(), of_library(package, fit))
    assert [type(call) for call in calls] == [np.ndarray]


def test_callable_object_of_a_library_is_not_its_importing_function():
    """As an interpolation of SciPy: it has no name, and pandas has no importing function."""
    handed = []

    class Model:
        __module__ = "pandas.core.models"

        def __call__(self, x):
            handed.append(type(x))
            raise ValueError("of its own")

    for copy in (None, False):
        with pytest.raises(ValueError, match="^of its own$"):
            sx.exchange(usm(), Model(), copy=copy)
    assert handed == [np.ndarray, np.ndarray]


@needs("device_copies")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_function_that_a_program_has_put_in_place_is_called_for_every_dtype(dtype, monkeypatch):
    tensor = sx.zeros(4, dtype, usm_type="shared")
    monkeypatch.setattr(np, "from_dlpack", lambda x: "its own")
    assert sx.exchange(tensor, np) == "its own"


def test_arguments_of_a_partial_function_count_for_every_dtype():
    """NumPy's from_dlpack takes no bfloat16; in its place, asarray would return a view."""
    copied = functools.partial(np.from_dlpack, copy=True)
    tensor = sx.zeros(4, "float32", usm_type="shared")
    assert not np.shares_memory(sx.exchange(tensor, copied), sx.exchange(tensor, np))
    with pytest.raises(sx.ExchangeError, match="neither bfloat16"):
        sx.exchange(sx.zeros(4, "bfloat16", usm_type="shared"), copied)


@needs("device_copies")
def test_copy_for_a_function_of_dpnp_stays_in_its_context(private):
    tensor = sx.zeros(4, device=private)
    for copy in (None, True):
        array = sx.exchange(tensor, dpnp.asarray, copy=copy)
        assert array.sycl_context == private.sycl_context
