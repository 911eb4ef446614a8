# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments: the error names the argument, the value that was found, and the right form."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

import sycl_ext as sx


def tensor():
    return sx.zeros((2, 3), usm_type="shared")


#: Arguments that are one of some words: name, call.
WORDS = {
    "order of empty": ("order", lambda word: sx.empty(2, order=word)),
    "order of full": ("order", lambda word: sx.full(2, 1, order=word)),
    "order of zeros_like": ("order", lambda word: sx.zeros_like(tensor(), order=word)),
    "order of a copy": ("order", lambda word: tensor().copy(word)),
    "order of a copy of a host view": ("order", lambda word: sx.host_view(tensor()).copy(word)),
    "order of ipc.empty": ("order", lambda word: sx.ipc.empty(2, order=word)),
    "usm_type of empty": ("usm_type", lambda word: sx.empty(2, usm_type=word)),
    "usm_type of as_tensor": ("usm_type", lambda word: sx.as_tensor(tensor(), usm_type=word)),
    "usm_type of a copy": ("usm_type", lambda word: tensor().copy(usm_type=word)),
    "usm_type of exchange": ("usm_type", lambda word: sx.exchange(tensor(), 0, usm_type=word)),
    "usm_type of a device": ("usm_type", lambda word: sx.device().host_accessible(word)),
    "mode": ("mode", lambda word: sx.staged(tensor(), word).__enter__()),
    "advice": ("advice", lambda word: sx.memory.advise(tensor(), word)),
    "library": ("library", lambda word: sx.pickling.register(word)),
    "how": ("how", lambda word: sx.ipc.pack(tensor(), how=word)),
}
OTHER_TEXTS = ("K", "", "\ud800")  # the last is not UTF-8
NO_TEXTS = (3, 1.5, b"C", object(), np.zeros(3), np.array(["C", "F"]), ["C"], {})


@pytest.mark.parametrize("call", WORDS)
def test_word_that_is_none_of_the_words_is_named(call):
    name, function = WORDS[call]
    for word in (*OTHER_TEXTS, *NO_TEXTS):
        with pytest.raises(ValueError if isinstance(word, str) else TypeError) as caught:
            function(word)
        assert str(caught.value).startswith(f"{name} is {word!r}; it must be '")


@pytest.mark.parametrize("text", OTHER_TEXTS, ids=ascii)
def test_partition_that_is_no_affinity_domain_is_named(text):
    with pytest.raises(ValueError, match="; it must be 'numa', ") as caught:
        sx.device().create_sub_devices(text)
    assert str(caught.value).startswith(f"partition is {text!r}")


SHAPES = {
    "empty": sx.empty,
    "zeros": sx.zeros,
    "full": lambda shape: sx.full(shape, 1),
    "reshape": lambda shape: tensor().reshape(shape),
    "ipc.empty": sx.ipc.empty,
}


@pytest.mark.parametrize("call", SHAPES)
@pytest.mark.parametrize(
    "shape",
    [{3, 2}, frozenset({3, 2}), {2: "a", 3: "b"}, MappingProxyType({2: 3}), {6: 1}.keys()],
    ids=range(5),
)
def test_shape_without_an_order_is_refused(call, shape):
    with pytest.raises(TypeError, match="it must be an int or a sequence of ints"):
        SHAPES[call](shape)


def test_counts_of_a_partition_without_an_order_are_refused():
    with pytest.raises(TypeError, match="a sequence of such numbers"):
        sx.device().create_sub_devices({1})


@pytest.mark.parametrize("number", [3, np.int64(3), np.uint8(3), True, np.bool_(True)])
def test_number_in_place_of_a_dtype_is_a_second_length(number):
    """NumPy reads the dtype of a number, so that the second length would be lost."""
    with pytest.raises(TypeError, match=r"pass the shape as one tuple: \(2, "):
        sx.empty(2, number)


@pytest.mark.parametrize("dtype", [np, "\ud800", 1.5, {1}], ids=range(4))
def test_object_that_is_no_dtype_is_named(dtype):
    with pytest.raises(TypeError, match="is not a dtype: .*; pass a name such as 'float32'"):
        sx.empty(2, dtype)


@pytest.mark.parametrize("axis", [1.5, "0", None, [0], np.zeros(2)], ids=range(5))
def test_axis_that_is_no_number_is_named(axis):
    for call in (lambda: tensor().transpose(axis, 0), lambda: tensor().squeeze((axis,))):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == f"axis is {axis!r}; it must be an int"


@pytest.mark.parametrize("axes", [np.array([1, 0]), [1, 0], range(1, -1, -1)], ids=range(3))
def test_axes_are_any_sequence(axes):
    assert tensor().transpose(axes).shape == (3, 2)


@pytest.mark.parametrize("make", [tensor, lambda: sx.host_view(tensor())])
def test_deletion_of_an_item_names_the_view(make):
    array = make()
    with pytest.raises(TypeError, match="does not support item deletion; take the elements"):
        del array[0]


@pytest.mark.parametrize("pair", ["cpu", (14,), (1.0, 0), None], ids=range(4))
def test_pair_that_is_not_a_device_is_named_by_who_gave_it(pair):
    class Array:
        def __dlpack_device__(self):
            return pair

        def __dlpack__(self, **_):
            raise AssertionError

    for take in (sx.from_dlpack, sx.as_tensor, sx.host_view):
        with pytest.raises(TypeError) as caught:
            take(Array())
        assert str(caught.value).startswith(f"__dlpack_device__() of the Array is {pair!r}; a DLP")
    if pair is not None:
        with pytest.raises(TypeError) as caught:
            tensor().__dlpack__(dl_device=pair)
        assert str(caught.value).startswith(f"dl_device is {pair!r}; a DLPack device is")


def test_capsule_that_holds_no_queue_is_named():
    dpctl = pytest.importorskip("dpctl")
    of_context = dpctl.SyclContext()._get_capsule()
    read_before = dpctl.SyclQueue()._get_capsule()
    dpctl.SyclQueue(read_before)
    for capsule in (of_context, read_before):
        for stream in (capsule, SimpleNamespace(_get_capsule=lambda capsule=capsule: capsule)):
            with pytest.raises(TypeError) as caught:
                tensor().__dlpack__(stream=stream)
            assert str(caught.value).startswith(f"{capsule!r} is not a 'SyclQueueRef' capsule; use")
    with pytest.raises(TypeError, match=r"_get_capsule\(\) of the SimpleNamespace returned a int"):
        tensor().__dlpack__(stream=SimpleNamespace(_get_capsule=lambda: 3))
