# SPDX-License-Identifier: Apache-2.0
"""Arrays without elements keep their kind of USM, and scalars have the rules of their dtype."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs

dpnp = pytest.importorskip("dpnp")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 5)])
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_empty_array_of_dpnp_keeps_its_kind(usm_type: str, shape: tuple[int, ...]) -> None:
    array = dpnp.empty(shape, dtype="int32", usm_type=usm_type)
    for take in (sx.as_tensor, sx.from_dlpack, sx.empty_like, sx.zeros_like):
        for x in (array, array.get_array()):
            assert take(x).usm_type == usm_type
            assert take(x).shape == shape
    for way in ({"device": 0}, {"copy": False}, {"copy": True}, {"device": [0]}):
        assert sx.as_tensor(array, **way).usm_type == usm_type
    assert sx.as_tensor(array[..., ::-1]).usm_type == usm_type


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_empty_tensor_keeps_its_kind_through_dpnp(usm_type: str) -> None:
    for library in (dpnp, dpnp.tensor):
        array = sx.exchange(sx.empty((0, 3), usm_type=usm_type), library)
        assert (array.usm_type, sx.as_tensor(array).usm_type) == (usm_type, usm_type)


def test_kind_that_a_producer_invents_is_not_believed() -> None:
    class Odd:
        def __init__(self, usm_type: object) -> None:
            self.usm_type, self.tensor = usm_type, sx.empty(0)

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> object:
            from producers import over

            return over(self.tensor, data=0).capsule()

    for usm_type in ("system", "unified", 3, None, ["shared"]):
        assert sx.as_tensor(Odd(usm_type)).usm_type == "device"
    assert sx.as_tensor(Odd("shared")).usm_type == "shared"


SCALARS = [
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "s"),
    np.longdouble(1),
    np.void(b"ab"),
    np.array((1, 2.0), "i4,f8")[()],
]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: str(scalar.dtype))
def test_scalar_is_refused_as_an_array_of_its_dtype_is(scalar: Any) -> None:
    for x in (scalar, np.asarray(scalar), np.asarray([scalar])):
        for take in (sx.as_tensor, sx.host_view, lambda x: sx.exchange(x, 0)):
            with pytest.raises(BufferError, match="is not supported"):
                take(x)


@pytest.mark.parametrize("scalar", SCALARS[:2], ids=lambda scalar: str(scalar.dtype))
def test_buffer_of_a_scalar_is_refused_as_well(scalar: Any) -> None:
    for x in (memoryview(scalar), memoryview(scalar).cast("B"), pickle.PickleBuffer(scalar)):
        with pytest.raises(BufferError, match="times have no DLPack type"):
            sx.as_tensor(x)


@needs("device_copies")
def test_scalar_of_an_exchanged_dtype_is_taken() -> None:
    assert sx.as_tensor(np.float32(3)).tolist() == 3
    assert sx.as_tensor(np.bool_(True)).tolist() is True
    assert sx.as_tensor(memoryview(np.uint16(258)).cast("B")).tolist() == [2, 1]
