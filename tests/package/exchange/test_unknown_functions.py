# SPDX-License-Identifier: Apache-2.0
"""A function that the table does not know gets one object, once; what follows is its own."""

import sys
from functools import partial

import dpnp
import numpy as np
import pytest
import torch

import sycl_ext as sx
from extensions import labs

VALUES = np.arange(6, dtype="float32").reshape(2, 3)


def usm(usm_type="shared"):
    return sx.empty(VALUES.shape, "float32", usm_type=usm_type).copy_from(VALUES)


def itself(x):
    return x


@pytest.mark.parametrize("copy", [None, False])
def test_it_gets_the_tensor_where_it_is(usm_type, private, halves, copy):
    """In a private context and on a sub-device as well: what it does with the tensor is its own."""
    for device in (None, private, halves[0]):
        tensor = sx.zeros(3, usm_type=usm_type, device=device)
        handed = sx.exchange(tensor, itself, copy=copy)
        assert type(handed) is sx.Tensor
        assert (handed.ptr, handed.device) == (tensor.ptr, tensor.device)
        assert sx.explain(tensor, itself, copy=copy).route is sx.Route.VIEW


def test_it_gets_a_copy_if_one_is_requested(private):
    tensor = sx.zeros(3, device=private)
    handed = sx.exchange(tensor, itself, copy=True)
    assert (handed.ptr != tensor.ptr, handed.device) == (True, private)


def test_it_gets_the_tensor_on_the_requested_device(private):
    tensor = usm()
    assert sx.exchange(tensor, itself, device=private).device is private
    handed = sx.exchange(tensor, itself, device=(1, 0))
    assert (type(handed), handed.ptr) == (sx.HostView, tensor.ptr)
    assert sx.exchange(tensor, itself, device=[private, tensor.device]).ptr == tensor.ptr
    with pytest.raises(sx.CopyRefusedError):
        sx.exchange(tensor, itself, device=private, copy=False)


def test_host_memory_is_handed_over_as_a_host_view():
    handed = sx.exchange(VALUES, itself, copy=False)
    assert (type(handed), handed.ptr) == (sx.HostView, VALUES.ctypes.data)


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize(
    "error_type", [BufferError, RuntimeError, TypeError, ValueError, KeyError, OSError]
)
def test_it_is_called_once_and_its_exception_is_its_own(error_type, copy):
    calls, error = [], error_type("of its own")

    def function(x):
        calls.append(type(x))
        x.__dlpack__(max_version=(1, 0))
        raise error

    with pytest.raises(error_type) as caught:
        sx.exchange(usm(), function, copy=copy)
    assert (caught.value, calls) == (error, [sx.Tensor])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
def test_note_of_a_refusal_names_the_call_with_a_numpy_array():
    with pytest.raises(TypeError) as caught:
        sx.exchange(usm(), "".join)
    assert caught.value.__notes__ == [
        "exchange called it with a Tensor; function(sycl_ext.exchange(x, numpy)) calls it with a "
        "NumPy array"
    ]
    tensor = usm()
    for function in (torch.from_numpy, np.asarray):
        assert np.array_equal(function(sx.exchange(tensor, np)), VALUES)


#: Values that many functions map to themselves, and values that they do not.
DATA = {"fixed points": np.zeros(4, "float32"), "others": np.array([1, 2, 3, 4], "float32") / 3}

NUMPY = "abs negative positive sqrt square sort cumsum copy array asarray ravel flip conj sign exp"
TORCH = "neg relu abs sqrt sort cumsum clone square sign exp nan_to_num flatten conj round"
DPNP = "abs negative sqrt sort cumsum square sign exp copy ravel"


