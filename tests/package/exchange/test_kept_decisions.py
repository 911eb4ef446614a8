# SPDX-License-Identifier: Apache-2.0
"""The answers that `exchange` keeps for a consumer and for the facts of an array.

Each test asks once, changes something that the answer depends on, and asks again. That a kept
answer is the one of `explain`: ``test_one_decision.py``. What the answers keep alive, and threads:
``test_kept_decision_lifetimes.py``.
"""

import functools
import importlib
import re
import sys
import types
from pathlib import Path

import dpctl
import dpnp
import numpy as np
import pytest
import torch

import environments
import samples
import sycl_ext as sx
from sycl_ext import _core
from sycl_ext._exchange import decisions

NAME = "library_of_arrays"


def test_views_of_the_core_are_those_of_python():
    header = (Path(__file__).parents[3] / "src/python/decisions.hpp").read_text()
    names = re.search(r"enum class View : \S+ \{ ([^}]*) \}", header)[1].upper()
    assert names.split(", ") == [view.name for view in sorted(decisions.View)]


def usm():
    return sx.zeros((2, 3), usm_type="shared")


def named(result):
    """A ``from_dlpack`` that tells who was called."""
    return lambda x: (result, np.from_dlpack(x))


# ---- that answers are kept -----------------------------------------------------------------------

#: Consumers for which answers are kept.
KEPT = {
    "numpy": np,
    "numpy by its name": "numpy",
    "numpy.asarray": np.asarray,
    "numpy.atleast_2d": np.atleast_2d,
    "torch": torch,
    "torch.asarray": torch.asarray,
    "the host": (1, 0),
}


@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("name", KEPT)
def test_kept_answer_runs_no_python_of_the_package(name, copy):
    consumer = KEPT[name]
    for x in (usm(), dpnp.zeros((2, 3), dtype="f4", usm_type="shared")):
        sx.exchange(x, consumer, copy=copy)
        exchange = functools.partial(sx.exchange, copy=copy)
        assert samples.frames_of_ours(exchange, x, consumer) == []


@pytest.mark.parametrize("array", ["np.zeros(3)", "dpnp.zeros(3, usm_type='shared')"])
def test_first_answer_of_a_process_is_kept(array):
    """The devices are listed in the first exchange, and that makes no kept answer old."""
    frames = environments.python(f"""
import dpnp, numpy as np, torch
import samples
import sycl_ext as sx

x = {array}
sx.exchange(x, torch)
print(samples.frames_of_ours(sx.exchange, x, torch))
""")
    assert frames == "[]\n"


def test_another_array_with_the_same_facts_asks_nothing():
    sx.exchange(usm(), np)
    for shape in ((5, 5), (7, 2)):
        x = sx.zeros(shape, usm_type="shared")
        assert samples.frames_of_ours(sx.exchange, x, np) == []


#: Each has a line below, so that a new one is filled in.
FACTS = [name for name in vars(_core.ArrayFacts) if not name.startswith("_")]


def test_facts_in_the_core_are_the_attributes_of_the_tensor(usm_type, private):
    base = sx.empty((4, 6), "int64", usm_type=usm_type, device=private)
    system = sx.as_tensor(np.zeros((4, 6), "int64"), copy=False, device="cpu")
    on_queue = sx.zeros((4, 6), device=dpctl.SyclQueue(sx.device().sycl_device))
    for tensor in (base, base.as_readonly(), sx.host_view(base), system, on_queue):
        for x in (tensor, tensor[::-1], tensor[:, ::2], tensor.T, tensor[:0], tensor[1, 1]):
            facts = _core.array_facts(x)
            entry = None if x.entry_id is None else _core.entry(x.entry_id)
            assert {name: getattr(facts, name) for name in FACTS} == {
                "entry": x.entry_id,
                "root": entry and entry.root_id,
                "usm_type": x.usm_type,
                "default_context": bool(entry and entry.default_context),
                "on_host": x.__dlpack_device__() == (1, 0),
                "host_reachable": x.host_accessible,
                "readonly": x.readonly,
                "reversed": x.reversed,
                "c_contiguous": x.c_contiguous,
                "f_contiguous": x.f_contiguous,
                "empty": x.size == 0,
                "own_queue": tensor is on_queue,
                "dtype": x.dtype_name,
                "ndim": x.ndim,
                "alignment": min(64, x.ptr & -x.ptr) if x.ptr else 64,
            }


