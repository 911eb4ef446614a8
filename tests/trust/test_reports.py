# SPDX-License-Identifier: Apache-2.0
"""Reports of users to dpnp, PyTorch and scikit-learn, and the result here.

The name of a test says where to read the report.  Where the fault can be shown without us, the test
shows it first: when that fails, the library has fixed it.
"""

import types

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
import ways
from producers import Producer
from ways import WAYS

torch = pytest.importorskip("torch")

VALUES = np.arange(6, dtype="float32").reshape(2, 3)


def usm(usm_type="shared", device=None):
    return sx.empty(VALUES.shape, "float32", usm_type=usm_type, device=device).copy_from(VALUES)


def address(array):
    return array.__sycl_usm_array_interface__["data"][0]


# ---- PyTorch -------------------------------------------------------------------------------------


class OnXpu(torch.Tensor):
    """A tensor on XPU: it takes the address of a queue as stream, and no dl_device."""

    def __new__(cls, tensor):
        self = torch.Tensor._make_subclass(cls, torch.empty(0))
        self.source, self.streams = Producer(tensor), []
        return self

    def __dlpack_device__(self):
        return self.source.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be int or None")
        if dl_device is not None or copy:
            raise RuntimeError("Can't get ATen device for XPU without XPU data.")
        self.streams.append(stream)
        return self.source.__dlpack__(max_version=max_version)


#: But for copies to a tensor, which is made like the producer.
ANYTHING = [
    name
    for name in ways.select(ways.VIEW, ways.HOST, ways.COPY, any=True)
    if ways.public_name(name) != "Tensor.copy_from"
]


@pytest.mark.parametrize("name", ANYTHING)
def test_pytorch_195825_a_stream_for_xpu_is_the_address_of_its_queue(monkeypatch, name):
    """And torch-xpu-ops 3077: dl_device and copy are never asked of XPU."""
    queue = dpctl.SyclQueue("cpu")
    current = types.SimpleNamespace(sycl_queue=queue.addressof_ref())
    monkeypatch.setattr(torch.xpu, "current_stream", lambda device: current)
    x = OnXpu(usm("device"))
    assert np.array_equal(ways.content(WAYS[name].call(x)), VALUES)
    assert x.streams == [current.sycl_queue]


def test_pytorch_with_xpu_gets_device_usm_as_it_is(monkeypatch):
    """A GPU's memory is not copied to the host for a torch that could take it."""
    taken = []
    with_xpu = types.ModuleType("torch")
    with_xpu.from_dlpack = lambda x: taken.append(x.__dlpack_device__()[0])
    for available, expected in ((False, [1, 1]), (True, [14, 1])):
        monkeypatch.setattr(torch.xpu, "is_available", lambda available=available: available)
        taken.clear()
        for usm_type in ("device", "shared"):  # torch takes no other kind than device
            sx.exchange(usm(usm_type), with_xpu)
        assert taken == expected


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (lambda: torch.ones(3, requires_grad=True), "detach"),
        (lambda: torch.ones(3, dtype=torch.complex64).conj(), "conjugate"),
        (lambda: torch.tensor([1 + 2j, 3 + 4j]).conj().imag, r"negative bit(.|\n)*resolve_neg"),
        (lambda: torch.eye(3).to_sparse(), "layout"),
    ],
    ids=["gradient", "conjugate", "negative", "sparse"],
)
def test_pytorch_what_cannot_be_exported_says_why(tensor, words):
    imports = (sx.from_dlpack, sx.as_tensor, sx.host_view)
    for way in (*imports, lambda x: sx.exchange(x, np)):
        with pytest.raises(sx.ExchangeError, match=words):
            way(tensor())
    for way in imports:
        for copy in (True, False):
            with pytest.raises(sx.ExchangeError, match=words):
                way(tensor(), copy=copy)
    assert sx.explain(tensor(), np).route.value == "refused"


class OnMetal(torch.Tensor):
    """Of a device that SYCL does not know: only a copy to the host can be had."""

    def __dlpack_device__(self):
        return (8, 0)

    def __dlpack__(self, *, dl_device=None, **keywords):
        if dl_device != (1, 0):
            raise BufferError("only to the host")
        return self.as_subclass(torch.Tensor).__dlpack__()


def test_pytorch_a_copy_to_the_host_of_what_is_negated_is_refused():
    tensor = torch.tensor([1 + 2j, 3 + 4j])
    assert sx.from_dlpack(tensor.imag.as_subclass(OnMetal)).tolist() == [2, 4]
    for way in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        with pytest.raises(sx.ExchangeError, match=r"negative bit(.|\n)*resolve_neg"):
            way(tensor.conj().imag.as_subclass(OnMetal))
