# SPDX-License-Identifier: Apache-2.0
"""The package is imported again, by programs that empty ``sys.modules``."""

import textwrap

import pytest

import environments
from sycl_ext._devices import startup

PROGRAM = """
import gc, pickle, sys
import numpy as np
import sycl_ext as first

def forget(condition):
    for name in list(sys.modules):
        if name.partition(".")[0] == "sycl_ext" and condition(name):
            del sys.modules[name]

t = first.zeros((2, 3), usm_type="shared")
device = first.device()
{forget}
import sycl_ext as again

assert again.Tensor is first.Tensor and again.SyclError is first.SyclError
assert sys.modules["sycl_ext"] is again
assert isinstance(t, again.Tensor) and isinstance(again.empty(3, device=device), first.Tensor)
assert pickle.loads(pickle.dumps(t)).shape == (2, 3)
assert np.array_equal(again.exchange(t, np), np.zeros((2, 3)))
assert again.as_tensor(t.T).shape == (3, 2) and first.from_dlpack(again.host_view(t)).ptr == t.ptr
try:
    again.zeros(3).__dlpack__(dl_device=(2, 0), copy=False)
except BufferError:
    pass
from sycl_ext._devices.device import Device
assert isinstance(device, Device) and type(again.device()) is Device
assert set(again.__all__) <= set(vars(again))
"""


@pytest.mark.parametrize(
    "forget",
    [
        "forget(lambda name: True)",
        "forget(lambda name: name != 'sycl_ext._core')",
        "forget(lambda name: name == 'sycl_ext')",
        "forget(lambda name: name == 'sycl_ext._core')",
        "forget(lambda name: name in ('sycl_ext._tensor.tensor', 'sycl_ext'))",
        "del first; forget(lambda name: True); gc.collect(); import sycl_ext as first;"
        " forget(lambda name: True)",
    ],
)
def test_a_second_import_is_the_first_package(forget):
    environments.python(PROGRAM.replace("{forget}", forget))


def test_an_import_after_one_that_was_interrupted():
    environments.python(
        textwrap.dedent("""
        import builtins, sys
        real = builtins.__import__
        def interrupted(name, *args, **kwargs):
            if name == "sycl_ext._exchange.staging":
                raise KeyboardInterrupt
            return real(name, *args, **kwargs)
        builtins.__import__ = interrupted
        try:
            import sycl_ext
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError
        assert "sycl_ext" not in sys.modules
        builtins.__import__ = real
        import sycl_ext as sx

        assert sx.from_dlpack(sx.zeros(3)).shape == (3,)
        """)
    )


def test_a_core_that_cannot_be_loaded_is_told_by_the_public_names_alone():
    """pickle looks for a function that does not say its module in every module there is."""
    get = startup.attribute_error_of(ImportError("file too short", name="sycl_ext._core"))
    for public in ("zeros", "Tensor", "from_dlpack"):
        with pytest.raises(ImportError, match="file too short"):
            get(public)
    for other in ("clip", "det", "_ipython_display_", "__path__"):
        with pytest.raises(AttributeError, match=other):
            get(other)
