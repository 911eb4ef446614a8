# SPDX-License-Identifier: Apache-2.0
"""The public functions that are written in C++, each called in every way with everything.

What each call gives is recorded in ``functions.json``, by the kind of the default device.  After a
change that is meant, ``python tests/core/python/test_functions.py`` in the environment of that
device prints the record anew.
"""

import copy
import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import producers
import sycl_ext as sx
from producers import Managed
from samples import values

RECORD = Path(__file__).with_name("functions.json")
FUNCTIONS = ("as_tensor", "empty", "from_dlpack", "host_view", "zeros")


def tensor(**how):
    array = values((2, 3))
    return sx.empty(array.shape, **how).copy_from(array)


def array():
    return values((2, 3))


class OfJax(producers.BeforeVersions):
    """An array that nobody may write to, and that cannot say so."""

    __module__ = "jaxlib.stand_in"


class OfJaxWithVersions(producers.LegacyAlone):
    """What jax is: it knows the keywords, and its capsule cannot say so either."""

    __module__ = "jaxlib.stand_in"


class Versioned(producers.Producer):
    """A later jax, which has forgotten the flag."""

    __module__ = "jax.stand_in"


class WithAQueue(producers.WithoutKeywords):
    """Too old for `stream`; its queue is the only thing that can be waited for."""

    @property
    def sycl_queue(self):
        return self.array.sycl_queue


class Described(producers.Homeless):
    """dpnp on a tile: DLPack has no number for it, and the other protocol describes it."""

    @property
    def __sycl_usm_array_interface__(self):
        return self.array.__sycl_usm_array_interface__


def big(number):
    return producers.Liar(tensor(), (14, number))


#: What is imported; each is made anew for each call.
THINGS = {
    "tensor": tensor,
    "tensor the host reads": lambda: tensor(usm_type="shared"),
    "view": lambda: tensor()[::-1, 1:],
    "read-only": lambda: tensor().as_readonly(),
    "host view of USM": lambda: sx.host_view(tensor(usm_type="host")),
    "host view of host memory": lambda: sx.host_view(array()),
    "NumPy": array,
    "NumPy read-only": lambda: np.broadcast_to(array(), (4, 2, 3)),
    "NumPy backwards": lambda: array()[::-1],
    "capsule": lambda: tensor().__dlpack__(max_version=(1, 0)),
    "legacy capsule": lambda: tensor().__dlpack__(),
    "host capsule": lambda: producers.over(array()).capsule(),
    "USM as host memory": lambda: producers.Producer(tensor(usm_type="shared"), device=(1, 0)),
    "producer": lambda: producers.Producer(tensor()),
    "producer on the host": lambda: producers.Producer(array()),
    "before versions": lambda: producers.BeforeVersions(tensor()),
    "without keywords": lambda: producers.WithoutKeywords(tensor()),
    "without keywords, with a queue": lambda: WithAQueue(tensor()),
    "of jax": lambda: OfJax(array()),
    "of jax, with versions": lambda: OfJaxWithVersions(array()),
    "of jax, versioned": lambda: Versioned(array()),
    "stream is refused": lambda: producers.StreamStrict(tensor()),
    "a liar": lambda: producers.Liar(tensor(), (1, 0)),
    "refuses": lambda: producers.Raising(tensor(), BufferError("no")),
    "fails": lambda: producers.Raising(array(), ZeroDivisionError("1/0")),
    "homeless": lambda: producers.Homeless(tensor()),
    "homeless, and described": lambda: Described(tensor()),
    "no capsule": lambda: producers.NoCapsule(tensor(), 3),
    "ignores": lambda: producers.Ignoring(tensor()),
    "copies": lambda: producers.AlwaysCopying(array()),
    "foreign": lambda: producers.Foreign(array()),
    "foreign number": lambda: big(999),
    "negative number": lambda: big(-1),
    "number of 33 bits": lambda: big(1 << 32),
    "number of 65 bits": lambda: big(1 << 64),
    "number that is none": lambda: big("0"),
    "list for a device": lambda: producers.Liar(tensor(), [14, 0]),
    "a pair of one": lambda: producers.Liar(tensor(), (14,)),
    "null": lambda: Managed(0, (3,)).capsule(),
    "buffer": lambda: bytearray(b"sycl"),
    "nothing": lambda: None,
    "number": lambda: 3,
}
WISHES = ({}, {"copy": None}, {"copy": True}, {"copy": False}, {"copie": True})