def test_decision_that_cannot_be_read_is_an_error(monkeypatch, library):
    """The core reads a decision of Python with the checks of any other object."""
    monkeypatch.setattr(decisions, "view_of", lambda *_: "not a number")
    for _ in range(2):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            sx.exchange(usm(), library)


# ---- a consumer that changes ---------------------------------------------------------------------


@pytest.mark.parametrize("module", [np, torch, dpnp])
def test_patched_function_is_called(monkeypatch, module):
    tensor, original = usm(), type(sx.exchange(usm(), module))
    with monkeypatch.context() as patched:
        patched.setattr(module, "from_dlpack", lambda x: ("patched", x.ptr))
        assert sx.exchange(tensor, module) == ("patched", tensor.ptr)
        assert sx.exchange(tensor, module.__name__) == ("patched", tensor.ptr)
    assert type(sx.exchange(tensor, module)) is original


def test_patched_function_is_the_one_that_makes_the_array_of_another(monkeypatch):
    """``numpy.asarray`` gets what ``numpy.from_dlpack`` returns."""
    sx.exchange(usm(), np.asarray)
    calls, original = [], np.from_dlpack
    monkeypatch.setattr(np, "from_dlpack", lambda x: calls.append(1) or original(x))
    assert sx.exchange(usm(), np.asarray).shape == (2, 3)
    assert calls == [1]


def test_removed_function_is_missed(monkeypatch, library):
    sx.exchange(usm(), library)
    monkeypatch.delattr(library, "from_dlpack")
    with pytest.raises(TypeError, match="has no from_dlpack"):
        sx.exchange(usm(), library)


