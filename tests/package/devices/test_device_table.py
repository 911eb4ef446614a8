# SPDX-License-Identifier: Apache-2.0
"""The device table: ids, every form of ``device=``, and the entries that are not root devices."""

import contextlib
import types
import uuid
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
import torch

import environments
import sycl_ext as sx
from needs import needs


def roots():
    return [device for device in sx.devices() if device.kind == "root"]


# ---- root devices --------------------------------------------------------------------------------


def test_ids_are_those_of_dpctl():
    assert [device.id for device in sx.devices()] == list(range(len(sx.devices())))
    assert len(roots()) == len(dpctl.get_devices()) > 0
    for ours, theirs in zip(roots(), dpctl.get_devices(), strict=True):
        assert ours.id == ours.root_id == theirs.get_device_id()
        assert ours.filter_string == theirs.filter_string
        assert ours.name == theirs.name
        assert ours.backend == theirs.backend.name
        assert ours.device_type == theirs.device_type.name
        assert ours.driver_version == theirs.driver_version
        assert ours.sycl_device == theirs
        assert uuid.UUID(ours.uuid).bytes == ours._entry.uuid
        assert str(uuid.UUID(ours.uuid)) == ours.uuid
        assert ours.device_type == "gpu" or ours.pci_address is None  # a CPU is on no bus
        assert ours.parent is None


def test_root_device_has_the_default_context():
    for device in roots():
        assert device.default_context
        assert device.sycl_context == device.sycl_device.sycl_platform.default_context


def test_device_queue_is_that_of_dpctl():
    queue = sx.device().sycl_queue
    assert queue is dpctl.get_device_cached_queue(sx.device().sycl_device)
    assert queue == sx.device().sycl_queue
    assert queue == sx.zeros(3).sycl_queue
    # The address of the object stays valid.
    assert queue.sycl_context == sx.device().sycl_context is sx.device().sycl_context
    assert queue.sycl_device == sx.device().sycl_device


def test_default_device_is_that_of_sycl():
    assert sx.device().sycl_device == dpctl.SyclDevice()
    assert sx.empty(3).device is sx.device()


def test_aspects():
    cpu = sx.device("opencl:cpu:0")
    assert cpu.usm_types == ("device", "shared", "host", "system")
    assert all(cpu.host_accessible(kind) for kind in cpu.usm_types)
    assert cpu.has_fp64 == cpu.sycl_device.has_aspect_fp64


# ---- every form of device= -----------------------------------------------------------------------


class WithQueue:
    def __init__(self, queue):
        self.sycl_queue = queue


class WithDLPackDevice:
    def __dlpack_device__(self):
        return (14, sx.device().id)


#: Each names the default device, which is a GPU where there is one.
FORMS = {
    "None": lambda: None,
    "id": lambda: sx.device().id,
    "NumPy integer": lambda: np.int32(sx.device().id),
    "pair": lambda: (14, sx.device().id),
    "pair of an enum": lambda: (sx.dlpack.DeviceType.ONE_API, sx.device().id),
    "Device": lambda: sx.device(sx.device().id),
    "filter string": lambda: sx.device().filter_string,
    "filter string without number": lambda: f"{sx.device().backend}:{sx.device().device_type}",
    "filter string, only a type": lambda: sx.device().device_type,
    "filter string, type and number": lambda: f"{sx.device().device_type}:0",
    "filter string, only a backend": lambda: sx.device().backend,
    "filter string, only a number": lambda: str(sx.device().id),
    "filter string, shouted": lambda: f" {sx.device().filter_string.upper()} ",
    "UUID": lambda: f"uuid:{sx.device().uuid}",
    "UUID, shouted": lambda: f" UUID:{sx.device().uuid.upper()} ",
    "SyclDevice": dpctl.SyclDevice,
    "SyclQueue": dpctl.SyclQueue,
    "SyclContext": lambda: dpctl.SyclQueue().sycl_context,
    "dpnp array": lambda: dpnp.zeros(1),
    "dpnp device": lambda: dpnp.zeros(1).device,
    "dpctl memory": lambda: dpctl.memory.MemoryUSMShared(8),
    "object with a queue": lambda: WithQueue(dpctl.SyclQueue()),
    "object with __dlpack_device__": WithDLPackDevice,
    "Tensor": lambda: sx.empty(1),
}


@needs("context_of_one_gpu", "SyclContext")
@pytest.mark.parametrize("form", FORMS)
def test_form(form):
    spec = FORMS[form]()
    assert sx.device(spec) is sx.device()
    assert sx.empty(3, device=spec).device is sx.device()
    assert sx.from_dlpack(np.zeros(3), device=spec).device is sx.device()
    assert sx.empty(3).to_device(spec).device is sx.device()


