# SPDX-License-Identifier: Apache-2.0
"""The public functions that are written in C++, each called in every way with everything."""

import inspect
import pickle

import numpy as np
import pytest

import producers
import sycl_ext as sx
from producers import Managed
from samples import frames_of_ours, values

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
    """Like jax: it accepts the keywords, and its capsule cannot say so either."""

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


class Half:
    """Says where it is, and gives nothing."""

    def __dlpack_device__(self):
        return (1, 0)


def saying(*device):
    return producers.Liar(tensor(), tuple(device))


#: The imported object, made for each call -> the kind of its memory ("system" is the host's), and
#: more words that hold of it: "strided", "readonly", or "unknown" when the address is.
THINGS = {
    "tensor": (tensor, "device"),
    "tensor the host reads": (lambda: tensor(usm_type="shared"), "shared"),
    "view": (lambda: tensor()[::-1, 1:], "device strided"),
    "read-only": (lambda: tensor().as_readonly(), "device readonly"),
    "host view of USM": (lambda: sx.host_view(tensor(usm_type="host")), "host"),
    "host view of host memory": (lambda: sx.host_view(array()), "system"),
    "NumPy": (array, "system"),
    "NumPy read-only": (lambda: np.broadcast_to(array(), (4, 2, 3)), "system readonly"),
    "NumPy backwards": (lambda: array()[::-1], "system strided"),
    "capsule": (lambda: tensor().__dlpack__(max_version=(1, 0)), "device unknown"),
    "legacy capsule": (lambda: tensor().__dlpack__(), "device unknown"),
    "host capsule": (lambda: producers.over(array()).capsule(), "system unknown"),
    "USM as host memory": (
        lambda: producers.Producer(tensor(usm_type="shared"), device=(1, 0)), "shared",
    ),
    "producer": (lambda: producers.Producer(tensor()), "device"),
    "producer on the host": (lambda: producers.Producer(array()), "system"),
    "before versions": (lambda: producers.BeforeVersions(tensor()), "device"),
    "without keywords": (lambda: producers.WithoutKeywords(tensor()), "device"),
    "without keywords, with a queue": (lambda: WithAQueue(tensor()), "device"),
    "of jax": (lambda: OfJax(array()), "system readonly"),
    "of jax, with versions": (lambda: OfJaxWithVersions(array()), "system readonly"),
    "of jax, versioned": (lambda: Versioned(array()), "system readonly"),
    "homeless, and described": (lambda: Described(tensor()), "device"),
    "ignores": (lambda: producers.Ignoring(tensor()), "device"),
    "list for a device": (lambda: producers.Liar(tensor(), [14, sx.device().id]), "device"),
}  # fmt: skip
#: Arguments that are refused, and the error with its cause and its words.
REFUSED = {
    "stream is refused": (
        lambda: producers.StreamStrict(tensor()), sx.ExchangeError, RuntimeError, "only stream",
    ),
    "homeless": (
        lambda: producers.Homeless(tensor()), sx.ExchangeError, ValueError, "could not determine",
    ),
    "a liar": (lambda: saying(1, 0), BufferError, None, r"\(14, \d\).*\(1, 0\)"),
    "no capsule": (lambda: producers.NoCapsule(tensor(), 3), BufferError, None, "int.*capsule"),
    "no capsule, but an array": (
        lambda: producers.NoCapsule(array(), array()), BufferError, None, "ndarray.*capsule",
    ),
    "foreign number": (lambda: saying(14, 999), BufferError, None, "999"),
    "negative number": (lambda: saying(14, -1), BufferError, None, "-1"),
    "number of 33 bits": (lambda: saying(14, 1 << 32), BufferError, None, "32 bits"),
    "number of 65 bits": (lambda: saying(14, 1 << 64), BufferError, None, "32 bits"),
    "type of 33 bits": (lambda: saying(14 + (1 << 32), 0), BufferError, None, "32 bits"),
    "number that is none": (lambda: saying(14, "0"), TypeError, TypeError, "pair"),
    "a pair of one": (lambda: saying(14), TypeError, ValueError, "pair"),
    "no pair": (lambda: producers.Liar(tensor(), 14), TypeError, TypeError, "pair"),
    "null": (lambda: Managed(0, (3,)).capsule(), BufferError, None, "pointer is NULL"),
    "no dlpack": (lambda: Half(), (TypeError, BufferError), ..., "__dlpack__|no memory"),
    "nothing": (lambda: None, TypeError, None, "NoneType"),
    "number": (lambda: 3, TypeError, None, "type int"),
    "list": (lambda: [1, 2], TypeError, None, "type list"),
}  # fmt: skip
#: Exceptions of a producer, which are the cause of one kind of error.
for error in (BufferError, RuntimeError, ValueError, NotImplementedError, AttributeError):
    REFUSED[f"raises {error.__name__}"] = (
        lambda error=error: producers.Raising(tensor(), error("my own words")),
        sx.ExchangeError, error, f"Raising.*{error.__name__}: my own words",
    )  # fmt: skip
