# SPDX-License-Identifier: Apache-2.0
"""The steps of an import in Python: which of them has the answer for an object."""

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from sycl_ext._protocols import imports, producer_facts


class Subclass(np.ndarray):
    pass


class Producer:
    """A DLPack producer without any other protocol."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)


class CopyingProducer(Producer):
    """A producer that refuses views, and makes copies on the host."""

    def __dlpack__(self, *, dl_device=None, **keywords):
        if dl_device is None:
            raise BufferError("the memory cannot be viewed")
        return self.tensor.__dlpack__(dl_device=dl_device, **keywords)


class Described:
    """An object with ``__sycl_usm_array_interface__`` alone."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__sycl_usm_array_interface__ = tensor.__sycl_usm_array_interface__


def array_of_bfloat16():
    return np.zeros(4, pytest.importorskip("ml_dtypes").bfloat16)


OBJECTS = {
    "tensor": (lambda: sx.zeros(4), "take_tensor_or_capsule"),
    "capsule": (lambda: sx.zeros(4).__dlpack__(), "take_tensor_or_capsule"),
    "description": (lambda: Described(sx.zeros(4)), "read_description_first"),
    "subclass of ndarray": (lambda: np.zeros(4).view(Subclass), "read_numpy_subclass"),
    "buffer": (lambda: bytearray(4), "take_buffer"),
    "producer": (lambda: Producer(sx.zeros(4)), "ask_for_view"),
    "array of bfloat16": (array_of_bfloat16, "read_numpy_array"),
    "producer of copies": (lambda: CopyingProducer(sx.zeros(4)), "ask_for_copy"),
}


def import_of(x, *, dlpack_only=False, view=None, refusals=()):
    """An import that has made no step yet."""
    return imports.Import(
        x,
        view=view,
        refusals=list(refusals),
        table_asked=False,
        dlpack_only=dlpack_only,
        in_place=False,
        copy=None,
        device=None,
        usm_type=None,
        facts=producer_facts.facts_of(x),
    )


def first_answer(run, steps):
    """The first step that has a tensor, by its name, and the tensor."""
    answers = ((step.__name__, step(run)) for step in steps)
    return next((name, tensor) for name, tensor in answers if tensor is not None)


@needs("system_usm", "producer of copies")
@pytest.mark.parametrize(("make", "step"), OBJECTS.values(), ids=OBJECTS)
def test_objects_are_imported_by_the_first_step_that_knows_them(make, step):
    name, tensor = first_answer(import_of(make()), imports.STEPS)
    assert name == step
    assert tensor.size == 4


@pytest.mark.parametrize("name", ["description", "buffer"])
def test_from_dlpack_takes_no_other_protocol(name):
    run = import_of(OBJECTS[name][0](), dlpack_only=True)
    assert all(step(run) is None for step in imports.FIRST_STEPS)


def test_view_of_the_core_is_not_asked_for_again():
    class Silent:
        def __dlpack_device__(self):
            raise AssertionError("asked again")

    tensor = sx.zeros(4)
    name, imported = first_answer(import_of(Silent(), view=tensor), imports.DLPACK_STEPS)
    assert name == "ask_for_view"
    assert imported.ptr == tensor.ptr


@needs("system_usm")
def test_refusal_of_a_view_leads_to_a_copy():
    refusals = [BufferError("refused by the core's request")]
    run = import_of(CopyingProducer(sx.zeros(4)), refusals=refusals)
    assert first_answer(run, imports.DLPACK_STEPS)[0] == "ask_for_copy"


@needs("device_copies")
def test_device_that_is_not_of_sycl_is_reached_by_a_copy_alone():
    class OnMetal(CopyingProducer):
        def __dlpack_device__(self):
            return (8, 0)

    x = OnMetal(sx.ones(4))
    expected = r"through the host is required: the OnMetal is on device \(8, 0\).* pass copy=None"
    with pytest.raises(sx.CopyRefusedError, match=expected):
        sx.from_dlpack(x, copy=False)
    assert sx.from_dlpack(x, copy=None, device="cpu").tolist() == [1, 1, 1, 1]
