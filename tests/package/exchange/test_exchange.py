# SPDX-License-Identifier: Apache-2.0
"""`exchange`: the attempts with a consumer, their order, and refusals.

The real libraries are tested in ``interop/`` and in ``test_interop_*.py``.
"""

import sys
import types

import dpnp
import numpy as np
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from needs import needs
from producers import Producer

VALUES = np.arange(6, dtype="float32").reshape(2, 3)
USM, HOST = 14, 1


def usm(usm_type="shared"):
    return sx.empty(VALUES.shape, "float32", usm_type=usm_type).copy_from(VALUES)


class Consumer:
    """Refuses what does not suit it, and remembers what it was handed."""

    def __init__(self, suits=lambda x: False, error=None):
        self.suits, self.error = suits, error or RuntimeError("that is not for me")
        self.handed = []

    def __call__(self, x):
        device, _ = x.__dlpack_device__()
        address = x.ptr
        self.handed.append((device, address))
        if not self.suits(x):
            raise self.error
        return np.from_dlpack(x, device="cpu"), address


def forms(consumer, tensor):
    """Each attempt: device type, and whether it was the memory of the tensor."""
    return [(device, address == tensor.ptr) for device, address in consumer.handed]


def library_of(function):
    """A library for which the table has no row."""
    library = types.ModuleType("library_of_arrays")
    library.from_dlpack = function
    return library


def on_host(x):
    return x.__dlpack_device__() == (HOST, 0)


# ---- the order -----------------------------------------------------------------------------------


def test_usm_then_a_host_view_then_a_copy(usm_type):
    """Each of them is better than the next. Where the host cannot view it, there is one copy."""
    tensor, consumer = usm(usm_type), Consumer()
    with pytest.raises(sx.ExchangeError, match="that is not for me"):
        sx.exchange(tensor, library_of(consumer))
    host_view = [(HOST, True)] if sx.device().host_accessible(usm_type) else []
    assert forms(consumer, tensor) == [(USM, True), *host_view, (HOST, False)]


@pytest.mark.parametrize(
    ("suits", "count"),
    [(lambda x: True, 1), (on_host, 2), (lambda x: on_host(x) and x.is_copy, 3)],
    ids=["USM", "host view", "copy"],
)
def test_first_accepted_attempt_ends_the_exchange(suits, count):
    tensor, consumer = usm(), Consumer(suits)
    array, _ = sx.exchange(tensor, library_of(consumer))
    assert len(consumer.handed) == count
    assert np.array_equal(array, VALUES)
    assert (array.ctypes.data == tensor.ptr) == (count < 3)


# ---- refusals ------------------------------------------------------------------------------------

REFUSALS = (
    AttributeError,
    BufferError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    type("ArrowNotImplementedError", (NotImplementedError,), {}),
)


@pytest.mark.parametrize("error_type", REFUSALS)
def test_error_of_a_consumer_is_a_refusal(error_type):
    """Libraries differ in what they raise for memory of a device that they do not know."""
    consumer = Consumer(on_host, error_type("unsupported device"))
    array, _ = sx.exchange(usm(), library_of(consumer))
    assert np.array_equal(array, VALUES)
    consumer = Consumer(error=error_type("unsupported device"))
    with pytest.raises(sx.ExchangeError, match=f"{error_type.__name__}: unsupported") as caught:
        sx.exchange(usm(), library_of(consumer))
    assert caught.value.__cause__ is consumer.error


@pytest.mark.parametrize(
    "error_type",
    [
        KeyboardInterrupt,
        SystemExit,
        AssertionError,
        KeyError,
        OSError,
        RecursionError,
        sx.SyclError,
    ],
)
def test_exception_that_is_no_refusal_goes_through(error_type):
    consumer = Consumer(error=error_type())
    with pytest.raises(error_type):
        sx.exchange(usm(), library_of(consumer))
    assert len(consumer.handed) == 1


def test_module_name_stands_for_its_module(monkeypatch):
    library = types.ModuleType("library_of_arrays")
    library.from_dlpack = np.from_dlpack
    monkeypatch.setitem(sys.modules, "library_of_arrays", library)
    tensor = usm()
    for name in ("numpy", np.str_("numpy"), "library_of_arrays"):
        result = sx.exchange(tensor, name)
        assert isinstance(result, np.ndarray)
        assert result.ctypes.data == tensor.ptr
        assert sx.explain(tensor, name) == sx.explain(tensor, sys.modules[name])
    assert sx.exchange(tensor, "cpu").device is sx.device("cpu")