#: Exceptions of a producer that do not count as a refusal.
for error in (AssertionError, MemoryError, OSError, ZeroDivisionError):
    REFUSED[f"raises {error.__name__}"] = (
        lambda error=error: producers.Raising(tensor(), error("my own words")),
        error, None, "^my own words$",
    )  # fmt: skip
IMPORTS = (sx.as_tensor, sx.from_dlpack, sx.host_view)


def address_of(thing):
    inside = getattr(thing, "array", thing)
    if isinstance(inside, np.ndarray):
        return inside.__array_interface__["data"][0]
    return getattr(inside, "ptr", None)


def must_be_copied(function, words):
    """Whether the function cannot give the memory itself, on the default device."""
    host_reads_all = sx.device().device_type == "cpu"
    if function is sx.host_view:
        return "strided" in words or ("device" in words and not host_reads_all)
    return "system" in words and not host_reads_all


@pytest.mark.parametrize(
    "requested", [{}, {"copy": None}, {"copy": True}, {"copy": False}], ids=str
)
@pytest.mark.parametrize("name", THINGS)
@pytest.mark.parametrize("function", IMPORTS)
def test_import_gives_the_memory_or_a_copy(function, name, requested):
    make, words = THINGS[name]
    words = words.split()
    thing, copy = make(), requested.get("copy")
    alive, impossible = sx.memory.live_exports(), must_be_copied(function, words)
    # The memory of a bare capsule is the consumer's, which may copy it as it likes.
    if impossible and copy is False and not (name == "host capsule" and function is sx.host_view):
        with pytest.raises(sx.CopyRefusedError):
            function(thing, **requested)
        assert sx.memory.live_exports() <= alive
        return
    result = function(thing, **requested)
    copied = bool(copy or impossible)
    if "unknown" not in words:
        assert (address_of(result) == address_of(thing)) is not copied
        inside = getattr(thing, "array", thing)
        assert result.shape == inside.shape
        assert (
            np.asarray(sx.host_view(result)).tolist() == np.asarray(sx.host_view(inside)).tolist()
        )
    assert str(result.dtype) == "float32"
    assert result.readonly is ("readonly" in words and not copied)
    if function is sx.host_view:
        assert type(result) is sx.HostView
        assert np.asarray(result).flags.writeable is not result.readonly
    else:
        kept = "device" if copied and words[0] == "system" else words[0]
        assert (type(result), result.usm_type) == (sx.Tensor, kept)
        assert result.device is sx.device()


@pytest.mark.parametrize(
    "requested", [{}, {"copy": None}, {"copy": True}, {"copy": False}], ids=str
)
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("function", IMPORTS)
def test_refused_import_says_why(function, name, requested):
    make, expected, cause, words = REFUSED[name]
    alive = sx.memory.live_exports()
    with pytest.raises(expected, match=words) as caught:
        function(make(), **requested)
    if cause is not ...:
        assert type(caught.value) is expected
        assert type(caught.value.__cause__) is (cause or type(None))
    assert sx.memory.live_exports() == alive


@pytest.mark.parametrize("function", IMPORTS)
def test_producer_that_always_copies_is_refused_with_copy_false(function):
    thing = producers.AlwaysCopying(array())
    assert np.asarray(sx.host_view(function(thing))).tolist() == array().tolist()
    with pytest.raises(sx.ExchangeError):
        function(thing, copy=False)


