# SPDX-License-Identifier: Apache-2.0
"""The element types: how they are named, and which are refused."""

import re

import ml_dtypes
import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import DTYPES
from samples import DTYPE_NAMES, NUMPY_DTYPES, numpy_dtype
from sycl_ext import _core


def test_dtype_table_is_complete():
    assert {name: (code, size * 8) for name, _, size, code in _core.DTYPES} == DTYPES


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_dtype_is_named_by_string_instance_or_type(name):
    wanted = numpy_dtype(name)
    for spec in (name, wanted, wanted.type):
        tensor = sx.empty(3, spec)
        assert tensor.dtype == wanted
        assert isinstance(tensor.dtype, np.dtype)
        assert (tensor.itemsize, tensor.nbytes) == (wanted.itemsize, 3 * wanted.itemsize)


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_typestr(name):
    assert sx.empty((), numpy_dtype(name).str).dtype == numpy_dtype(name)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        ("longlong", "int64"),
        ("ulonglong", "uint64"),
        (np.intp, "int64"),
        (ml_dtypes.bfloat16, "bfloat16"),
    ],
)
def test_dtype_aliases_give_the_same_type(spec, name):
    assert sx.empty((), spec).dtype == numpy_dtype(name)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        (">f4", "byte order"),
        (np.dtype("int32").newbyteorder(), "byte order"),
        ("U3", "str"),
        ("S3", "bytes"),
        (object, "object"),
        ("datetime64[s]", "datetime64"),
        ([("x", "f4")], "void"),
        ("V4", "void"),
        (ml_dtypes.int4, "int4"),
        (np.dtype([("x", "f4"), ("y", "M8[s]")]), "records have no DLPack type"),
    ],
)
def test_refused(spec, word):
    with pytest.raises(ValueError, match=word):
        sx.empty(3, spec)


@pytest.mark.parametrize(
    ("array", "family"),
    [
        (np.array(["2026-01-01"], "M8[D]"), "times"),
        (np.ones(2, "m8[s]"), "times"),
        (np.array(["a", "bc"]), "strings"),
        (np.array([b"a", b"bc"]), "strings"),
        (np.ones(2, "i4, f4"), "records"),
        (np.ones(2, ">i4, >f4"), "records"),
        (np.ones(2, "V4"), "raw bytes"),
        (np.ones(2, "longdouble"), "long double"),
        (np.ones(2, "clongdouble"), "long double"),
        (np.ones(2, ml_dtypes.int4), "its elements are smaller than a byte"),
        (np.ones(2, ml_dtypes.uint2), "its elements are smaller than a byte"),
        (np.ones(2, ml_dtypes.float4_e2m1fn), "its elements are smaller than a byte"),
        *([(np.array(["a"], "T"), "strings")] if "T" in np.typecodes["All"] else []),
    ],
)
def test_refused_dtype_error_names_an_array_that_is_taken(array, family):
    with pytest.raises(BufferError, match=rf"\([\w ]*{family}") as caught:
        sx.as_tensor(array)
    codes = re.search(r"pass (?:each of its fields: )?(.*)", str(caught.value))[1]
    for code in codes.split(", or its bytes, "):
        for x in (array, array[:1].reshape(()), array[::-1]):
            assert sx.as_tensor(eval(code, {"x": x, "numpy": np})).size


@pytest.mark.parametrize(
    ("spec", "instead"),
    [
        (ml_dtypes.float4_e2m1fn, "float32"),
        (ml_dtypes.float6_e3m2fn, "float32"),
        (ml_dtypes.int2, "int8"),
        ("uint4", "uint8"),
        ("torch.float4_e2m1fn_x2", "float32"),
        ("torch.int4", "int8"),
    ],
)
def test_sub_byte_dtype_argument_names_its_bytes(spec, instead):
    if isinstance(spec, str) and spec.startswith("torch."):
        spec = getattr(pytest.importorskip("torch"), spec.removeprefix("torch."))
    with pytest.raises(ValueError, match="its elements are smaller than a byte") as caught:
        sx.empty(3, spec)
    names = re.findall(r"'(\w+)'", str(caught.value))
    assert names == list(dict.fromkeys([instead, "uint8"]))
    assert [sx.empty(3, name).dtype_name for name in names] == names


def test_sub_byte_tensor_travels_as_its_bytes():
    """There and back, by the call that the error names."""
    torch = pytest.importorskip("torch")
    x = torch.arange(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    with pytest.raises(BufferError, match=r"pass its bytes, such as tensor\.view\(torch\.uint8\)"):
        sx.as_tensor(x)
    tensor = sx.as_tensor(x.view(torch.uint8)).copy()
    back = sx.exchange(tensor, torch).view(x.dtype)
    assert back.dtype == x.dtype
    assert back.view(torch.uint8).tolist() == [0, 1, 2, 3]


def test_sub_byte_dtype_error_names_its_bytes():
    array = np.arange(4).astype(ml_dtypes.int4)
    with pytest.raises(BufferError, match=r"or its bytes, numpy.asarray\(x\).view\('uint8'\)"):
        sx.exchange(array, np)
    assert sx.as_tensor(array.view("uint8")).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("spec", ["longdouble", "clongdouble"])
def test_long_double_is_refused(spec):
    with pytest.raises(ValueError, match="long double"):
        sx.empty(3, spec)


@pytest.mark.parametrize("spec", ["flaot32", 3, "float32 float32", b"\xff"])
def test_names_no_dtype(spec):
    with pytest.raises(TypeError, match="dtype"):
        sx.empty(3, spec)


def test_without_ml_dtypes():
    """bfloat16 is allocated, viewed and exchanged; only its NumPy dtype cannot be had."""
    environments.python("""
import sys
sys.modules["ml_dtypes"] = None
import pytest
import sycl_ext as sx

tensor = sx.zeros((2, 3), "bfloat16")
again = sx.from_dlpack(tensor.T.__dlpack__(max_version=(1, 0)))
assert again.shape == (3, 2) and again.itemsize == 2 and "bfloat16" in repr(again)
with pytest.raises(TypeError, match="ml_dtypes"):
    tensor.dtype
with pytest.raises(TypeError, match="ml_dtypes"):
    tensor.to_numpy()
with pytest.raises(TypeError, match="dtype"):
    sx.empty(3, "bfloat17")
""")