def test_reloaded_module_is_seen(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / f"{NAME}.py"
    for number in range(3):  # of different lengths, as files of one second are told apart
        source.write_text(f"def from_dlpack(x): return {number}{' ' * number}\n")
        importlib.invalidate_caches()
        module = importlib.reload(importlib.import_module(NAME))
        for consumer in (module, NAME):
            assert sx.exchange(usm(), consumer) == number
    del sys.modules[NAME]


def test_module_in_the_place_of_another_is_seen(monkeypatch, library):
    sx.exchange(usm(), NAME)
    sx.exchange(usm(), library)
    other = types.ModuleType(NAME)
    other.from_dlpack = named("other")
    monkeypatch.setitem(sys.modules, NAME, other)
    assert sx.exchange(usm(), NAME)[0] == "other"
    assert type(sx.exchange(usm(), library)) is np.ndarray


def test_dpnp_in_the_place_of_dpnp_gets_no_description(monkeypatch):
    sx.exchange(usm(), "dpnp")
    fake = types.ModuleType("dpnp")
    fake.from_dlpack = lambda x: type(x)
    monkeypatch.setitem(sys.modules, "dpnp", fake)
    assert sx.exchange(usm(), "dpnp") is sx.Tensor


def test_importing_function_is_found_again_through_what_holds_it(monkeypatch):
    """In a module of the library, and in a namespace of it; each may be replaced as a whole."""

    def holding(result):
        return types.SimpleNamespace(from_dlpack=lambda x: result)

    for package in ("jax", "tensorflow"):
        library = types.ModuleType(package)
        monkeypatch.setitem(sys.modules, package, library)
        for result in ("first", "second"):
            library.experimental = types.SimpleNamespace(dlpack=holding(result))
            monkeypatch.setitem(sys.modules, "jax.dlpack", holding(result))
            for _ in range(2):
                assert sx.exchange(usm(), library) == result


def test_module_that_says_that_it_is_another_library_gets_its_row(library):
    reversed_ = usm()[::-1]
    assert sx.explain(reversed_, library).route is sx.Route.VIEW
    library.__name__ = "torch"
    assert sx.explain(reversed_, library).route is sx.Route.HOST_COPY
    library.__name__ = 7
    with pytest.raises(TypeError, match="__name__ is 7"):
        sx.exchange(usm(), library)


def test_function_that_becomes_a_known_one_has_its_limits(monkeypatch):
    def convert(x):
        return np.asarray(x)

    convert.__module__, convert.__name__ = "numpy", "convert"
    monkeypatch.setattr(np, "convert", convert, raising=False)
    assert sx.explain(usm(), convert).copies == 0
    monkeypatch.setattr(np, "array", convert)  # of which the table says that it copies
    assert sx.explain(usm(), convert).copies == 1


def test_another_version_has_another_row(monkeypatch):
    value = types.SimpleNamespace(from_dlpack=lambda capsule: capsule)
    module = types.ModuleType("onnxruntime")
    states = types.SimpleNamespace(OrtValue=value)
    module.capi = types.SimpleNamespace(onnxruntime_pybind11_state=states)
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    for version, has_bool in (("1.31.1", False), ("1.32.0", True), ("1.31.1", False)):
        module.__version__ = version
        plan = sx.explain(sx.zeros(3, "bool", usm_type="shared"), module)
        assert (plan.error is None) == has_bool


def test_another_version_has_another_row_for_its_functions(monkeypatch):
    """The version is that of the library which is loaded when the function is called."""
    states = types.ModuleType("onnxruntime.states")

    def convert(x):
        return x

    convert.__module__, states.convert = states.__name__, convert
    monkeypatch.setitem(sys.modules, states.__name__, states)
    for version, has_bool in ((None, False), ("1.32.0", True), ("1.31.1", False)):
        if version is not None:
            module = types.ModuleType("onnxruntime")
            module.__version__ = version
            monkeypatch.setitem(sys.modules, "onnxruntime", module)
        plan = sx.explain(sx.zeros(3, "bool", usm_type="shared"), convert)
        assert (plan.error is None) == has_bool


def test_module_of_a_subclass_answers_for_itself(monkeypatch):
    """Its attributes need not be in its dictionary."""

    class Module(types.ModuleType):
        answer = "first"

        @property
        def from_dlpack(self):
            return functools.partial(lambda answer, x: answer, self.answer)

    module = Module(NAME)
    monkeypatch.setitem(sys.modules, NAME, module)
    for answer in ("first", "second", "third"):
        Module.answer = answer
        assert sx.exchange(usm(), module) == answer


def test_attribute_that_a_module_computes_is_asked_again(library):
    del library.from_dlpack
    computed = {"__version__": "1"}
    library.__getattr__ = computed.__getitem__
    for answer in ("first", "second"):
        computed["from_dlpack"] = named(answer)
        for _ in range(2):
            assert sx.exchange(usm(), library)[0] == answer


def test_subclass_of_an_array_class_is_another_consumer():
    class Array(dpnp.ndarray):
        pass

    for _ in range(2):
        assert type(sx.exchange(usm(), dpnp.ndarray)) is dpnp.ndarray
        assert sx.explain(usm(), Array).error is None


def test_function_that_was_redefined_is_seen(monkeypatch, library):
    for number in range(3):

        def convert(x, number=number):
            return number, x.ptr

        convert.__module__, convert.__name__ = NAME, "convert"
        library.convert = convert
        for _ in range(2):
            assert sx.exchange(sx.host_view(usm()), convert)[0] == number


# ---- a configuration that changes ----------------------------------------------------------------


def test_gpu_that_torch_finds_later_gets_the_memory_itself(monkeypatch):
    tensor = sx.zeros(3)
    on_host = sx.explain(tensor, (1, 0)).route  # a copy of what the host cannot reach
    routes = []
    for has_xpu in (False, True, False):
        monkeypatch.setattr(torch.xpu, "is_available", lambda has_xpu=has_xpu: has_xpu)
        routes.append(sx.explain(tensor, torch).route)
    assert routes == [on_host, sx.Route.VIEW, on_host]


@pytest.mark.parametrize("name", ["torch", "array_api_compat.torch"])
def test_answer_is_asked_where_it_is_found_now(monkeypatch, name):
    """The namespace of the question may be replaced, and so may the library."""
    consumer, tensor = types.ModuleType(name), sx.zeros(3)
    consumer.from_dlpack = torch.from_dlpack
    consumer.__dict__.update({key: getattr(torch, key) for key in ("xpu", "cuda", "device")})
    monkeypatch.setitem(sys.modules, name, consumer)
    on_host = sx.explain(tensor, consumer).route
    has_xpu = types.SimpleNamespace(is_available=lambda: True)
    with monkeypatch.context() as patched:
        patched.setattr(sys.modules["torch"], "xpu", has_xpu)
        assert sx.explain(tensor, consumer).route is sx.Route.VIEW
    assert sx.explain(tensor, consumer).route is on_host
    if name != "torch":
        library = types.ModuleType("torch")
        library.xpu, library.cuda = has_xpu, torch.cuda
        monkeypatch.setitem(sys.modules, "torch", library)
        assert sx.explain(tensor, consumer).route is sx.Route.VIEW


def test_question_about_devices_is_not_asked_for_an_array_of_the_host(monkeypatch):
    """Its answer would change nothing, and the question costs as much as the exchange."""
    asked = []
    monkeypatch.setattr(torch.xpu, "is_available", lambda: asked.append("xpu"))
    arrays = {"host": np.ones(3), "USM": sx.ones(3)}
    counts = {}
    for name, array in arrays.items():
        sx.exchange(array, torch)
        asked.clear()
        for _ in range(3):
            sx.exchange(array, torch)
        counts[name] = len(asked)
    assert counts == {"host": 0, "USM": 3}


@pytest.mark.parametrize("source", ["USM", "host"])
def test_jax_that_is_told_later_to_keep_64_bits_gets_them(monkeypatch, source):
    config = types.SimpleNamespace(jax_enable_x64=False)
    jax = types.ModuleType("jax")
    jax.config, jax.dlpack = config, types.ModuleType("jax.dlpack")
    jax.dlpack.from_dlpack = named("jax")
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.dlpack", jax.dlpack)
    usm = sx.zeros(3, "int64", usm_type="shared")
    tensor = usm if source == "USM" else np.zeros(3, "int64")
    for wide in (False, True, False):
        config.jax_enable_x64 = wide
        if wide:
            assert sx.exchange(tensor, jax)[0] == "jax"
            continue
        with pytest.raises(BufferError, match="silently convert int64"):
            sx.exchange(tensor, jax)


def test_ml_dtypes_that_is_loaded_later_is_used(monkeypatch):
    tensor = sx.zeros(3, "bfloat16", usm_type="shared")
    sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))  # nothing is kept now
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "ml_dtypes", None)
        for _ in range(2):
            with pytest.raises(BufferError, match="install ml_dtypes"):
                sx.exchange(tensor, np)
    assert sx.exchange(tensor, np).dtype == "bfloat16"