@pytest.mark.parametrize("name", ["nunpy", "numpy.nothing", ".numpy"])
def test_unknown_name_of_a_consumer_is_refused(name):
    for call in (sx.exchange, sx.explain):
        with pytest.raises(ValueError, match="neither a device such as 'gpu:0' nor a module"):
            call(usm(), name)


@pytest.mark.parametrize("name", ["gpu:7", "cuda", "host", "xpu:9"])
def test_string_in_the_form_of_a_device_is_a_device(name):
    with pytest.raises(ValueError, match="^device is"):
        sx.exchange(usm(), name)


# ---- copy and host_copy --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "handed"),
    [
        ({"copy": False}, [(USM, True), (HOST, True)]),
        ({"copy": True}, [(USM, False), (HOST, False)]),
        ({"host_copy": False}, [(USM, True), (HOST, True)]),
    ],
)
def test_copy_and_host_copy_limit_the_attempts(arguments, handed):
    tensor, consumer = usm(), Consumer()
    with pytest.raises(sx.ExchangeError):
        sx.exchange(tensor, library_of(consumer), **arguments)
    assert forms(consumer, tensor) == handed


def test_exchange_with_the_host_hands_over_a_view_and_then_a_copy():
    tensor, consumer = usm(), Consumer(lambda x: x.is_copy)
    sx.exchange(tensor, library_of(consumer), device=(1, 0))
    assert forms(consumer, tensor) == [(HOST, True), (HOST, False)]


# ---- to a device ---------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [VALUES, memoryview(VALUES), usm], ids=["numpy", "buffer", "tensor"])
def test_device_is_a_consumer(x, private):
    x = x() if callable(x) else x
    for device in (sx.device(), sx.device().filter_string, (14, 0), 0, private):
        result = sx.exchange(x, device)
        assert isinstance(result, sx.Tensor)
        assert result.device is sx.device(device)
        assert np.array_equal(result.to_numpy(), VALUES)


# ---- whose exception it is -----------------------------------------------------------------------


@pytest.mark.parametrize("form", [
    pytest.param(lambda: dpnp.zeros(2), id="an array"),
    pytest.param(lambda: [None], id="the default device in a list"),
])  # fmt: skip
def test_device_has_the_same_forms_as_in_as_tensor(form):
    device, tensor = form(), sx.zeros(3)
    assert sx.as_tensor(tensor, device=device).ptr == tensor.ptr
    assert sx.exchange(tensor, device).ptr == tensor.ptr
    for consumer in (dpnp, lambda x: x):
        result = sx.exchange(tensor, consumer, device=device, copy=False)
        assert sx.as_tensor(result, copy=False).ptr == tensor.ptr


def test_first_refusal_is_the_cause():
    """It was of the best form."""
    errors = [RuntimeError(str(number)) for number in range(3)]
    left = iter(errors)

    def function(x):
        raise next(left)

    with pytest.raises(sx.ExchangeError, match="RuntimeError: 0") as caught:
        sx.exchange(usm(), library_of(function))
    assert caught.value.__cause__ is errors[0]


# ---- copies --------------------------------------------------------------------------------------


def library_named(name, from_dlpack=np.from_dlpack):
    """A stand-in for a library that the table of consumers knows."""
    library = types.ModuleType(name)
    library.from_dlpack = from_dlpack
    return library


def test_layout_that_needs_a_copy_counts_as_one():
    """The host reaches the memory, and the consumer takes only compact arrays."""
    tensor, jax = usm()[:, ::2], library_named("jax")
    for arguments in ({"copy": False}, {"host_copy": False}):
        ((name, _),) = arguments.items()
        with pytest.raises(sx.CopyRefusedError, match=f"{name}=False.*only compact arrays"):
            sx.exchange(tensor, jax, **arguments)
    result = sx.exchange(tensor, jax)
    assert np.array_equal(result, VALUES[:, ::2])
    assert result.flags.c_contiguous
    assert sx.explain(tensor, jax).copies == 1
    compact = usm()
    assert sx.exchange(compact, jax, host_copy=False).ctypes.data == compact.ptr