@pytest.fixture
def torch_with_xpu(monkeypatch):
    """A torch whose device "xpu:1" is our default device."""
    queue = dpctl.SyclQueue()
    stream = types.SimpleNamespace(sycl_queue=queue.addressof_ref(), queue=queue)
    streams = {None: stream, 1: stream}
    monkeypatch.setattr(torch.xpu, "is_available", lambda: True)
    monkeypatch.setattr(torch.xpu, "device_count", lambda: 2)
    monkeypatch.setattr(torch.xpu, "current_stream", streams.__getitem__)


@pytest.mark.parametrize("spec", ["xpu", "XPU:1", torch.device("xpu", 1), torch.device("xpu")])
@pytest.mark.usefixtures("torch_with_xpu")
def test_torch_is_asked_for_its_devices(spec):
    assert sx.device(spec) is sx.device()
    assert sx.empty(3, device=spec).device is sx.device()
    assert sx.exchange(sx.zeros(3), spec).device is sx.device()


@pytest.mark.usefixtures("torch_with_xpu")
def test_unknown_xpu_number_is_refused():
    with pytest.raises(ValueError, match="'xpu:2', but torch.xpu has only 2"):
        sx.device("xpu:2")


@needs("no_gpu", "xpu without a GPU")
@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        pytest.param(
            *("xpu", ValueError, "'xpu', but no root device matches;.*opencl:cpu:0"),
            id="xpu without a GPU",
        ),
        (torch.device("xpu", 3), ValueError, "'xpu:3', but no root device matches"),
        (torch.device("cpu"), ValueError, "the host.*host_view"),
        (torch.device("cuda", 0), ValueError, "is 'xpu'"),
        (-1, ValueError, "no device -1.*0 to"),
        (1_000_000, ValueError, "no device 1000000.*0 to"),
        (2**40, ValueError, "id of 41 bits is out of range"),
        pytest.param(10**5000, ValueError, "bits is out of range.*entries", id="digits"),
        ((14, 1_000_000), ValueError, "no device 1000000"),
        ((14, -1), ValueError, "no device -1"),
        ((14,), TypeError, "pair"),
        ((14, 0, 0), TypeError, "pair"),
        ((14, "0"), TypeError, "pair"),
        ((14, True), TypeError, "pair"),
        ((2, 0), ValueError, "kDLOneAPI"),
        ((1, 0), ValueError, "host_view"),
        ("opencl:cpu:99", ValueError, "opencl:cpu:0"),
        ("opencl:gpu", ValueError, "opencl:cpu:0"),
        ("tpu", ValueError, "opencl:cpu:0"),
        ("host", ValueError, "host_view"),
        ("", ValueError, "opencl:cpu:0"),
        ("cpu:0:0", ValueError, "opencl:cpu:0"),
        ("cpu:" + "9" * 5000, ValueError, "opencl:cpu:0"),
        ("xpu:" + "9" * 5000, ValueError, "opencl:cpu:0"),
        (f"uuid:{uuid.UUID(int=1)}", ValueError, "no device has that UUID.*opencl:cpu:0 is "),
        ("uuid:1", ValueError, "no root device matches"),
        (types.SimpleNamespace(__dlpack_device__=lambda: None), TypeError, "is None.*pair of ints"),
        (True, TypeError, "bool"),
        (1.0, TypeError, "float"),
        ([14, 0], TypeError, "list"),
        (object(), TypeError, "object"),
        (np.zeros(1), ValueError, "host_view"),
    ],
)
def test_unknown_device_is_refused(spec, error, words):
    for call in (sx.device, lambda spec: sx.empty(3, device=spec), sx.empty(3).to_device):
        with pytest.raises(error, match=words):
            call(spec)


# ---- registered contexts -------------------------------------------------------------------------


def test_register_context():
    before = len(sx.devices())
    context = dpctl.SyclContext([sx.device().sycl_device])
    entry = sx.register_context(context)
    assert sx.devices()[before:] == (entry,)
    assert (entry.id, entry.root_id, entry.kind) == (before, sx.device().id, "context")
    assert entry.parent is sx.device()
    assert not entry.default_context
    assert entry.sycl_context == context != sx.device().sycl_context
    assert entry.sycl_device == sx.device().sycl_device
    assert entry.__dlpack_device__() == (14, before)
    assert entry is sx.device(entry.id) is sx.device((14, entry.id))
    assert entry.filter_string == sx.device().filter_string
    assert f"context of device {sx.device().id}" in repr(entry)