@pytest.mark.parametrize("function", [*IMPORTS, sx.empty, sx.zeros])
@pytest.mark.parametrize("arguments", [(), (3, 4), (3, "int8", 5), (3,) * 9], ids=str)
def test_arguments_by_position(function, arguments):
    with pytest.raises(TypeError):
        function(*arguments)


@pytest.mark.parametrize("value", [None, True, 0])
@pytest.mark.parametrize("name", [*FUNCTIONS, "to_numpy"])
def test_unknown_keyword_is_a_type_error(name, value):
    function = sx.Tensor.to_numpy if name == "to_numpy" else getattr(sx, name)
    usual = (3, "order") if name in ("empty", "zeros") else (tensor(usm_type="shared"), "copy")
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        function(usual[0], **{usual[1]: None}, bogus=value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_cpp_look_like_python_functions(name):
    """help(), inspect, pickle and copy see a function of the package."""
    function = getattr(sx, name)
    assert (function.__name__, function.__module__) == (name, "sycl_ext")
    assert function.__doc__.startswith(("Return ", "A "))
    assert f"sycl_ext.{name}" in function.__doc__ or f"sx.{name}(" in function.__doc__
    assert str(inspect.signature(function)).startswith("(")
    assert pickle.loads(pickle.dumps(function)) is function


def test_usual_arguments_run_no_python_of_ours():
    for function, argument in ((sx.empty, (2, 3)), (sx.zeros, 3), (sx.as_tensor, tensor())):
        function(argument)
        assert frames_of_ours(function, argument) == []


#: Every function that brings a tensor to a device, as a function of both and of ``copy=``.
TO_DEVICE = {
    "from_dlpack": lambda t, device, copy: sx.from_dlpack(t, device=device, copy=copy),
    "as_tensor": lambda t, device, copy: sx.as_tensor(t, device=device, copy=copy),
    "exchange": lambda t, device, copy: sx.exchange(t, device, copy=copy),
    "to_device": lambda t, device, copy: t.to_device(device, copy=copy),
}


@pytest.mark.parametrize("way", TO_DEVICE)
def test_view_on_the_named_device_of_a_tensor_runs_no_python_of_ours(way, usm_type):
    """Named by its id or by the Device."""
    t, to_device = tensor(usm_type=usm_type), TO_DEVICE[way]
    for device in (t.device, t.device.id):
        for copy in (None, False):
            view = to_device(t, device, copy)
            assert (view.ptr, view.device, view.base) == (t.ptr, t.device, t)
            assert frames_of_ours(to_device, t, device, copy) == []
        assert to_device(t, device, True).ptr != t.ptr
    for device in (True, -1, 1 << 70, 10**9):
        with pytest.raises((TypeError, ValueError), match="device"):
            to_device(t, device, None)


def test_method_of_cpp_binds():
    t = tensor()
    assert t.to_numpy().tolist() == sx.Tensor.to_numpy(t).tolist()
    assert "to_numpy" in repr(t.to_numpy)
    assert inspect.signature(t.to_numpy).parameters["copy"].default is None
    with pytest.raises(TypeError, match="TensorBase"):
        sx.Tensor.to_numpy(np.zeros(3))


@pytest.mark.parametrize("argument", ["dtype", "device"])
def test_interrupt_in_the_hash_of_an_argument_is_raised(argument):
    class Interrupted(str):
        def __hash__(self):
            raise KeyboardInterrupt

    for make in (sx.empty, sx.zeros):
        with pytest.raises(KeyboardInterrupt):
            make(3, **{argument: Interrupted("float32")})


@pytest.mark.parametrize("device", [(14, 0), (2, 0)])
@pytest.mark.parametrize("of_keywords", [True, False])
def test_recursion_error_of_a_producer_goes_through(device, of_keywords):
    """From a view, a copy to the host, or a capsule without keywords."""

    class Endless:
        def __dlpack_device__(self):
            return device

        def __dlpack__(self, **keywords):
            raise RecursionError if of_keywords or not keywords else TypeError

    for function in IMPORTS if of_keywords or device[0] == 14 else ():
        with pytest.raises(RecursionError):
            function(Endless())
