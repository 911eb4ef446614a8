# SPDX-License-Identifier: Apache-2.0
"""``device=[...]``: the first of several devices that takes no copy, else the cheapest."""

import dpctl
import dpnp
import numpy as np
import pytest
import torch

import sycl_ext as sx
from needs import needs
from sycl_ext._negotiation.rules import cheapest

VIEW, COPY = sx.Plan(sx.Route.VIEW, "there"), sx.Plan(sx.Route.COPY, "elsewhere")
TWO = sx.Plan(sx.Route.VIA_HOST, "far")
NO = sx.Plan(sx.Route.REFUSE, "cannot", BufferError)
NOT_NOW = sx.Plan(sx.Route.REFUSE, "not without a copy", sx.CopyRefusedError)


# ---- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ([VIEW], VIEW),
        ([COPY, VIEW], VIEW),
        ([NO, COPY, TWO], COPY),
        ([TWO, COPY], COPY),
        ([NO, TWO], TWO),
    ],
)
def test_cheapest_device_is_chosen(candidates, chosen):
    plan = cheapest(candidates)
    assert (plan.route, plan.reason) == (chosen.route, chosen.reason)
    assert plan.candidates == tuple(candidates)


def test_refusal_of_all_devices_tells_each_reason():
    refusal = cheapest([NO, NOT_NOW, NO])
    assert refusal.route is sx.Route.REFUSE
    assert refusal.error is sx.CopyRefusedError
    assert refusal.reason == "none of the 3 devices can be used: cannot; and not without a copy"
    with pytest.raises(sx.CopyRefusedError):
        refusal.check()
    assert cheapest([NO]).error is BufferError


# ---- imports -------------------------------------------------------------------------------------

PRODUCERS = {
    "tensor": lambda: sx.zeros(5, "int32"),
    "dpnp": lambda: dpnp.zeros(5, dtype="int32"),
    "host view": lambda: sx.host_view(sx.zeros(5, "int32", usm_type="shared")),
    "numpy": lambda: np.zeros(5, "int32"),
}


@needs("system_usm", "numpy-as_tensor", "numpy-from_dlpack")
@pytest.mark.parametrize("importer", [sx.from_dlpack, sx.as_tensor])
@pytest.mark.parametrize("name", PRODUCERS)
def test_device_of_the_memory_is_chosen(importer, name, private):
    """A view, wherever in the list the device is."""
    x, default = PRODUCERS[name](), sx.device()
    pointer = sx.as_tensor(x).ptr
    for devices in ([private, default], [default, private], [default.filter_string]):
        t = importer(x, device=devices)
        if name == "numpy":  # each of them reads host memory
            assert t.device is sx.device(devices[0])
        else:
            assert t.device is default
        assert t.ptr == pointer
        assert importer(x, device=devices, copy=False).ptr == pointer


def test_copy_goes_to_the_first_device(private):
    t = sx.zeros(5, "int32", device=private)
    assert sx.from_dlpack(t, device=[0, private], copy=True).device is sx.device(0)
    assert sx.from_dlpack(t, device=[private, 0], copy=True).device is private
    assert sx.from_dlpack(t, device=[0, "cpu"]).device is sx.device(0)
    with pytest.raises(sx.CopyRefusedError, match="none of the 2 devices can be used: copy=False"):
        sx.from_dlpack(t, device=[0, "cpu"], copy=False)


class UnreadableError(BufferError):
    """Made from two arguments, and its text cannot be read."""

    def __init__(self, first, two):
        super().__init__(first, two)

    def __str__(self):
        raise ValueError("no text")


def test_exception_of_another_library_is_the_cause(private):
    """Ours has its kind, and not its class, which may take other arguments than a text."""

    class Refusing:
        @property
        def __sycl_usm_array_interface__(self):
            raise UnreadableError(1, 2)

    with pytest.raises(
        BufferError, match="none of the 2 devices can be used: .its message"
    ) as caught:
        sx.as_tensor(Refusing(), device=[0, private])
    assert isinstance(caught.value.__cause__, UnreadableError)


@needs("copies_between_contexts")
def test_queue_in_the_list_is_that_of_the_copy(private):
    queue = dpctl.SyclQueue(property="in_order")
    t = sx.zeros(5, device=private)
    assert sx.as_tensor(t, device=[queue]).sycl_queue == queue


class Held:
    """A producer of host memory that gives nothing away."""

    asked = 0

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        self.asked += 1
        raise BufferError("it is held by somebody else")


@pytest.mark.parametrize("importer", [sx.from_dlpack, sx.as_tensor])
def test_without_a_copy_a_producer_that_refuses_is_asked_once(importer, private):
    """Another device of the list would change nothing, and the refusal is the producer's own."""
    x = Held()
    with pytest.raises(BufferError, match="it is held by somebody else") as caught:
        importer(x, device=[private, 0], copy=False)
    assert "devices will do" not in str(caught.value)
    assert x.asked == 1