def test_library_that_is_loaded_later_is_found():
    """Its function was unknown, because nobody had loaded its library."""
    environments.python(
        """
import sys, types
import numpy as np
import sycl_ext as sx
alias = types.ModuleType("array_api_compat.polars")
sys.modules[alias.__name__] = alias
t = sx.zeros(3, "bool", usm_type="shared")
def Series(x): return x
Series.__module__ = alias.__name__
alias.Series = Series
for copies in (0, 1, 1):
    assert sx.explain(t, Series).copies == copies, sx.explain(t, Series)
    assert sx.exchange(t, Series).tolist() == [False] * 3
    library = types.ModuleType("polars")
    library.Series = Series  # of which the table says that it copies bool
    sys.modules["polars"] = library
"""
    )


def test_registered_context_ends_all_answers(private):
    for consumer in (np, 0, "cpu"):
        sx.exchange(usm(), consumer)
    other = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))
    assert samples.frames_of_ours(sx.exchange, usm(), np)  # it is decided anew
    assert not samples.frames_of_ours(sx.exchange, usm(), np)
    tensor = sx.zeros(3, device=other)
    assert sx.exchange(tensor, other, copy=False).ptr == tensor.ptr
    assert sx.explain(tensor, 0).copies == 1


def test_unknown_device_is_found_once_it_has_an_entry():
    number = len(sx.devices())
    for _ in range(2):
        with pytest.raises(ValueError, match=f"there is no device {number}"):
            sx.exchange(usm(), number)
    made = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))
    assert made.id == number
    assert sx.exchange(usm(), number).device is made