def address_of(thing):
    """Where the memory of something is, when it says so."""
    inside = getattr(thing, "array", thing)
    if isinstance(inside, np.ndarray):
        return inside.__array_interface__["data"][0]
    return getattr(inside, "ptr", None)


def outcome(function, thing, *positional, **wishes):
    """What a caller sees of one call, in a few words."""
    live = sx.memory.live_exports()
    try:
        result = function(
            *([] if thing is inspect.Parameter.empty else [thing]), *positional, **wishes
        )
    except Exception as error:
        cause = f" from {type(error.__cause__).__name__}" if error.__cause__ else ""
        said = "" if str(error) else " without a word"
        return type(error).__name__ + cause + said + " leak" * (sx.memory.live_exports() - live)
    words = [type(result).__name__, str(result.dtype), str(result.shape)]
    if isinstance(result, np.ndarray):
        words += [str(result.strides), "readonly" * (not result.flags.writeable)]
    else:
        words += [str(result.strides), "readonly" * result.readonly]
    if isinstance(result, sx.Tensor):
        words += [f"{result.usm_type} on {result.device.id}"]
    words += ["same" * (address_of(result) == address_of(thing))]
    inside = getattr(thing, "array", thing)
    if isinstance(inside, (np.ndarray, sx.Tensor, sx.HostView)):
        wanted = np.asarray(sx.host_view(inside)).tolist()
        assert np.asarray(sx.host_view(result)).tolist() == wanted
    return " ".join(filter(None, words))


def calls():
    """Every call: what it is called in the record, and what makes it."""
    for name in ("as_tensor", "from_dlpack", "host_view"):
        for thing, make in THINGS.items():
            for wish in WISHES:
                yield f"{name} {thing} {wish}", (getattr(sx, name), make, (), wish)
    for thing in ("tensor", "tensor the host reads", "view", "read-only"):
        for wish in (*WISHES, {"copy": 1}, {"copy": "no"}):
            function = sx.Tensor.to_numpy
            yield f"to_numpy {thing} {wish}", (function, THINGS[thing], (), wish)
            yield f"to_numpy {thing} {[*wish.values()]}", (
                function, THINGS[thing], tuple(wish.values()), {},
            )  # fmt: skip
    for shape in SHAPES:
        for dtype in DTYPES:
            yield f"zeros {shape} {dtype}", (sx.zeros, lambda s=shape: s, (dtype,), {})
            yield f"zeros {shape} dtype={dtype}", (
                sx.zeros, lambda s=shape: s, (), {"dtype": dtype},
            )  # fmt: skip
    for name in ("empty", "zeros"):
        for device in (None, 0, (14, 0), sx.device(0), "cpu", 999, "gpux", [], 1.5, 0.0, False):
            for kind in ("device", "shared", "host", "system", "Device", None, []):
                what = "a Device" if isinstance(device, sx.Device) else device
                yield f"{name} {what} {kind}", (
                    getattr(sx, name), lambda: 0, (), {"device": device, "usm_type": kind},
                )  # fmt: skip
    for name in FUNCTIONS:
        for positional in ((), (3, 4), (3, "int8", 5), (3,) * 9):
            first, *rest = positional or (inspect.Parameter.empty,)
            yield f"{name}{positional}", (getattr(sx, name), lambda f=first: f, rest, {})


SHAPES = (3, 0, (), (2, 3), (0, 5), [2, 3], -1, (2, -1), 2.0, True, "3", None, 1 << 70, (1,) * 65)
DTYPES = ("float32", "int8", np.int16, np.dtype("bool"), float, "bfloat16", "float31", None, [])


def found():
    """The outcome of every call."""
    return {
        name: outcome(function, make(), *positional, **wishes)
        for name, (function, make, positional, wishes) in calls()
    }


