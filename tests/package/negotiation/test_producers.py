# SPDX-License-Identifier: Apache-2.0
"""The table of producers: each row says why it is there, and both importers read it."""

import numpy as np
import pytest

import sycl_ext as sx
from sycl_ext._negotiation.producers import PRODUCERS, inherits_trait

TRAITS = ("immutable", "inverted_readonly", "withheld", "waits_in_description")


@pytest.mark.parametrize("row", PRODUCERS, ids=lambda row: row.package)
def test_producer_row_has_a_reason_and_a_version(row):
    assert any(getattr(row, trait) for trait in TRAITS)
    assert row.reason[0].isdigit(), "the version that it was seen with"


@pytest.mark.parametrize(
    ("module", "is_known"),
    [("jax", True), ("jaxlib._jax", True), ("jaxtyping", False), (None, False), ("my.jax", False)],
)
def test_packages_are_whole_names(module, is_known):
    assert inherits_trait(type("Array", (), {"__module__": module}), "immutable") is is_known


@pytest.mark.parametrize("arguments", [{}, {"device": None, "copy": False}])
@pytest.mark.parametrize(
    ("module", "readonly"), [("jax.numpy", True), ("jaxlib", True), ("jaxtyping", False)]
)
def test_memory_of_immutable_arrays_is_read_only(module, readonly, arguments):
    """By the core (no arguments) and by Python, whatever the capsule says."""
    memory = sx.zeros(3, usm_type="shared")

    class Array:
        __module__ = module

        def __dlpack_device__(self):
            return memory.__dlpack_device__()

        def __dlpack__(self, **keywords):
            keywords.pop("max_version")
            return memory.__dlpack__(**keywords)

    assert sx.from_dlpack(Array(), **arguments).readonly is readonly
    assert np.asarray(memory).flags.writeable


def test_refusal_ends_with_the_advice_for_its_library():
    class Array:
        __module__ = "pyarrow.lib"

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise TypeError("Can only use DLPack on arrays with no nulls.")

    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        with pytest.raises(sx.ExchangeError, match=r"no nulls.*; pass numpy.asarray\(x\)"):
            take(Array())


def test_refusal_without_a_message_is_quoted_by_its_class():
    class Array:
        __module__ = "pyarrow.lib"

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise NotImplementedError

    with pytest.raises(sx.ExchangeError, match=r" refused: NotImplementedError; pass numpy"):
        sx.from_dlpack(Array())


class OnAnotherGpu:
    """A producer whose answer is wrong; it refuses nothing."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **keywords):
        return 5


def test_what_this_package_finds_wrong_is_not_said_by_the_producer():
    torch = pytest.importorskip("torch")
    for x, words in (
        (OnAnotherGpu(), r"the OnAnotherGpu on device \(2, 0\): __dlpack__ returned"),
        (
            torch.tensor([1j]).conj().imag,
            r"the torch\.Tensor on .*: it has the negative",
        ),
    ):
        for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
            with pytest.raises(sx.ExchangeError, match=words) as refused:
                take(x)
            assert "refused" not in str(refused.value)
            assert isinstance(refused.value.__cause__, BufferError)


@pytest.mark.parametrize("dtype", ["string", "resource", "variant"])
@pytest.mark.parametrize(
    "take",
    [
        sx.from_dlpack,
        sx.as_tensor,
        sx.host_view,
        lambda x: sx.from_dlpack(x, device="cpu", copy=True),
        lambda x: sx.as_tensor(x, device=["cpu", 0]),
        lambda x: sx.zeros(1).copy_from(x),
        lambda x: sx.exchange(x, np),
        lambda x: sx.explain(x, np).check(),
        lambda x: sx.explain(x).check(),
        lambda x: sx.exchange(x, "cpu"),
    ],
)
def test_tensorflow_dtype_that_ends_the_process_is_not_exported(dtype, take):
    """TensorFlow 2.21 ends the process in ``__dlpack__`` for these dtypes."""

    class EagerTensor:
        __module__ = "tensorflow.python.framework.ops"
        dtype = type("DType", (), {})()

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            pytest.exit("the process would have ended")

    class Subclass(EagerTensor):
        __module__ = "__main__"

    EagerTensor.dtype.name = dtype
    for cls in (EagerTensor, Subclass):
        with pytest.raises(BufferError, match=f"dtype is {dtype}.*decode_raw"):
            take(cls())
