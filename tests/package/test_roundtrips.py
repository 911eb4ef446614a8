# SPDX-License-Identifier: Apache-2.0
"""Every way gives the right elements: of every dtype, layout and kind of USM, from every producer.

A view is of the memory itself, with its strides; a copy is of memory of its own.  The environments
with GPUs run this file as well, on tensors of a GPU.
"""

import dpctl
import numpy as np
import pytest

import producers
import samples
import sycl_ext as sx
import ways
from needs import needs
from samples import DTYPE_NAMES, LAYOUTS, bits, strides_of, values
from ways import COPY, EITHER, HOST, NEW, VIEW, WAYS, WRITES, Tag

#: But for `empty`, whose elements are anything.
ARRAYS = ways.select(VIEW, HOST, COPY, EITHER, NEW, without={Tag.UNINITIALIZED, Tag.KERNELS})
WRITERS = ways.select(WRITES, without={Tag.ONE_NUMBER})
#: None: the default device, whose memory the host reaches.
GPU = next((device for device in sx.devices() if device.device_type == "gpu"), None)
#: One of each size.
SIZES = ("bool", "bfloat16", "float32", "int64", "complex128")
#: Stand-ins have neither sub-devices of this kind nor kernels.
NOT_HERE = {Tag.SUB_DEVICE, Tag.DPNP, Tag.CPU_ONLY} if GPU else set()


def dtypes_of(usm_type):
    """Every dtype in one kind of USM: no decision depends on both."""
    return DTYPE_NAMES if usm_type == "device" and GPU is None else SIZES


def ways_for(tensor, ways_there):
    """Those that take a tensor, by name."""
    for name, way in ways_there.items():
        reached = tensor.host_accessible or not way.host
        if reached and way.takes(tensor) and not way.tags & NOT_HERE:
            yield name, way


def address(array):
    return array.__array_interface__["data"][0]


def problem(way, source, facts, array, memory):
    """The defect in the result of a way for a source, or nothing.

    `facts` has the dtype and the strides, `array` the elements, and `memory` is where they are, if
    that counts.
    """
    result, wanted = way.call(source), way.like(array)
    at, is_writable = ways.address_of(result), ways.is_writable(result)
    if bits(ways.content(result)) != bits(wanted):
        return "other elements"
    has_shape = isinstance(result, (sx.Tensor, sx.HostView, np.ndarray))
    if has_shape and (result.shape, result.dtype) != (wanted.shape, wanted.dtype):
        return f"{result.shape} of {result.dtype}"
    if memory is None or not wanted.size:
        return ""
    if way.gives in (COPY, NEW):
        return "a view" if at == memory else ""
    if way.gives != VIEW and (way.gives != HOST or facts.reversed):
        return ""
    offset = address(wanted) - address(array) if np.shares_memory(wanted, array) else 0
    if at != memory + offset:
        return "a copy"
    if not is_writable and not (way.readonly or facts.readonly):
        return "read-only"
    if isinstance(result, (sx.Tensor, sx.HostView)):
        long = [axis for axis, length in enumerate(wanted.shape) if length > 1]
        if [result.strides[i] for i in long] != [strides_of(wanted)[i] for i in long]:
            return f"strides {result.strides}"
    return ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors(layout, usm_type):
    wrong = {}
    for dtype in dtypes_of(usm_type):
        tensor, array = LAYOUTS[layout].tensor(dtype, usm_type, GPU)
        for name, way in ways_for(tensor, ARRAYS):
            stays = tensor.host_accessible or way.gives != HOST
            memory = tensor.ptr if stays else None
            wrong[name, dtype] = problem(way, tensor, tensor, array, memory)
        assert bits(tensor.to_numpy()) == bits(array)
    assert {cell: what for cell, what in wrong.items() if what} == {}
    assert len(wrong) > 45 * len(dtypes_of(usm_type))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_writes(layout, usm_type):
    wrong = []
    for dtype in dtypes_of(usm_type):
        tensor, array = LAYOUTS[layout].tensor(dtype, usm_type, GPU)
        for seed, (name, way) in enumerate(ways_for(tensor, WRITERS), 10):
            new = values(array.shape, dtype, seed)
            way.call(tensor, new)
            if bits(tensor.to_numpy()) != bits(new):
                wrong.append((name, dtype))
    assert wrong == []