def test_every_call_gives_what_is_recorded():
    recorded = json.loads(RECORD.read_text())[sx.device().device_type]
    assert len(recorded) > 1000
    assert found() == recorded


@pytest.mark.parametrize("of_jax", [OfJax, OfJaxWithVersions, Versioned])
@pytest.mark.parametrize("arguments", [{}, {"copy": False}])
def test_arrays_of_jax_are_read_only(of_jax, arguments):
    for function in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        found = function(of_jax(array()), **arguments)
        assert found.readonly
        assert not np.asarray(sx.host_view(found)).flags.writeable


@pytest.mark.parametrize("value", [None, True, 0])
@pytest.mark.parametrize("name", [*FUNCTIONS, "to_numpy"])
def test_a_keyword_that_nobody_knows(name, value):
    function = sx.Tensor.to_numpy if name == "to_numpy" else getattr(sx, name)
    argument = 3 if name in ("empty", "zeros") else tensor(usm_type="shared")
    for known in ({}, {"copy": None}):
        if known and name in ("empty", "zeros"):
            continue
        with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
            function(argument, **known, bogus=value)


def test_keywords_that_belong_to_another_function():
    with pytest.raises(TypeError, match="unexpected keyword argument 'device'"):
        sx.host_view(tensor(usm_type="shared"), device=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'usm_type'"):
        sx.from_dlpack(tensor(), usm_type=None)


def test_an_argument_that_is_given_twice():
    for function, arguments, wishes in (
        (sx.Tensor.to_numpy, (tensor(), True), {"copy": True}),
        (sx.empty, (3, "int8"), {"dtype": "int8"}),
        (sx.zeros, (3,), {"shape": 3}),
    ):
        with pytest.raises(TypeError, match="multiple values for argument"):
            function(*arguments, **wishes)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_look_like_functions(name):
    """help(), inspect, pickle and copy see a function of the package."""
    function = getattr(sx, name)
    assert (function.__name__, function.__module__) == (name, "sycl_ext")
    assert function.__doc__.startswith(("Return ", "A "))
    assert f"sycl_ext.{name}" in function.__doc__ or f"sx.{name}(" in function.__doc__
    assert str(inspect.signature(function)).startswith("(")
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_method_binds():
    t = tensor()
    assert t.to_numpy().tolist() == sx.Tensor.to_numpy(t).tolist()
    assert "to_numpy" in repr(t.to_numpy)
    assert inspect.signature(t.to_numpy).parameters["copy"].default is None
    with pytest.raises(TypeError, match="TensorBase"):
        sx.Tensor.to_numpy(np.zeros(3))


@pytest.mark.parametrize("argument", ["dtype", "device"])
def test_an_interrupt_in_the_hash_of_an_argument_is_raised(argument):
    class Interrupted(str):
        def __hash__(self):
            raise KeyboardInterrupt

    for make in (sx.empty, sx.zeros):
        with pytest.raises(KeyboardInterrupt):
            make(3, **{argument: Interrupted("float32")})


def test_the_method_is_pickled_and_copied():
    for again in (pickle.loads(pickle.dumps(sx.Tensor.to_numpy)), copy.copy(sx.Tensor.to_numpy)):
        assert again(tensor()).tolist() == tensor().to_numpy().tolist()


def test_each_function_knows_its_own_arguments():
    for function, known in ((sx.from_dlpack, "x"), (sx.as_tensor, "obj"), (sx.host_view, "x")):
        with pytest.raises(TypeError, match=f"positional-only arguments .*'{known}'"):
            function(**{known: tensor()})
        with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
            function(tensor(), y=3)


def test_recursion_is_no_refusal():
    class Endless:
        calls = 0

        def __dlpack_device__(self):
            return (14, 0)

        def __dlpack__(self, **_):
            Endless.calls += 1
            return sx.from_dlpack(self)

    with pytest.raises(RecursionError):
        sx.from_dlpack(Endless())
    assert Endless.calls < 10_000


if __name__ == "__main__":
    print(json.dumps({sx.device().device_type: found()}, indent=0))
