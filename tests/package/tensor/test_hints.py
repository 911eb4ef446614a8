# SPDX-License-Identifier: Apache-2.0
"""`memory.prefetch` and `memory.advise` on the CPU device, whose driver takes no hints."""

import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from sycl_ext import _core
from sycl_ext.memory import advise, prefetch

VALUES = np.arange(6, dtype="float32").reshape(2, 3)
MEMORY = {
    "tensor": lambda kind: sx.as_tensor(VALUES, usm_type=kind),
    "slice": lambda kind: sx.as_tensor(VALUES, usm_type=kind)[::-1, ::2],
    "read-only": lambda kind: sx.as_tensor(VALUES, usm_type=kind).as_readonly(),
    "no elements": lambda kind: sx.empty(0, usm_type=kind),
    "dpnp": lambda kind: dpnp.asarray(VALUES, usm_type=kind),
}
HINTS = {
    "prefetch": prefetch,
    "advise": lambda x: advise(x, "read_mostly"),
    "undo": lambda x: advise(x, "preferred_location", undo=True),
}


@needs("no_gpu")
@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("memory", MEMORY)
def test_hint_on_the_cpu_device_does_nothing(memory, hint, usm_type):
    x = MEMORY[memory](usm_type)
    before = sx.as_tensor(x).tolist()
    assert HINTS[hint](x) is False
    assert sx.as_tensor(x).tolist() == before


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("x", [VALUES, bytearray(3), sx.host_view(VALUES)], ids=repr)
def test_hint_about_host_memory_does_nothing(x, hint):
    assert HINTS[hint](x) is False


@pytest.mark.parametrize(
    "hint",
    [_core.prefetch, *(lambda t, number=number: _core.advise(t, number) for number in (0, 3, 16))],
)
def test_opencl_adapter_takes_the_request_and_survives(hint):
    """The table of backends leaves it out because it does nothing, and not because it fails."""
    tensor = sx.as_tensor(VALUES, usm_type="shared")
    hint(tensor)
    tensor.wait()
    assert tensor.to_numpy().tolist() == VALUES.tolist()


@pytest.mark.parametrize("wrong", ["", "accessed_by", None, 0, ["read_mostly"]])
def test_unknown_advice_is_refused(wrong):
    error = ValueError if isinstance(wrong, str) else TypeError
    with pytest.raises(error, match="'read_mostly' or 'preferred_location'"):
        advise(sx.zeros(3, usm_type="shared"), wrong)
