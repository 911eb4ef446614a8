# SPDX-License-Identifier: Apache-2.0
"""`explain` says what `exchange` does: the first offer, or the refusal that it raises."""

import dataclasses
import itertools
import sys
import types

import numpy as np
import pytest

import sycl_ext as sx
from sycl_ext._negotiation.consumers import CONSUMERS

ROWS = [row for row in CONSUMERS if row.package not in ("sycl_ext", "dpctl")]
COPIES = (None, True, False)
WHERE = (None, "cpu", (1, 0), ["cpu", (1, 0)])

LAYOUTS = {
    "compact": lambda t: t,
    "reversed": lambda t: t[::-1],
    "strided": lambda t: t[:, ::2],
    "fortran": lambda t: t.T,
    "empty": lambda t: t[:0],
    "scalar": lambda t: t[0, 0],
}


def take(handed):
    """Take what a library is handed: a producer, or a capsule."""
    own = getattr(handed, "__dlpack__", None)
    return sx.from_dlpack(handed if own is None else own(max_version=(1, 3)))


def library_of(row, monkeypatch):
    """Return a library of the table that takes what it is given."""
    module = target = types.ModuleType(row.package)
    *parents, function = row.entry.split(".")
    for name in parents:
        inner = types.ModuleType(f"{target.__name__}.{name}")
        setattr(target, name, inner)
        target = inner
    setattr(target, function, take)
    module.__version__ = row.since or "0"
    if row.entry != "from_dlpack":
        monkeypatch.setitem(sys.modules, row.package, module)
    return module


@pytest.mark.parametrize("usm_type", ["device", "shared", "host", "system"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.package}{row.since or ''}")
def test_a_library(row, layout, usm_type, monkeypatch):
    source = make(usm_type)
    library = library_of(row, monkeypatch)
    for readonly, copy, host_copy, where in itertools.product(
        (False, True), COPIES, (True, False), WHERE
    ):
        x = LAYOUTS[layout](source.as_readonly() if readonly else source)
        options = {"copy": copy, "host_copy": host_copy, "device": where}
        compare(x, library, options)


@pytest.mark.parametrize("usm_type", ["device", "shared", "host", "system"])
@pytest.mark.parametrize("consumer", [0, "cpu", (1, 0), ["cpu"], [(1, 0), "cpu"], ["gpu", (1, 0)]])
def test_a_device(consumer, usm_type):
    source = make(usm_type)
    for layout, copy, host_copy in itertools.product(LAYOUTS.values(), COPIES, (True, False)):
        compare(layout(source), consumer, {"copy": copy, "host_copy": host_copy})


def make(usm_type):
    if usm_type == "system":
        return sx.as_tensor(np.arange(24, dtype="f4").reshape(4, 6), copy=False)
    t = sx.empty((4, 6), "f4", usm_type=usm_type)
    return t.copy_from(np.arange(24, dtype="f4").reshape(4, 6))


def compare(x, consumer, options):
    plan = sx.explain(x, consumer, **options)
    case = (x, consumer, options, plan)
    if plan.error is not None:
        with pytest.raises(plan.error) as caught:
            sx.exchange(x, consumer, **options)
        assert type(caught.value) is plan.error, case
        assert str(caught.value) == plan.reason, case
        return
    found = sx.exchange(x, consumer, **options)
    if isinstance(found, (sx.Tensor, sx.HostView)) and x.size:
        assert (found.ptr == x.ptr) == (plan.copies == 0), case


def test_a_plan_reads_as_a_sentence_in_a_notebook():
    class Printer:
        def text(self, text):
            self.said = text

    printer, plan = Printer(), sx.explain(sx.zeros(3), "cpu")
    plan._repr_pretty_(printer, False)
    assert printer.said == str(plan)
    assert dataclasses.is_dataclass(plan)


def test_the_cpu_device_is_not_the_host():
    """Somebody who knows torch writes "cpu"; the message has the way out, and it works."""
    t = sx.zeros(3, usm_type="shared")
    with pytest.raises(BufferError, match=r"\(1, 0\) is the host"):
        sx.exchange(t, np, device="cpu")
    assert sx.exchange(t, np, device=(1, 0)).tolist() == [0, 0, 0]
