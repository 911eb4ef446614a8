# SPDX-License-Identifier: Apache-2.0
"""`explain` says what `exchange` does: the first attempt, or the refusal that it raises.

Each case is run twice: at first the answer is made, and then it is a kept one. Where there is a
consumer like it for which nothing is kept, its plan is the same.
"""

import dataclasses
import itertools
import re
import sys
import types

import dpnp
import numpy as np
import pytest
import torch

import conversions
import sycl_ext as sx
from needs import needs
from sycl_ext._negotiation.consumers import CONSUMERS

ROWS = [row for row in CONSUMERS if row.importer and row.package not in ("sycl_ext", "dpctl")]
COPIES = (None, True, False)
#: "private" stands for a private context of the device.
WHERE = (None, "cpu", (1, 0), ["cpu", (1, 0)], "private", ["private", 0])
KINDS = ("device", "shared", "host", "system", "private")

LAYOUTS = {
    "compact": lambda t: t,
    "reversed": lambda t: t[::-1],
    "strided": lambda t: t[:, ::2],
    "fortran": lambda t: t.T,
    "empty": lambda t: t[:0],
    "unaligned": lambda t: t.reshape((24,))[1:13].reshape((3, 4)),
    "scalar": lambda t: t[0, 0],
}


def take(handed):
    """Take the argument that a library gets: a producer, or a capsule."""
    own = getattr(handed, "__dlpack__", None)
    return sx.from_dlpack(handed if own is None else own(max_version=(1, 3)))


def take_copy(handed):
    return take(handed).copy()


def library_of(row, monkeypatch):
    """Return a library of the table that takes what it is given, and one that nobody finds.

    For the first, answers are kept.
    """
    name = row.package if "." in row.importer else f"array_api_compat.{row.package}"
    module = target = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    *parents, function = re.findall(r"\w+", row.importer)
    for name in parents:
        inner = types.ModuleType(f"{target.__name__}.{name}")
        setattr(target, name, inner)
        monkeypatch.setitem(sys.modules, inner.__name__, inner)
        target = inner
    setattr(target, function, take_copy if row.copies else take)
    module.__version__ = row.since or "0"
    unkept = types.ModuleType(row.package)
    vars(unkept).update({**vars(module), "__name__": row.package})
    return module, unkept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.package}{row.since or ''}")
def test_exchange_with_a_library_follows_its_plan(row, layout, kind, monkeypatch, private):
    source = make(kind, private)
    library, unkept = library_of(row, monkeypatch)
    for readonly, copy, host_copy, where in itertools.product(
        (False, True), COPIES, (True, False), WHERE
    ):
        x = LAYOUTS[layout](source.as_readonly() if readonly else source)
        options = {"copy": copy, "host_copy": host_copy, "device": named(where, private)}
        compare(x, library, options, unkept)