def of_dpnp(base, layout):
    return LAYOUTS[layout].view(ways.module("dpnp").asarray(base, usm_type="shared", order="K"))


#: The owner of the memory of a view of an array.
SOURCES = {
    "NumPy": lambda base, view, layout: view,
    "dpnp": lambda base, view, layout: of_dpnp(base, layout),
    "torch": lambda base, view, layout: ways.module("torch").from_numpy(view),
    "producer": lambda base, view, layout: producers.Producer(view),
    "producer of USM": lambda base, view, layout: producers.Producer(
        LAYOUTS[layout].tensor(view.dtype.name, "shared")[0]
    ),
    "legacy producer": lambda base, view, layout: producers.LegacyAlone(view),
}
OF_USM = ("dpnp", "producer of USM")
#: Views that dpnp does not make, and those that torch has no words for.
LACKS = {"dpnp": ("broadcast", "4-D permuted"), "torch": ("broadcast", "4-D permuted", "reversed")}


@needs("kernels", "dpnp")
@needs("system_usm", "NumPy", "legacy producer", "producer", "torch")
@pytest.mark.parametrize("source", SOURCES)
def test_ways_read_arrays_of_each_producer(source):
    wrong = {}
    for layout in LAYOUTS.keys() - LACKS.get(source, ()):
        for dtype in samples.NUMPY_DTYPES:
            base, array = LAYOUTS[layout].arrays(dtype)
            made = SOURCES[source](base, array, layout)
            facts = sx.as_tensor(made if source in OF_USM else array)
            if source == "torch" and not ways.torch_knows(facts):
                continue
            memory = ways.address_of(getattr(made, "array", made))
            for name, way in ways_for(facts, ARRAYS):
                if way.any:
                    moves = Tag.EXCHANGE in way.tags and (
                        facts.reversed
                        or (Tag.DPNP in way.tags and way.is_view and source not in OF_USM)
                        or (Tag.TORCH in way.tags and facts.readonly)
                    )
                    wrong[name, dtype, layout] = problem(
                        way, made, facts, array, None if moves else memory
                    )
    assert {cell: what for cell, what in wrong.items() if what} == {}


@needs("system_usm")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_that_numpy_does_not_export(layout):
    """Of dtypes of ml_dtypes, and read-only ones."""
    for dtype in DTYPE_NAMES:
        base, array = LAYOUTS[layout].arrays(dtype)
        facts = sx.as_tensor(array)
        assert facts.readonly == (not array.flags.writeable)
        for name in ("as_tensor", "as_tensor(copy=True)", "host_view", "host_view(copy=True)"):
            assert problem(WAYS[name], array, facts, array, address(array)) == ""
        base.flags.writeable = False
        assert sx.as_tensor(base[...]).readonly


def test_results_stay_on_the_device_of_the_memory(private, usm_type):
    """A view is on the device of the memory, and so are empty_like and a copy without a device."""
    queue = dpctl.SyclQueue(private.sycl_context, private.sycl_device, property="in_order")
    tensor = sx.empty((3, 4), usm_type=usm_type, device=queue).copy_from(values((3, 4)))
    for name, way in ARRAYS.items():
        is_here = way.gives == VIEW and not way.default and not way.flagless
        if is_here or Tag.STAYS in way.tags:
            result = way.call(tensor)
            if isinstance(result, sx.Tensor):
                assert (result.device, result.usm_type) == (private, usm_type), name
                if ways.public_name(name) != "Tensor.to_device":
                    assert result.sycl_queue == queue, name