def test_alignment_that_needs_a_copy_counts_as_one(monkeypatch):
    library = types.SimpleNamespace(from_dlpack=lambda capsule: sx.from_dlpack(capsule).ptr)
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.experimental = types.SimpleNamespace(dlpack=library)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    block = sx.zeros(33, usm_type="shared")
    for tensor, copies in ((block, 0), (block[1:], 1)):
        assert sx.explain(tensor, tensorflow).copies == copies
        address = sx.exchange(tensor, tensorflow)
        assert address % 64 == 0
        assert (address == tensor.ptr) is not bool(copies)


def export_of(x):
    """The export to an unaware consumer: its flags and its address."""
    managed = managed_in(x.__dlpack__(max_version=(1, 0)))
    return managed.flags, managed.dl_tensor.data


@needs("device_copies")
@pytest.mark.parametrize("where", ["root", "private", "half", "host"])
def test_copy_for_a_consumer_is_made_once(where, private, halves):
    """The copy is made where the consumer's own request finds it, and so makes no other."""
    device = {"private": private, "half": halves[0]}.get(where)
    tensor = VALUES if where == "host" else sx.as_tensor(VALUES, device=device, copy=True)
    seen = []

    def from_dlpack(x):
        seen.append(x)
        return export_of(x)

    for library in (library_named("library", from_dlpack), library_named("dpnp", from_dlpack)):
        seen.clear()
        flags, address = sx.exchange(tensor, library, copy=True)
        (given,) = seen
        assert (flags, address) == (0, given.ptr)
        assert np.array_equal(np.asarray(sx.host_view(given)), VALUES)
        assert address != (tensor.ctypes.data if where == "host" else tensor.ptr)
        assert sx.explain(tensor, library, copy=True).copies == 1


@needs("copies_between_contexts", "device-half-None", "device-private-None")
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("where", ["root", "private", "half"])
def test_empty_array_has_an_address_in_the_context_of_dpnp(where, copy, usm_type, private, halves):
    import dpnp

    device = {"private": private, "half": halves[0]}.get(where)
    tensor = sx.zeros((0, 3), usm_type=usm_type, device=device).as_readonly()
    array = sx.exchange(tensor, dpnp, copy=copy)
    assert array.flags.writable == (sx.explain(tensor, dpnp, copy=copy).copies > 0)
    assert (array.shape, array.dtype, array.usm_type) == ((0, 3), "float32", usm_type)
    assert array.sycl_context == sx.device().sycl_context


def test_peers_that_reach_one_another_in_one_direction(tmp_path):
    """The GPU that a copy goes to reads the memory of the other one."""
    environments.python(
        """
import pytest
import sycl_ext as sx
first, second = (sx.device(f"level_zero:gpu:{number}") for number in range(2))
for how in ([first], {"device": [first]}):  # the only way there is through the host
    consumer, more = (sx, how) if isinstance(how, dict) else (how, {})
    x = sx.zeros(3, device=second)
    assert sx.exchange(x, consumer, copy=True, **more).device is first
    with pytest.raises(sx.CopyRefusedError, match="host_copy=False"):
        sx.exchange(x, consumer, copy=True, host_copy=False, **more)
with pytest.raises(sx.CopyRefusedError, match="host_copy=False"):
    sx.exchange(x, first, copy=True, host_copy=False)
assert sx.explain(sx.zeros(3, device=first), second, copy=True).copies == 1
assert sx.explain(sx.zeros(3, device=second), first, copy=True).copies == 2
for source, target in ((first, second), (second, first)):
    assert sx.zeros(3, device=source).to_device(target, copy=True).to_numpy().tolist() == [0, 0, 0]
""",
        environments.level_zero("v1", p2p=2),  # the adapter v2 answers for the other direction
    )


def test_producer_whose_class_has_the_name_of_capsules_is_no_capsule():
    named = type("PyCapsule", (Producer,), {})(np.zeros(3))
    assert sx.explain(named, np).copies == sx.explain(np.zeros(3), np).copies
    with pytest.raises(TypeError, match="a capsule can be consumed only once; pass its producer"):
        sx.explain(np.zeros(3).__dlpack__(), np)
