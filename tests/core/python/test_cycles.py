# SPDX-License-Identifier: Apache-2.0
"""The garbage collector finds the objects that a tensor keeps alive."""

import gc
import weakref

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_ext as sx
from needs import needs


class Owner(np.ndarray):
    """An array that may hold what holds it."""


def owner():
    return np.zeros(10).view(Owner)


CYCLES = {
    "a tensor": lambda o: sx.as_tensor(o),
    "two views": lambda o: [t := sx.as_tensor(o), t[2:], t[2:][1:]],
    "a host view": lambda o: sx.host_view(sx.as_tensor(o)),
    "a host view and a slice": lambda o: (t := sx.as_tensor(o), sx.host_view(t), t[:4]),
    "two imports": lambda o: [sx.as_tensor(o), sx.as_tensor(o)],
    "from_dlpack": lambda o: sx.from_dlpack(o),
    "a tensor of another queue": lambda o: sx.as_tensor(o, device=dpctl.SyclQueue()),
    "tensors of several queues": lambda o: [
        t := sx.as_tensor(o),
        u := t.to_device(dpctl.SyclQueue()),
        u[2:].to_device(dpctl.SyclQueue()),
    ],
    "a tensor of a tensor": lambda o: sx.from_dlpack(sx.as_tensor(o)),
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycle_is_collected(name):
    array = owner()
    gone = weakref.ref(array)
    array.held = CYCLES[name](array)
    del array
    gc.collect()
    assert gone() is None


@needs("system_usm")
@pytest.mark.parametrize("name", CYCLES)
def test_cycle_that_others_hold_is_not_collected(name):
    """A view in an older generation, a capsule, or an array over the memory keeps it."""
    array = owner()
    array[:] = 7
    array.held = CYCLES[name](array)
    gone = weakref.ref(array)
    held = array.held
    kept = held[-1] if isinstance(held, (list, tuple)) else held
    capsule = kept.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    del array, held, kept
    for generation in (0, 1, 2):
        gc.collect(generation)
    assert gone() is not None
    assert np.from_dlpack(sx.host_view(capsule))[0] == 7
    del capsule
    gc.collect()
    assert gone() is None


class Described:
    """A producer with a description alone."""

    def __init__(self):
        self.tensor = sx.zeros(8, "int64", usm_type="shared")

    @property
    def __sycl_usm_array_interface__(self):
        return self.tensor.__sycl_usm_array_interface__


@pytest.mark.parametrize("held", [sx.as_tensor, lambda o: sx.exchange(o, dpnp)])
def test_cycle_through_usm_is_collected(held):
    producer = Described()
    gone = weakref.ref(producer)
    producer.held = held(producer)
    del producer
    gc.collect()
    assert gone() is None
