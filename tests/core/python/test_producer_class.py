# SPDX-License-Identifier: Apache-2.0
"""The cached facts about a producer's class are valid until the class changes."""

import re
from pathlib import Path

import dpctl
import numpy as np
import pytest

import samples
import sycl_ext as sx
from producers import Producer, Table, with_table
from sycl_ext._protocols.producer_facts import ProducerFacts


def test_bits_that_the_core_reads_are_those_of_python():
    header = (Path(__file__).parents[3] / "src/python/producer_class.hpp").read_text()
    declared = re.search(r"static constexpr long ([^;]*);", header)[1]
    bits = {name.upper(): int(bit) for name, bit in re.findall(r"(\w+) = (\d+)", declared)}
    assert len(bits) == 7
    assert bits.items() <= {fact.name: fact.value for fact in ProducerFacts}.items()


def new_class():
    """A producer of host memory, or of a tensor's, which notes the streams that it was given."""

    class Noting:
        def __init__(self, array):
            self.array, self.streams = array, []

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, *, max_version, stream=None):
            self.streams.append(stream)
            return self.array.__dlpack__(max_version=max_version)

    return Noting


def imported_often(producer):
    """Import often enough that Python and we remember what there is to know of the class."""
    for _ in range(3):
        tensor = sx.from_dlpack(producer)
    return tensor


def test_base_class_may_lose_its_method():
    class Derived(new_class()):
        pass

    producer = Derived(np.arange(3.0))
    imported_often(producer)
    del Derived.__bases__[0].__dlpack__
    with pytest.raises(TypeError):
        sx.as_tensor(producer)


def test_class_may_gain_a_queue():
    tensor = sx.zeros(4, usm_type="shared")
    producer = new_class()(tensor)
    imported_often(producer)
    queue = dpctl.SyclQueue(tensor.device.sycl_context, tensor.device.sycl_device)
    type(producer).sycl_queue = property(lambda self: queue)
    sx.from_dlpack(producer)
    assert producer.streams[-1] == queue


def test_class_may_gain_and_lose_a_table():
    table = Table()
    producer = type("Late", (Producer,), {"__dlpack__": Producer.__dlpack__})(np.arange(3.0))
    imported_often(producer)
    type(producer).__dlpack_c_exchange_api__ = table.capsule
    imported_often(producer)
    assert (len(table.made), len(producer.calls)) == (3, 3)
    del type(producer).__dlpack_c_exchange_api__
    imported_often(producer)
    assert (len(table.made), len(producer.calls)) == (3, 6)


def test_class_that_gains_a_lazy_state_is_asked_by_method():
    """As torch's tensors have: the table would hand over the memory as it lies."""
    table = Table()
    producer = with_table(table)(np.arange(3.0))
    imported_often(producer)
    type(producer).requires_grad = True
    imported_often(producer)
    assert (len(table.made), len(producer.calls)) == (3, 3)


def test_many_classes_are_remembered_at_once():
    """A second look at a class asks nothing, whichever classes were seen in between."""

    def frames_of_second_looks():
        producers = [new_class()(sx.zeros(3)) for _ in range(100)]
        for producer in producers:
            imported_often(producer)
        return [samples.frames_of_ours(sx.from_dlpack, producer) for producer in producers]

    # Classes of earlier tests may fill the table: then all are forgotten, once in two rounds.
    assert [[]] * 100 in (frames_of_second_looks(), frames_of_second_looks())


def test_classes_that_come_and_go():
    for number in range(300):  # addresses are used again
        has_method = number % 2 == 0
        cls = new_class()
        if not has_method:
            del cls.__dlpack__
        producer = cls(np.arange(2.0))
        for _ in range(2):
            if has_method:
                assert sx.as_tensor(producer).shape == (2,)
            else:
                with pytest.raises(TypeError):
                    sx.as_tensor(producer)


class OfInstances:
    """A descriptor that cannot be asked for the attribute of the class."""

    def __init__(self, error):
        self.error = error

    def __get__(self, instance, owner):
        if instance is None:
            raise self.error
        return instance.queue


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_queue_of_instances_is_found(error):
    tensor = sx.zeros(4, usm_type="shared")
    producer = type("Odd", (new_class(),), {"sycl_queue": OfInstances(error("of a class"))})(tensor)
    producer.queue = dpctl.SyclQueue(tensor.device.sycl_context, tensor.device.sycl_device)
    sx.from_dlpack(producer)
    assert producer.streams == [producer.queue]