class OnCuda:
    """A producer whose memory is out of reach, and that copies to the host when it is asked."""

    asked = ()

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked = (*self.asked, dl_device)
        if dl_device != (1, 0):
            raise BufferError("there is no way to that device")
        return np.arange(3, dtype="int32").__dlpack__(max_version=max_version)


def test_producer_on_cuda_is_copied_unless_refused(private):
    assert sx.from_dlpack(OnCuda(), device=[private, 0]).tolist() == [0, 1, 2]
    with pytest.raises(BufferError):
        sx.from_dlpack(OnCuda(), device=[private, 0], copy=False)


def test_bad_lists():
    for call in (sx.from_dlpack, sx.as_tensor, lambda x, device: sx.exchange(x, np, device=device)):
        with pytest.raises(ValueError, match="empty list"):
            call(sx.zeros(3), device=[])
        with pytest.raises(TypeError, match="device is of type float"):
            call(sx.zeros(3), device=[0, 1.5])
        with pytest.raises(ValueError, match="there is no device 999"):
            call(sx.zeros(3), device=[999, 0])
    for call in (sx.exchange, sx.explain):
        with pytest.raises(ValueError, match="empty list"):
            call(sx.zeros(3), [])
    with pytest.raises(TypeError, match="cannot be combined with a device as the consumer"):
        sx.exchange(sx.zeros(3), "cpu", device=0)
    with pytest.raises(ValueError, match="which is not a SYCL device"):
        sx.from_dlpack(sx.zeros(3), device=[(1, 0), 0])
    capsule = sx.zeros(3).__dlpack__()
    with pytest.raises(ValueError, match="there is no device 999"):
        sx.from_dlpack(capsule, device=[999])
    assert sx.from_dlpack(capsule).shape == (3,)  # it was not consumed


def test_devices_that_are_not_here_are_passed_over():
    """A program for machines with and without a GPU names both."""
    t = sx.zeros(3, usm_type="shared", device="cpu")
    assert sx.from_dlpack(t, device=["level_zero:gpu", "xpu", "cpu"]).ptr == t.ptr
    assert sx.exchange(t, ["hip", "cpu"]).ptr == t.ptr
    plan = sx.explain(t, dpnp, device=["cuda:gpu:7", "cpu"])
    assert [candidate.device for candidate in plan.candidates] == [(14, t.device.id)]
    for call in (sx.from_dlpack, lambda x, device: sx.exchange(x, device)):
        with pytest.raises(ValueError, match=r"'hip'\], but no root device matches"):
            call(t, device=["cuda:gpu", "hip"])
        with pytest.raises(ValueError, match="'fridge', but no root device matches"):
            call(t, device=["cpu", "fridge"])


# ---- exchange and explain ------------------------------------------------------------------------


def test_list_of_devices_is_a_consumer(private):
    t = sx.zeros(5, "int32", device=private)
    assert sx.exchange(t, [0, private]).device is private
    assert sx.exchange(t, [0]).device is sx.device(0)
    plan = sx.explain(t, [0, private])
    assert (plan.route, plan.device) == (sx.Route.VIEW, (14, private.id))
    assert [candidate.route for candidate in plan.candidates] == [sx.Route.COPY, sx.Route.VIEW]
    assert str(plan) == (
        f"a view of the same memory on (14, {private.id}): the memory is on that device "
        "already. Considered: (14, 0): one copy on the device, "
        f"(14, {private.id}): a view of the same memory"
    )


def test_library_takes_the_device_that_both_accept(private):
    t = sx.zeros(5, "int32", device=private)
    x = sx.exchange(t, dpnp, device=[private, 0])  # dpnp takes memory of root devices
    assert sx.as_tensor(x).device is sx.device(0)
    plan = sx.explain(t, dpnp, device=[private, 0])
    assert (plan.route, plan.device) == (sx.Route.COPY, (14, 0))
    assert [candidate.error for candidate in plan.candidates] == [BufferError, None]
    advice = f"dpnp accepts only memory of root devices.*pass device={private.root_id}$"
    with pytest.raises(BufferError, match=advice):
        sx.exchange(t, dpnp, device=private)
    with pytest.raises(BufferError, match="not accept host memory; pass device=0, or omit device$"):
        sx.exchange(t, dpnp, device=(1, 0))
    with pytest.raises(BufferError, match="numpy does not accept 'device' USM"):
        sx.exchange(t, np, device=[0])
    array = sx.exchange(t, np, device=[0, torch.device("cpu")])
    assert (array.ctypes.data == t.ptr) is private.host_accessible("device")
    refused = sx.explain(t, np, device=[0, private])
    assert refused.error is BufferError
    assert len(refused.candidates) == 2
    assert sx.exchange(t, sx, device=[0, private]).ptr == t.ptr
    assert sx.exchange(t, sx, device=0).device is sx.device(0)
    with pytest.raises(sx.CopyRefusedError):
        sx.exchange(t, sx, device=[0], copy=False)
