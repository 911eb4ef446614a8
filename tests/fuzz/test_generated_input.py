# SPDX-License-Identifier: Apache-2.0
"""Generated arguments (Hypothesis): an error of this package, or a result.

Nothing here may end the process, leak, or run a deleter twice or never.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from functools import partial

import dpctl
import dpctl.memory
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sycl_ext as sx
import ways
from dlpack_conformance.structs import capsule_name
from generated import alive, attempt, cases
from producers import Producer, over
from samples import bits

OURS = (BufferError, TypeError, ValueError)


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("compared")


class Odd(int):
    def __index__(self):
        raise RuntimeError("asked for an index")


#: The errors of `Unhashable` and `Odd` propagate.
THEIRS = (*OURS, RuntimeError)
THINGS = st.sampled_from(
    [None, 0, -1, 1.5, "x", b"", [], {}, object(), Unhashable(), Odd(3), 2**70, type, np.zeros(2)]
)
LENGTHS = st.one_of(st.integers(-3, 60), st.integers(-(2**70), 2**70), THINGS)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)

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
        np.asarray(result).sum()
    del result, array, producer
    gc.collect()
    # A capsule that was not consumed is still its producer's.
    assert [managed.deleted for managed in made] == [was_consumed(each) for each in capsules]
    assert alive() == before


# ---- __sycl_usm_array_interface__ ----------------------------------------------------------------

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.one_of(st.integers(-1, 3), THINGS),
        "typestr": st.sampled_from(["|f4", "<f4", ">f4", "|V2", "f4", "", "|u1", "|c16", None, 4]),
        "shape": st.one_of(st.lists(LENGTHS, max_size=5).map(tuple), THINGS),
        "strides": st.one_of(st.lists(LENGTHS, max_size=5).map(tuple), THINGS),
        "offset": LENGTHS,
        "syclobj": st.one_of(
            THINGS,
            st.sampled_from(["cpu", "opencl:cpu:0", "gpu", ""]),
            st.builds(lambda: dpctl.SyclQueue()),
            st.builds(lambda: dpctl.SyclContext(dpctl.SyclDevice())),
            st.builds(lambda: sx.device().sycl_queue._get_capsule()),
            st.builds(lambda: sx.device().sycl_context._get_capsule()),
        ),
        "data": st.one_of(
            THINGS,
            st.tuples(st.integers(-(2**66), 2**66), st.booleans()),
            st.tuples(THINGS, THINGS),
        ),
    },
)


def is_usm(address, tensor):
    """Whether dpctl finds USM there, in the context of a tensor."""
    byte = {"data": (address, True), "shape": (1,), "strides": None, "typestr": "|u1"}
    described = ways.Described({**tensor.__sycl_usm_array_interface__, **byte}, tensor)
    with contextlib.suppress(ValueError):
        return dpctl.memory.as_usm_memory(described)._pointer == address
    return False


@cases(150)
@given(
    fields=FIELDS,
    missing=st.sets(st.sampled_from(["data", "shape", "strides", "typestr", "syclobj", "version"])),
    own_pointer=st.booleans(),
    whole=st.one_of(st.none(), THINGS),
)
def test_usm_interfaces(fields, missing, own_pointer, whole):
    """A view that stays within its block, or an error."""
    before = alive()
    tensor = sx.zeros((4, 5), usm_type="shared")
    interface = {**tensor.__sycl_usm_array_interface__, **fields}
    if own_pointer:
        interface["data"] = tensor.__sycl_usm_array_interface__["data"]
    for name in missing if len(missing) < 3 else ():
        interface.pop(name, None)
    described = ways.Described(interface if whole is None else whole, tensor)
    found = attempt(partial(sx.as_tensor, described), *THEIRS)
    if found is not None and found.size:
        array = found.to_numpy()
        first, end = np.lib.array_utils.byte_bounds(array)
        # A block of the runtime may be larger than requested, never smaller.  And where a
        # description leads there may be another block, of which nobody can know who describes it.
        own = tensor.ptr <= first <= end <= tensor.ptr + tensor.nbytes + 64 * 1024
        assert own or (is_usm(first, tensor) and is_usm(end - 1, tensor))
        array.tobytes()
        del array
    del found, described, tensor
    assert alive() == before


# ---- buffer exporters ----------------------------------------------------------------------------

BUFFERS = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=40).map(bytearray),
    hnp.arrays(
        st.sampled_from(["?", "i1", "<u2", ">u2", "f2", "f4", ">f8", "c8", "S3", "U2", "g"]),
        SHAPES,
    ),
    hnp.arrays(st.just(np.dtype([("a", "i1"), ("b", "f4")])), SHAPES),
    hnp.arrays("int16", SHAPES).map(lambda array: array.T[..., ::-1] if array.ndim else array),
)
FORMATS = st.sampled_from(["B", "b", "c", "H", "I", "q", "f", "d", "?", "Q"])


@cases(150)
@given(
    exporter=BUFFERS, format=FORMATS, length=st.integers(0, 9), copy=st.sampled_from([None, True])
)
def test_buffers(exporter, format, length, copy):
    """Every dtype and layout, and memoryviews of other formats and shapes than their memory's."""
    before = alive()
    view = memoryview(exporter)
    with contextlib.suppress(TypeError, ValueError):
        view = view.cast("B").cast(format)[length:]
    for source in (view, memoryview(exporter)):
        tensor = attempt(partial(sx.as_tensor, source, copy=copy), *OURS)
        if tensor is not None:
            assert bits(tensor.to_numpy()) == source.tobytes()
            assert tensor.readonly == (source.readonly and not copy)
        del tensor
    assert alive() == before