@pytest.mark.parametrize("dtype", ["f4", "bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_exchange_with_dpctl_follows_its_plan(kind, dtype, private):
    """It takes no 'system' USM, no NULL pointer, and no dtype without a type string."""
    source = make(kind, private, dtype)
    for layout, readonly, copy, where in itertools.product(
        LAYOUTS.values(), (False, True), COPIES, WHERE
    ):
        x = layout(source.as_readonly() if readonly else source)
        compare(x, "dpctl", {"copy": copy, "device": named(where, private)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "consumer",
    [sx, 0, "cpu", (1, 0), ["cpu"], [(1, 0), "cpu"], ["gpu", (1, 0)], "private", ["private", 0]],
)
def test_exchange_with_a_device_follows_its_plan(consumer, kind, private):
    source, consumer = make(kind, private), named(consumer, private)
    for layout, copy, host_copy in itertools.product(LAYOUTS.values(), COPIES, (True, False)):
        compare(layout(source), consumer, {"copy": copy, "host_copy": host_copy})


#: Functions of real libraries, which read DLPack or a description of the memory.
FUNCTIONS = (
    *("dpnp.asarray", "dpnp.array", "dpnp.from_dlpack", "dpnp.tensor.asarray"),
    *("numpy.from_dlpack", "numpy.asarray", "numpy.array"),
    *("torch.from_dlpack", "torch.asarray", "torch.from_numpy", "torch.tensor"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_exchange_with_a_function_follows_its_plan(name, kind, private):
    """Arrays without elements as well, whose memory has no address."""
    module, _, function = name.rpartition(".")
    call, source = getattr(pytest.importorskip(module), function), make(kind, private)
    for layout, readonly, copy in itertools.product(LAYOUTS.values(), (False, True), COPIES):
        x = layout(source.as_readonly() if readonly else source)
        compare(x, call, {"copy": copy})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_axis_of_one_element_has_no_direction(name):
    """torch.from_numpy refuses each negative stride, that of such an axis as well."""
    module, _, function = name.rpartition(".")
    call, x = getattr(pytest.importorskip(module), function), np.zeros((1, 64), "f4")[::-1]
    tensor = sx.as_tensor(x, copy=False, device="cpu")
    for source, copy in itertools.product((x, tensor), COPIES):
        plan = sx.explain(source, call, copy=copy)
        compare_once(source, call, {"copy": copy}, plan)


class Subclass(np.ndarray):
    """Exports a copy of its elements, by a method that NumPy's class does not have."""

    def __dlpack__(self, **keywords):
        self.exported = sx.empty(self.shape, self.dtype, usm_type="host")
        self.exported.copy_from(self.view(np.ndarray))
        return self.exported.__dlpack__(**{**keywords, "dl_device": (1, 0)})


@pytest.mark.parametrize("consumer", ["numpy", "torch", "dpnp", "cpu", (1, 0)])
def test_exchange_of_a_subclass_follows_its_plan(consumer):
    """Its own protocol says what its memory is, and for plan and exchange alike."""
    array = np.arange(6, dtype="f4").view(Subclass)
    for copy in COPIES:
        plan = sx.explain(array, consumer, copy=copy)
        if plan.error is not None:
            with pytest.raises(plan.error, match=re.escape(plan.reason)):
                sx.exchange(array, consumer, copy=copy)
            continue
        result = sx.exchange(array, consumer, copy=copy)
        assert conversions.values(result).tolist() == list(range(6))
        assert (conversions.address(result) == array.exported.ptr) == (plan.copies == 0)


def named(where, private):
    if isinstance(where, list):
        return [named(device, private) for device in where]
    return private if where == "private" else where


def make(kind, private, dtype="f4"):
    array = np.arange(24).astype(dtype).reshape(4, 6)
    if kind == "system":
        return sx.as_tensor(array, copy=False, device="cpu")
    where = {"device": private} if kind == "private" else {"usm_type": kind}
    return sx.empty((4, 6), dtype, **where).copy_from(array)


def compare(x, consumer, options, unkept=None):
    plan = sx.explain(x, consumer, **options)
    case = (x, consumer, options, plan)
    if unkept is not None:
        assert sx.explain(x, unkept, **options) == plan, case
    for _ in range(2):
        assert sx.explain(x, consumer, **options) == plan, case
        compare_once(x, consumer, options, plan)


def compare_once(x, consumer, options, plan):
    case = (x, consumer, options, plan)
    if plan.error is not None:
        with pytest.raises(plan.error) as caught:
            sx.exchange(x, consumer, **options)
        assert type(caught.value) is plan.error, case
        assert str(caught.value) == plan.reason, case
        return
    result = sx.exchange(x, consumer, **options)
    if x.size:
        same = conversions.address(result) == conversions.address(x)
        assert same == (plan.copies == 0), case


def test_repr_of_a_plan_is_its_sentence():
    """In an interpreter, in a notebook, and in a list of candidates."""
    plan = sx.explain(sx.zeros(3, device="cpu"), ["cpu"])
    assert repr(plan) == str(plan)
    assert repr(plan).startswith("a view of the same memory on (14, 0): ")
    assert repr([plan]) == f"[{plan}]"
    assert dataclasses.is_dataclass(plan)


@pytest.mark.parametrize("consumer", [None, "numpy", "cpu", (1, 0), ["cpu"], torch, memoryview])
def test_requested_copy_is_the_reason(consumer):
    tensor = sx.zeros(3, usm_type="shared", device="cpu")
    plan = sx.explain(tensor, consumer, copy=True)
    assert plan.reason == "copy=True was requested"
    assert plan.copies == 1


def test_refusal_says_that_no_copy_was_asked_for():
    t = sx.zeros(3, usm_type="shared")[::-1]
    for flag in ("copy", "host_copy"):
        refusal = sx.explain(t, np, **{flag: False})
        assert refusal.reason.startswith(f"{flag}=False, but ")


@needs("kernels")
def test_memory_that_a_refusal_advises_is_shared_without_a_copy():
    """Memory of NumPy is copied for dpnp; the text names memory that is not."""
    refusal = sx.explain(np.zeros(3), dpnp, copy=False)
    assert refusal.error is sx.CopyRefusedError
    advice = re.search(r"memory of (sycl_ext\.empty\(.*?\)) would be used in place", refusal.reason)
    assert advice is not None
    t = eval(advice[1], {"sycl_ext": sx, "shape": (3,), "dtype": "float64"})
    np.asarray(t)[:] = 7  # the host writes it in place
    assert sx.exchange(t, dpnp, copy=False).sum() == 21


def test_cpu_device_is_not_the_host():
    """Somebody who knows torch writes "cpu"; the message has the way out, and it works."""
    t = sx.zeros(3, usm_type="shared")
    with pytest.raises(BufferError, match=r"device=\(1, 0\), the host"):
        sx.exchange(t, np, device="cpu")
    assert sx.exchange(t, np, device=(1, 0)).tolist() == [0, 0, 0]
