# SPDX-License-Identifier: Apache-2.0
"""Generated arguments (Hypothesis): an error of this package, or a result.

Nothing here may end the process, leak, or run a deleter twice or never.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sycl_ext as sx
from dlpack_conformance.structs import capsule_name
from generated import alive, attempt, cases
from producers import Producer, over

pytestmark = pytest.mark.timeout(600)  # as many examples on a machine that is busy


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("compared")


class Odd(int):
    def __index__(self):
        raise RuntimeError("asked for an index")


#: The errors of `Unhashable` and `Odd` propagate.
THEIRS = (BufferError, TypeError, ValueError, RuntimeError)
THINGS = st.sampled_from(
    [None, 0, -1, 1.5, "x", b"", [], {}, object(), Unhashable(), Odd(3), 2**70, type, np.zeros(2)]
)

# ---- hostile producers ---------------------------------------------------------------------------

ERRORS = st.sampled_from(
    [BufferError, TypeError, ValueError, RuntimeError, MemoryError, AttributeError, OSError]
)
DEVICES = st.one_of(
    st.sampled_from(
        [(1, 0), (14, 0), (14, 1_000_000), (14, -1), (2, 0), (1, 5), [14, 0], (14, 2**40)]
    ),
    st.tuples(st.integers(-1, 20), st.integers(-3, 3)),
    st.tuples(THINGS, THINGS),
    THINGS,
)


class Hostile(Producer):
    """Does what its script says, one step for each call of ``__dlpack__``, and then behaves."""

    def __init__(self, array, script, announced, thing, error):
        super().__init__(array)
        self.script, self.announced = list(script), announced
        self.thing, self.error = thing, error
        self.depth = 0
        self.capsules: list[object] = []

    def make(self, **fields):
        self.capsules.append(super().make(**fields))
        return self.capsules[-1]

    def __dlpack_device__(self):
        if self.announced == "raise":
            raise self.error("device")
        return super().__dlpack_device__() if self.announced == "true" else self.announced

    def __dlpack__(self, **keywords):
        return STEPS[self.script.pop(0) if self.script else "behave"](self, **keywords)

    def behave(self, **keywords):
        return super().__dlpack__(**keywords)

    def collect_garbage(self, **_):
        gc.collect()
        return self.make()

    def come_back_in(self, **_):
        self.depth += 1
        if self.depth < 4:
            with contextlib.suppress(Exception):
                sx.as_tensor(self).copy()
        return self.make()

    def switch_threads(self, **_):
        made = []
        thread = threading.Thread(target=lambda: made.append(self.make()))
        thread.start()
        thread.join()
        return made[0]

    def delete_itself(self, **_):
        capsule = self.make()
        self.array, self.made, self.capsules = np.zeros(3), [], []
        gc.collect()
        return capsule

    def lose_a_method(self, **_):
        self.__class__ = Forgetful
        return self.make()

    def refuse(self, **_):
        raise self.error("no")

    def return_a_thing(self, **_):
        return self.thing

    def return_a_used_capsule(self, **_):
        capsule = self.make()
        with contextlib.suppress(BufferError):
            sx.from_dlpack(capsule)
        return capsule

    def return_another_capsule(self, **_):
        managed = over(self.array)
        capsule = managed.capsule(b"dltensor_")
        managed._delete(managed.address)  # nobody else will
        return capsule

    def return_the_old_struct(self, **_):
        return self.make(versioned=False)

    def lie_about_the_device(self, **_):
        return self.make(device=(14, 1_000_000))

    def return_an_export_of_ours(self, **_):
        return sx.from_dlpack(self.array).__dlpack__(max_version=(1, 0))


def was_consumed(capsule):
    return capsule_name(capsule).startswith("used_")


class Forgetful(Hostile):
    __dlpack_device__ = None


STEPS = {
    name: method
    for name, method in vars(Hostile).items()
    if callable(method) and name != "make" and not name.startswith("__")
}


@cases(150)
@given(
    script=st.lists(st.sampled_from(list(STEPS)), max_size=4),
    announced=st.one_of(st.just("true"), st.just("raise"), DEVICES),
    thing=THINGS,
    error=ERRORS,
    host=st.booleans(),
    call=st.sampled_from([sx.from_dlpack, sx.as_tensor, sx.host_view, sx.explain]),
    copy=st.sampled_from([None, True, False]),
)
def test_hostile_producers(script, announced, thing, error, host, call, copy):
    """An export is released once, and an import can be read."""
    before = alive()
    array = np.arange(6.0).reshape(2, 3) if host else sx.zeros((2, 3), usm_type="shared")
    producer = Hostile(array, script, announced, thing, error)
    made, capsules = producer.made, producer.capsules
    result = attempt(partial(call, producer, copy=copy), *THEIRS, MemoryError, OSError)
    if result is not None and call is not sx.explain:
        assert result.shape in ((2, 3), (3,), (2,))
        np.asarray(sx.host_view(result)).sum()
    del result, array, producer
    gc.collect()
    # A capsule that was not consumed is still its producer's.
    assert [managed.deleted for managed in made] == [was_consumed(each) for each in capsules]
    assert alive() == before
