# SPDX-License-Identifier: Apache-2.0
"""Random histories (Hypothesis): tensors, capsules and arrays against a model of the live objects.

The model of a tensor is a NumPy array: each operation on the tensor, or through any other view of
its memory, is done to the array as well.  After each step the bytes are compared, and so are the
live counters with the number of capsules and blocks that the model knows to be alive.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

import sycl_ext as sx
import ways
from generated import alive, cases
from samples import USM_TYPES, bits
from sycl_ext import _core
from waiting import eventually

pytestmark = pytest.mark.timeout(600)  # as many examples on a machine that is busy

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
NAMES = st.sampled_from(["bool", "int8", "uint16", "float32", "int64", "complex128"])
VERSIONS = st.sampled_from([None, (0, 8), (1, 0), (1, 3), (9, 9)])


@dataclass(eq=False)
class Handle:
    """Something that holds memory, the array it stands for, and the blocks it keeps alive."""

    thing: Any
    model: np.ndarray
    blocks: frozenset[int]
    readonly: bool = False
    on_host: bool = False  # a host copy, which a device takes over as system USM: one block more


def is_reversed(tensor) -> bool:
    steps = zip(tensor.strides, tensor.shape, strict=True)
    return any(stride < 0 and length > 1 for stride, length in steps)


def is_capsule(thing: Any) -> bool:
    return type(thing).__name__ == "PyCapsule"


class Histories(RuleBasedStateMachine):
    tensors = Bundle("tensors")
    capsules = Bundle("capsules")
    arrays = Bundle("arrays")  # NumPy arrays over the memory

    @initialize()
    def start(self):
        self.before = alive()
        self.handles: list[Handle] = []
        self.made = 0

    def teardown(self):
        for handle in self.handles:
            handle.thing = None
        assert alive() == self.before

    def keep(self, thing, model, readonly=False, blocks=None, more=True) -> Handle:
        """A handle of `blocks`, and of a block that nobody has had before."""
        self.made += more
        new = frozenset([self.made]) if more else frozenset()
        self.handles.append(Handle(thing, model, new | (blocks or frozenset()), readonly))
        return self.handles[-1]

    def same(self, thing, model, source: Handle, readonly=None, more=False) -> Handle:
        """A view of the memory of `source`; `more`: a block of its own stands for it."""
        readonly = source.readonly if readonly is None else readonly
        return self.keep(thing, model, readonly, source.blocks, more)

    # ---- making and dropping

    @rule(target=tensors, shape=SHAPES, name=NAMES, usm_type=st.sampled_from(USM_TYPES))
    def zeros(self, shape, name, usm_type):
        return self.keep(sx.zeros(shape, name, usm_type=usm_type), np.zeros(shape, name))

    @rule(target=tensors, source=tensors, order=st.sampled_from("CF"))
    def copy(self, source, order):
        return self.keep(source.thing.copy(order), source.model.copy(order))

    @rule(handle=consumes(tensors), elsewhere=st.booleans())
    def drop_tensor(self, handle, elsewhere):
        self.drop(handle, elsewhere)

    @rule(handle=consumes(arrays), elsewhere=st.booleans())
    def drop_array(self, handle, elsewhere):
        self.drop(handle, elsewhere)

    @rule(handle=consumes(capsules), elsewhere=st.booleans())
    def drop_capsule(self, handle, elsewhere):
        self.drop(handle, elsewhere)

    def drop(self, handle, elsewhere=False):
        """Let go of it, here or in another thread."""
        self.handles.remove(handle)
        if not elsewhere:
            handle.thing = None
            return
        thread = threading.Thread(target=setattr, args=(handle, "thing", None))
        thread.start()
        thread.join()

    # ---- views

    @rule(target=tensors, source=tensors, data=st.data())
    def index(self, source, data):
        key = data.draw(hnp.basic_indices(source.model.shape, allow_newaxis=True, max_dims=6))
        with_ellipsis = key if isinstance(key, tuple) else (key,)
        if Ellipsis not in with_ellipsis:
            with_ellipsis = (*with_ellipsis, Ellipsis)  # an array, not a scalar
        return self.same(source.thing[key], source.model[with_ellipsis], source)

    @rule(target=tensors, source=tensors)
    def transpose(self, source):
        return self.same(source.thing.T, source.model.T, source)

    @rule(target=tensors, source=tensors)
    def as_readonly(self, source):
        return self.same(source.thing.as_readonly(), source.model, source, readonly=True)

    @rule(target=tensors, source=tensors, data=st.data())
    def reshape(self, source, data):
        size = source.model.size
        divisors = [n for n in range(1, size + 1) if size % n == 0] or [1]
        shape = (data.draw(st.sampled_from(divisors)), -1) if size else (0, 3)
        model, thing = source.model.reshape(shape), source.thing.reshape(shape)
        if np.shares_memory(model, source.model) or not size:
            return self.same(thing, model, source)
        return self.keep(thing, model)

    @rule(target=tensors, source=tensors)
    def through_the_interface(self, source):
        view = sx.as_tensor(ways.described(source.thing))
        return self.same(view, source.model, source, more=True)

    # ---- exchange

    @rule(target=capsules, source=tensors, version=VERSIONS, host=st.booleans())
    def export(self, source, version, host):
        request = {"max_version": version, "dl_device": (1, 0) if host else None}
        if host and is_reversed(source.thing):  # numpy and torch end there, so they get a copy
            copied = self.keep(source.thing.__dlpack__(**request), source.model.copy("C"))
            copied.on_host = True
            return copied
        if source.readonly and (version is None or version < (1, 0)):
            with pytest.raises(BufferError, match="read-only"):
                source.thing.__dlpack__(**request)
            return multiple()
        return self.same(source.thing.__dlpack__(**request), source.model, source)

    @rule(target=tensors, capsule=consumes(capsules))
    def consume(self, capsule):
        taken = sx.from_dlpack(capsule.thing)
        handle = self.same(taken, capsule.model, capsule, more=capsule.on_host)
        with pytest.raises(BufferError, match="already been consumed"):
            sx.from_dlpack(capsule.thing)
        self.drop(capsule)
        return handle

    @rule(target=tensors, source=tensors)
    def take_again(self, source):
        return self.same(sx.from_dlpack(source.thing), source.model, source)

    @rule(target=arrays, source=tensors)
    def to_numpy(self, source):
        return self.same(source.thing.to_numpy(), source.model, source)

    @rule(target=arrays, source=tensors)
    def through_a_memoryview(self, source):
        return self.same(np.asarray(memoryview(source.thing)), source.model, source)

    @rule(target=arrays, source=tensors)
    def host_copy(self, source):
        host = np.asarray(sx.host_view(source.thing, copy=True))
        return self.keep(host, source.model.copy("C"))

    # ---- writing

    @rule(target=arrays, array=consumes(arrays), byte=st.integers(0, 1))
    def write(self, array, byte):
        if array.readonly:
            with pytest.raises(ValueError, match="read-only"):
                array.thing[...] = byte
        else:
            array.thing[...] = byte
            array.model[...] = byte
        return array

    @rule(target=tensors, to=consumes(tensors), source=tensors)
    def copy_from(self, to, source):
        fits = source.model.dtype == to.model.dtype and not to.readonly
        with contextlib.suppress(ValueError):
            spread = np.broadcast_to(source.model, to.model.shape)
            if fits:
                to.thing.copy_from(source.thing)
                to.model[...] = spread.copy()
                return to
        with pytest.raises((BufferError, TypeError, ValueError)):
            to.thing.copy_from(source.thing)
        return to

    # ---- invariants

    @invariant()
    def bytes_are_those_of_the_model(self):
        for handle in self.handles:
            if is_capsule(handle.thing):
                continue
            assert handle.thing.shape == handle.model.shape
            if isinstance(handle.thing, sx.Tensor):
                assert handle.thing.readonly == handle.readonly
                assert bits(handle.thing.to_numpy(copy=True)) == bits(handle.model)
            else:
                assert handle.thing.flags.writeable is not handle.readonly
                assert bits(handle.thing) == bits(handle.model)

    @invariant()
    def counters_are_those_of_the_model(self):
        exports, allocations = self.before
        assert sx.memory.live_exports() - exports == sum(is_capsule(h.thing) for h in self.handles)
        blocks = frozenset().union(*(handle.blocks for handle in self.handles))
        assert eventually(lambda: _core._test.live_allocations() - allocations == len(blocks))


TestHistories = Histories.TestCase
TestHistories.settings = cases(40, stateful_step_count=40)