# ---- refusals ------------------------------------------------------------------------------------


def test_refusal_is_a_new_exception_each_time():
    reversed_ = usm()[::-1]
    errors = []
    for _ in range(3):
        with pytest.raises(sx.CopyRefusedError, match="copy=False, but") as caught:
            sx.exchange(reversed_, torch, copy=False)
        errors.append(caught.value)
        assert str(caught.value) == sx.explain(reversed_, torch, copy=False).reason
    assert len({id(error) for error in errors}) == 3
    assert [error.__context__ for error in errors] == [None] * 3


def test_consumer_that_refuses_now_and_then_gets_the_next_form(library):
    forms = []

    def from_dlpack(x):
        forms.append(type(x))
        # The third exchange is refused once, and the fourth each time: the view, and then the copy.
        if len(forms) in (3, 5, 6, 7):
            raise ValueError("not now")
        return x.ptr

    library.from_dlpack = from_dlpack
    tensor = usm()
    assert sx.exchange(tensor, library) == sx.exchange(tensor, library) == tensor.ptr
    assert sx.exchange(tensor, library) == tensor.ptr
    with pytest.raises(sx.ExchangeError, match="ValueError: not now"):
        sx.exchange(tensor, library)
    view = [sx.Tensor, sx.HostView]
    assert forms == [sx.Tensor, sx.Tensor, *view, *view, sx.HostView]


@pytest.mark.parametrize("error_type", [KeyboardInterrupt, RecursionError, sx.SyclError])
def test_exception_that_is_no_refusal_passes(library, error_type):
    calls = []

    def from_dlpack(x):
        calls.append(x.shape)
        raise error_type("of its own")

    library.from_dlpack = from_dlpack
    for count in (1, 2):
        with pytest.raises(error_type, match="of its own"):
            sx.exchange(usm(), library)
        assert len(calls) == count


def test_elements_of_less_than_a_byte_are_refused_each_time():
    tensor = torch.arange(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    for _ in range(2):
        with pytest.raises(BufferError, match=r"tensor\.view\(torch\.uint8\)"):
            sx.exchange(tensor, np)
        assert sx.explain(tensor, np).error is not None
        assert sx.exchange(tensor.view(torch.uint8), np).tolist() == [0, 1, 2, 3]


def test_failing_library_does_not_end_exchanges_with_others(library, monkeypatch):
    from_dlpack = library.__dict__.pop("from_dlpack")
    failures = []

    def compute_attribute(name):
        if failures:
            raise ImportError(failures[0])
        return from_dlpack

    library.__getattr__ = compute_attribute
    assert type(sx.exchange(usm(), library)) is np.ndarray
    failures.append("an optional package is missing")
    other = types.ModuleType("other_library")
    other.from_dlpack = from_dlpack
    monkeypatch.setitem(sys.modules, other.__name__, other)
    assert type(sx.exchange(usm(), other)) is np.ndarray
    with pytest.raises(ImportError, match="an optional package is missing"):
        sx.exchange(usm(), library)


class NotComparable(str):
    """A key of a dictionary that raises when it is compared."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise ZeroDivisionError("not comparable")


def test_key_that_cannot_be_compared_does_not_end_exchanges_with_others(library, monkeypatch):
    """Such a key in the dictionary of one library, which the core looks at for old targets."""
    from_dlpack = library.from_dlpack
    sx.exchange(usm(), library)
    del library.from_dlpack
    library.__dict__[NotComparable("from_dlpack")] = None
    other = types.ModuleType("other_library")
    other.from_dlpack = from_dlpack
    monkeypatch.setitem(sys.modules, other.__name__, other)
    for _ in range(2):
        assert type(sx.exchange(usm(), other)) is np.ndarray
