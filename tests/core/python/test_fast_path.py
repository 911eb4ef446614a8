# SPDX-License-Identifier: Apache-2.0
"""The functions of the core that stand before Python's: nobody can tell which of them answered."""

import inspect
import pickle
import types

import numpy as np
import pytest

import producers
import sycl_ext as sx
from producers import Managed
from samples import values

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


def answer(function, thing, *positional, **wishes):
    """Everything that a caller can see of one call."""
    arguments = () if thing is inspect.Parameter.empty else (thing,)
    live = sx.live_exports()
    try:
        result = function(*arguments, *positional, **wishes)
    except Exception as error:
        return (type(error), str(error), type(error.__cause__), sx.live_exports() - live)
    if isinstance(result, np.ndarray):
        seen = (result.strides, result.flags.writeable, result.dtype)
    else:
        seen = (result.strides, result.readonly, result.dtype, result.__dlpack_device__())
        seen += () if isinstance(result, sx.HostView) else (result.usm_type, result.device)
    same = address_of(result) == address_of(thing)
    return (type(result), result.shape, *seen, same, np.asarray(sx.host_view(result)).tolist())


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", ["as_tensor", "from_dlpack", "host_view"])
def test_imports(name, thing):
    fast, slow = getattr(sx, name), getattr(sx, name).__wrapped__
    for wish in WISHES:
        assert answer(fast, THINGS[thing](), **wish) == answer(slow, THINGS[thing](), **wish)


@pytest.mark.parametrize("of_jax", [OfJax, OfJaxWithVersions, Versioned])
@pytest.mark.parametrize("arguments", [{}, {"copy": False}])
def test_arrays_of_jax_are_read_only(of_jax, arguments):
    for function in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        found = function(of_jax(array()), **arguments)
        assert found.readonly
        assert not np.asarray(sx.host_view(found)).flags.writeable


@pytest.mark.parametrize("wishes", [*WISHES, {"copy": 1}, {"copy": np.True_}])
@pytest.mark.parametrize("thing", ["tensor", "tensor the host reads", "view", "read-only"])
def test_to_numpy(thing, wishes):
    fast, slow = sx.Tensor.to_numpy, sx.Tensor.to_numpy.__wrapped__
    made = THINGS[thing]()
    assert answer(fast, made, **wishes) == answer(slow, made, **wishes)
    assert answer(fast, made, *wishes.values()) == answer(slow, made, *wishes.values())


@pytest.mark.parametrize(
    "shape",
    [3, 0, (), (2, 3), (0, 5), [2, 3], -1, (2, -1), 2.0, True, "3", None, 1 << 70, (1,) * 65],
)
def test_zeros(shape):
    fast, slow = sx.zeros, sx.zeros.__wrapped__
    for dtype in (
        "float32",
        "int8",
        np.int16,
        np.dtype("bool"),
        float,
        "bfloat16",
        "float31",
        None,
        [],
    ):
        assert answer(fast, shape, dtype) == answer(slow, shape, dtype)
        assert answer(fast, shape, dtype=dtype) == answer(slow, shape, dtype=dtype)


@pytest.mark.parametrize("name", ["empty", "zeros"])
@pytest.mark.parametrize(
    "device", [None, 0, (14, 0), sx.device(0), "cpu", 999, "gpux", [], 1.5, 0.0, False]
)
@pytest.mark.parametrize("usm_type", ["device", "shared", "host", "system", "Device", None, []])
def test_places(name, device, usm_type):
    fast, slow = getattr(sx, name), getattr(sx, name).__wrapped__
    for how in (
        {"device": device},
        {"usm_type": usm_type},
        {"device": device, "usm_type": usm_type},
    ):
        assert answer(fast, 0, **how) == answer(slow, 0, **how)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_calls(name):
    fast, slow = getattr(sx, name), getattr(sx, name).__wrapped__
    for positional in ((), (3, 4), (3, "int8", 5), (3,) * 9):
        first, *rest = positional or (inspect.Parameter.empty,)
        assert answer(fast, first, *rest) == answer(slow, first, *rest)


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
    """help(), pickle, copy and the methods of a class see a Python function."""
    fast = getattr(sx, name)
    slow = fast.__wrapped__
    assert isinstance(slow, types.FunctionType)
    assert (fast.__name__, fast.__doc__, fast.__module__) == (name, slow.__doc__, "sycl_ext")
    assert inspect.signature(fast) == inspect.signature(slow)
    assert repr(fast) == repr(slow)
    assert pickle.loads(pickle.dumps(fast)) is fast


def test_a_method_binds():
    t = tensor()
    assert t.to_numpy().tolist() == sx.Tensor.to_numpy(t).tolist()
    assert "to_numpy" in repr(t.to_numpy)