def _functions():
    for name in NUMPY.split():
        function = getattr(np, name)
        yield pytest.param(function, id=f"numpy.{name}")
        own = partial(lambda function, x: function(np.asarray(sx.host_view(x))), function)
        yield pytest.param(own, id=f"own numpy.{name}")
    for name in TORCH.split():
        function = partial(getattr(torch, name), **({"dim": 0} if name == "cumsum" else {}))
        yield pytest.param(function, id=f"torch.{name}")
        own = partial(lambda function, x: function(torch.from_dlpack(sx.host_view(x))), function)
        yield pytest.param(own, id=f"own torch.{name}")
    for name in DPNP.split():
        yield pytest.param(getattr(dpnp, name), id=f"dpnp.{name}")


@pytest.mark.parametrize("function", [*_functions()])
def test_answer_of_copy_false_does_not_depend_on_the_data(function):
    """An importing function that always copies is refused for both, and no other one for either."""
    answers = []
    for values in DATA.values():
        tensor = sx.empty(4, usm_type="shared").copy_from(values)
        plan = sx.explain(tensor, function, copy=False)
        if plan.error is None:
            sx.exchange(tensor, function, copy=False)
        else:
            assert "always copies" in plan.reason
        answers.append(plan)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("values", DATA.values(), ids=DATA)
def test_importing_function_that_copies_is_found_by_the_address(monkeypatch, values):
    """Whatever the elements are; a library for which nothing is kept, and one that is loaded."""
    tensor = sx.empty(4, usm_type="shared").copy_from(values)
    original = np.from_dlpack
    monkeypatch.setattr(np, "from_dlpack", lambda x: original(x).copy())
    for _ in range(2):
        with pytest.raises(sx.CopyRefusedError, match=r"a copy of its argument \(numpy\.ndarray\)"):
            sx.exchange(tensor, np, copy=False)
        assert sx.exchange(tensor, np).tolist() == values.tolist()


@pytest.mark.parametrize("takes", ["NumPy array", "host view", "tensor"])
def test_every_importing_function_is_compared_by_address(takes, monkeypatch):
    """Whatever object it takes; a function in the place of the library's own copies here."""
    module, name, source = {
        "NumPy array": (torch, "from_numpy", usm()),
        "host view": (np, "from_dlpack", usm()),
        "tensor": (dpnp, "from_dlpack", usm("device")),
    }[takes]
    own = getattr(module, name)

    def copying(x):
        array = own(x)
        return array.clone() if module is torch else array.copy()

    copying.__module__, copying.__name__ = module.__name__, name
    monkeypatch.setattr(module, name, copying)
    for _ in range(2):  # as a first and as a kept decision
        with pytest.raises(sx.CopyRefusedError, match="returned a copy of its argument"):
            sx.exchange(source, copying, copy=False)
    sx.exchange(source, copying)
    monkeypatch.undo()
    assert sx.exchange(source, own, copy=False) is not None


WRITE = ("write_any_strides", "write_c_order", "write_float64", "write_never_converted")
LAYOUTS = {
    "C order": lambda x: x,
    "transposed": lambda x: x.T,
    "every second column": lambda x: x[:, ::2],
}


@pytest.mark.timeout(300)  # the first test builds the module
@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("device", [None, (1, 0)])
@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_cpp_function_writes_to_the_memory_or_is_not_called(layout, name, device, copy):
    """nanobind converts arrays of NumPy by itself, so such a function would write to a copy."""
    function = getattr(labs.load("views_nanobind"), name)
    for dtype in ("float32", "float64", "int32", "bool"):
        answers = set()
        for values in (np.zeros((4, 4), dtype), np.ones((4, 4), dtype)):
            tensor = LAYOUTS[layout](sx.empty((4, 4), dtype, usm_type="shared").copy_from(values))
            try:
                address = sx.exchange(tensor, function, device=device, copy=copy)
            except TypeError:
                answers.add("not called")
                assert np.array_equal(tensor.to_numpy(), LAYOUTS[layout](values))
            else:
                answers.add("called")
                assert (address, tensor.to_numpy().flat[0]) == (tensor.ptr, 5)
        assert len(answers) == 1
        takes = "float64" if name == "write_float64" else "float32"
        fits = layout == "C order" or name in ("write_any_strides", "write_float64")
        expected = "called" if device and takes == dtype and fits else "not called"
        assert answers == {expected}
