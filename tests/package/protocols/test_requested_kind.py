# SPDX-License-Identifier: Apache-2.0
"""``usm_type=`` of `as_tensor`, `to_device` and `exchange`: the kind of USM of the result."""

import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from sycl_ext.memory import statistics

KINDS = ("device", "shared", "host")
VALUES = np.arange(6, dtype="float32").reshape(2, 3)
SOURCES = {
    "NumPy": lambda: VALUES.copy(),
    "buffer": lambda: memoryview(bytearray(VALUES.tobytes())),
    "dpnp": lambda: dpnp.asarray(VALUES, usm_type="shared"),
    "tensor": lambda: sx.as_tensor(VALUES).copy(usm_type="shared"),
    "slice": lambda: sx.as_tensor(VALUES).copy(usm_type="shared")[::-1, 1:],
    "host view": lambda: sx.host_view(sx.as_tensor(VALUES).copy(usm_type="shared")),
    "no elements": lambda: sx.empty((0, 3), usm_type="shared"),
    "part": lambda: sx.empty(3, device=sx.device(0).create_sub_devices(1)[0], usm_type="shared"),
}
ON_SHARED = [name for name in SOURCES if name not in ("NumPy", "buffer")]
DEVICES = {"no device": None, "device": 0, "list": [0], "queue": "queue"}


def device_of(name):
    return sx.device().sycl_queue if DEVICES[name] == "queue" else DEVICES[name]


@needs("device_copies")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
def test_result_is_of_the_requested_kind(source, kind, device):
    x = SOURCES[source]()
    expected = sx.as_tensor(x).to_numpy()
    tensor = sx.as_tensor(x, device=device_of(device), usm_type=kind)
    assert tensor.usm_type == kind
    assert tensor.to_numpy().tobytes() == expected.tobytes()
    assert not tensor.readonly


@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("source", ON_SHARED)
def test_memory_of_that_kind_is_a_view(source, copy):
    x = SOURCES[source]()
    view = sx.as_tensor(x)
    assert sx.as_tensor(x, usm_type="shared", copy=copy).ptr == view.ptr
    assert view.to_device(view.device, usm_type="shared", copy=copy).ptr == view.ptr


@pytest.mark.parametrize("device", ["no device", "device", "list"])
@pytest.mark.parametrize("source", SOURCES)
def test_another_kind_is_refused_without_a_copy(source, device):
    x = SOURCES[source]()
    with pytest.raises(sx.CopyRefusedError, match=r"pass copy=None|copy"):
        sx.as_tensor(x, device=device_of(device), usm_type="host", copy=False)


def test_host_array_is_copied_once():
    """Not to device USM first.  A GPU may fetch it through blocks of host USM."""

    def allocations():
        all_kinds = statistics().items()
        return {where: use.total_allocations for where, use in all_kinds if where[1] != "host"}

    array = np.zeros(5_000_001, "uint8")  # no block of this size is kept for the next allocation
    before = allocations()
    tensor = sx.as_tensor(array, usm_type="shared")
    where = (tensor.device, "shared")
    assert allocations() == {**before, where: before.get(where, 0) + 1}
    assert tensor.size == array.size


@needs("device_copies")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copy", [None, True])
def test_to_device_returns_the_requested_kind(kind, copy):
    tensor = sx.as_tensor(VALUES).copy(usm_type="shared")
    moved = tensor.to_device(sx.device(), usm_type=kind, copy=copy)
    assert (moved.usm_type, moved.device) == (kind, sx.device())
    assert (moved.ptr == tensor.ptr) == (kind == "shared" and copy is None)
    assert moved.to_numpy().tobytes() == VALUES.tobytes()


def test_producer_that_refuses_a_view_is_copied_into_that_kind():
    """It may copy to the host; a second copy needs copy=True, as to a device."""

    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, dl_device=None, **keywords):
            if dl_device != (1, 0):
                raise BufferError("only copies to the host")
            return VALUES.copy().__dlpack__(**{**keywords, "copy": None})

    with pytest.raises(BufferError, match="copy=True"):
        sx.as_tensor(Elsewhere(), usm_type="shared")
    tensor = sx.as_tensor(Elsewhere(), usm_type="shared", copy=True)
    assert tensor.usm_type == "shared"
    assert tensor.to_numpy().tobytes() == VALUES.tobytes()


@needs("device_copies")
@pytest.mark.parametrize("device", [0, [0], "queue"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
def test_exchange_to_a_device_returns_the_requested_kind(source, kind, device):
    x = SOURCES[source]()
    where = sx.device().sycl_queue if device == "queue" else device
    plan = sx.explain(x, where, usm_type=kind)
    tensor = sx.exchange(x, where, usm_type=kind)
    assert tensor.usm_type == kind
    assert tensor.to_numpy().tobytes() == sx.as_tensor(x).to_numpy().tobytes()
    if tensor.size and source != "NumPy" and source != "buffer":
        assert (tensor.ptr == sx.as_tensor(x).ptr) == (plan.copies == 0)
    elif tensor.size:
        assert plan.copies == 1


def test_exchange_of_each_kind_is_kept_apart():
    """The core keeps decisions for a consumer, and the kind is a part of the question."""
    tensor, default = sx.as_tensor(VALUES).copy(usm_type="shared"), sx.device()
    for _ in range(3):
        kinds = [sx.exchange(tensor, default, usm_type=kind).usm_type for kind in (None, *KINDS)]
        assert kinds == ["shared", *KINDS]
        assert sx.explain(tensor, default, usm_type="host").copies == 1
        assert sx.explain(tensor, default).copies == 0


def test_exchange_without_a_copy_refuses_another_kind():
    tensor, default = sx.as_tensor(VALUES).copy(usm_type="shared"), sx.device()
    assert sx.exchange(tensor, default, usm_type="shared", copy=False).ptr == tensor.ptr
    plan = sx.explain(tensor, default, usm_type="host", copy=False)
    with pytest.raises(sx.CopyRefusedError) as refused:
        sx.exchange(tensor, default, usm_type="host", copy=False)
    assert (plan.error, plan.reason) == (sx.CopyRefusedError, str(refused.value))


@pytest.mark.parametrize(
    ("consumer", "error", "says"),
    [
        (
            np,
            TypeError,
            r"is supported only if the consumer is a device, not numpy; pass as_tensor\(x, usm",
        ),
        (list, TypeError, "is supported only if the consumer is a device"),
        ((1, 0), ValueError, "the host, which has no USM"),
        ([0, (1, 0)], ValueError, "the host, which has no USM"),
    ],
)
def test_consumer_without_usm_refuses_a_kind(consumer, error, says):
    for call in (sx.exchange, sx.explain):
        with pytest.raises(error, match=says):
            call(sx.zeros(3), consumer, usm_type="shared")
    tensor = sx.as_tensor(sx.zeros(3), usm_type="shared")
    assert sx.exchange(tensor, np).shape == (3,)


@pytest.mark.parametrize("wrong", ["system", "managed", "", 1, ["host"]])
def test_kind_that_nobody_allocates_is_refused(wrong):
    error = ValueError if isinstance(wrong, str) else TypeError
    tensor = sx.zeros(2)
    for call in (
        lambda: sx.as_tensor(tensor, usm_type=wrong),
        lambda: tensor.to_device(0, usm_type=wrong),
        lambda: sx.exchange(tensor, 0, usm_type=wrong),
        lambda: sx.explain(tensor, np, usm_type=wrong),
    ):
        with pytest.raises(error, match="'device', 'shared' or 'host'"):
            call()