def test_registered_context_is_registered_once(private):
    context, device = private.sycl_context, private.sycl_device
    for spec in (
        context,
        context._get_capsule(),
        dpctl.SyclQueue(context, device),
        dpctl.SyclQueue(context, device, property="in_order"),
    ):
        assert sx.register_context(spec) is private
    for wanted in (None, private.root_id, private, device, device.device_type.name):
        assert sx.register_context(context, wanted) is private
    assert sx.device(context) is sx.device(dpctl.SyclQueue(context, device)) is private
    assert sx.empty(3, device=context).device is private
    cpu = sx.device("opencl:cpu:0")  # of which the default context has one device
    assert sx.register_context(cpu.sycl_context) is cpu


def test_context_of_several_devices_needs_a_device(halves):
    both = dpctl.SyclContext([half.sycl_device for half in halves])
    with pytest.raises(ValueError, match="2 devices.*device="):
        sx.register_context(both)
    entry = sx.register_context(both, halves[0])
    assert entry.sycl_context == both
    assert entry.sycl_device == halves[0].sycl_device
    assert entry is not sx.register_context(both, halves[1])
    with pytest.raises(ValueError, match="does not belong"):
        sx.register_context(both, sx.device())


@needs("list_of_a_context")
def test_memory_is_not_that_of_a_context_which_others_name(halves):
    both = dpctl.SyclContext([half.sycl_device for half in halves])
    elsewhere = {**sx.zeros(4).__sycl_usm_array_interface__, "syclobj": both}
    with pytest.raises(BufferError, match=r"not USM of the private.*of the default context of"):
        sx.as_tensor(types.SimpleNamespace(__sycl_usm_array_interface__=elsewhere))


# ---- sub-devices ---------------------------------------------------------------------------------


def test_sub_devices(halves):
    for half in halves:
        assert half.kind == "sub_device"
        assert half.root_id == sx.device().id
        assert half.id >= len(roots())
        assert half.parent is sx.device()
        assert half.filter_string == sx.device().filter_string
        assert half.sycl_device.parent_device == sx.device().sycl_device
        assert f"sub-device of device {sx.device().id}" in repr(half)
        assert sx.device(half.id) is sx.device(half.sycl_device) is half
    assert halves[0] is not halves[1]


def test_numa_partition_of_a_cpu_needs_several_nodes():
    """Most machines have their memory in one place, and cannot be cut there."""
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    with contextlib.nullcontext() if len(nodes) > 1 else pytest.raises(sx.SyclError, match="part"):
        sx.device("opencl:cpu:0").create_sub_devices("numa")


# ---- an environment that the runtime does not understand -----------------------------------------

EVERYTHING = {
    "devices": "sx.devices()",
    "device": "sx.device()",
    "device by id": "sx.device(0)",
    "empty": "sx.empty(3)",
    "from_dlpack": "sx.from_dlpack(array)",
    "from_dlpack of a capsule": "sx.from_dlpack(array.__dlpack__())",
    "from_dlpack of USM": "sx.from_dlpack(Usm())",
    "from_dlpack, a copy": "sx.from_dlpack(array, copy=True)",
    "as_tensor": "sx.as_tensor(array)",
    "as_tensor of bytes": "sx.as_tensor(b'abc')",
    "host_view": "sx.host_view(array)",
    "host_view of bytes": "sx.host_view(b'abc')",
    "exchange with numpy": "sx.exchange(array, np)",
    "exchange with a device": "sx.exchange(array, 0)",
    "exchange with a callable": "sx.exchange(array, memoryview)",
    "explain": "sx.explain(array)",
    "explain the host": "sx.explain(array, (1, 0))",
    "explain numpy": "sx.explain(array, np)",
    "ipc_empty": "sx.ipc.empty(3)",
}


@pytest.mark.parametrize("selector", ["gpu", "opencl:banana", "*:*:*:*"])
def test_mistyped_selector_is_an_error_that_names_it(selector):
    """For each first operation, and the second time: an error that names the variable, no crash."""
    environments.python(
        f"""
import numpy as np
import sycl_ext as sx

class Usm:
    def __dlpack_device__(self):
        return (14, 0)
    def __dlpack__(self, **keywords):
        raise AssertionError("asked without a device table")

array = np.arange(3)
for name, call in {EVERYTHING!r}.items():
    for _ in range(2):
        try:
            eval(call)
        except sx.SyclError as error:
            for words in ("ONEAPI_DEVICE_SELECTOR is {selector!r}", "unset it", "'opencl:cpu'"):
                assert words in str(error), (name, error)
        else:
            raise AssertionError(name)
sx.memory.release_cached()
assert sx.memory.live_exports() == 0
""",
        {**environments.cpu(), "ONEAPI_DEVICE_SELECTOR": selector},
    )
