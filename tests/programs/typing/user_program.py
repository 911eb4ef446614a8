# SPDX-License-Identifier: Apache-2.0
"""A user's program, for the type checkers: every public name, and the type of what it gives.

``make lint`` checks it with mypy and pyright, both strict; ``test_typing.py`` runs it.
"""

from __future__ import annotations

import array
import operator
import os
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType, assert_type

import sycl_ext as sx


def look_at_devices() -> sx.Device:
    first = sx.device()
    assert_type(sx.devices(), tuple[sx.Device, ...])
    for spec in (None, 0, (14, 0), first.filter_string, first, first.sycl_queue):
        assert_type(sx.device(spec), sx.Device)
    assert_type(first.id, int)
    assert_type(first.root_id, int)
    assert_type(first.kind, str)
    assert_type(first.name, str)
    assert_type(first.backend, str)
    assert_type(first.device_type, str)
    assert_type(first.driver_version, str)
    assert_type(first.filter_string, str)
    assert_type(first.uuid, str | None)
    assert_type(first.pci_address, str | None)
    assert_type(first.total_memory, int)
    assert_type(first.free_memory, int | None)
    assert_type(first.numa_node, int | None)
    assert_type(first.local_cpus, tuple[int, ...] | None)
    assert_type(first.parent, sx.Device | None)
    assert_type(first.partition, str)
    assert_type(first.partition_index, int | None)
    assert_type(first.default_context, bool)
    assert_type(first.has_fp64, bool)
    assert_type(first.usm_types, tuple[str, ...])
    assert_type(first.host_accessible("shared"), bool)
    assert_type(first.__dlpack_device__(), tuple[int, int])
    assert_type(first.create_sub_devices(1), tuple[sx.Device, ...])
    assert_type(first.create_sub_devices([1, 1]), tuple[sx.Device, ...])
    assert_type(sx.register_context(first.sycl_context), sx.Device)
    assert_type(sx.register_context(first.sycl_queue, device=first), sx.Device)
    assert first.sycl_device.is_cpu or first.sycl_device.is_gpu
    return first


def make_tensors(device: sx.Device) -> sx.Tensor:
    plain = sx.empty(3)
    assert_type(plain, sx.Tensor)
    assert_type(sx.zeros((2, 3), np.int32, usm_type="host", device=device, order="F"), sx.Tensor)
    assert_type(sx.zeros((2, 3), "bfloat16"), sx.Tensor)
    assert_type(sx.zeros([2, 3]), sx.Tensor)
    assert_type(sx.ones((2, 3), "int8"), sx.Tensor)
    assert_type(sx.full([2, 3], 1.5, device=device), sx.Tensor)
    assert_type(sx.empty(np.int64(3)), sx.Tensor)
    assert_type(sx.empty([length + 1 for length in plain.shape]), sx.Tensor)
    assert_type(sx.empty((), np.dtype("float64"), device=device.id), sx.Tensor)
    assert_type(sx.from_dlpack(np.arange(3)), sx.Tensor)
    assert_type(sx.from_dlpack(plain.__dlpack__(max_version=(1, 0)), copy=True), sx.Tensor)
    assert_type(sx.as_tensor(bytearray(b"abc"), device=device, copy=None), sx.Tensor)
    assert_type(sx.as_tensor(array.array("d", [1.0])), sx.Tensor)
    assert_type(sx.as_tensor(bytearray(b"abc"), usm_type="shared"), sx.Tensor)
    return sx.zeros((2, 3), "float32", usm_type="shared", device=device)


def use_a_tensor(t: sx.Tensor, device: sx.Device) -> None:
    assert_type(t.shape, tuple[int, ...])
    assert_type(t.strides, tuple[int, ...])
    assert_type(t.dtype, np.dtype[Any])
    for number in (t.ndim, t.size, t.itemsize, t.nbytes, t.ptr, len(t)):
        assert_type(number, int)
    assert_type(t.usm_type, str)
    for flag in (t.readonly, t.c_contiguous, t.f_contiguous, t.reversed, t.is_host_copy):
        assert_type(flag, bool)
    assert_type(t.host_accessible, bool)
    assert_type(t.dtype_name, str)
    assert_type(t.entry_id, int | None)
    assert_type(t.device, sx.Device)
    assert_type(t.base, object)
    assert t.sycl_queue.sycl_context == t.sycl_context
    assert_type(t[0, ::-1], sx.Tensor)
    assert_type(t[None, ..., 1], sx.Tensor)
    assert_type(t.T, sx.Tensor)
    assert_type(t.transpose(0, 1), sx.Tensor)
    assert_type(t.squeeze(), sx.Tensor)
    t.wait()
    assert_type(t.reshape(-1), sx.Tensor)
    assert_type(t.reshape(3, 2), sx.Tensor)
    assert_type(t.reshape((3, 2)), sx.Tensor)
    assert_type(t.reshape([3, -1]), sx.Tensor)
    assert_type(t.as_readonly(), sx.Tensor)
    assert_type(t.copy(order="F"), sx.Tensor)
    assert_type(t.copy_from(np.ones((2, 3), "float32")), sx.Tensor)
    assert_type(t.fill(2.5), sx.Tensor)
    assert_type(t.copy_from(2.5), sx.Tensor)
    assert_type(t.copy("F", "shared"), sx.Tensor)
    copying = t.copy_from(np.ones((2, 3), "float32"), wait=False)
    assert_type(copying, sx.memory.AsyncCopy[sx.Tensor])
    copying.wait()
    assert_type(copying.done(), bool)
    assert_type(copying.result(), sx.Tensor)
    assert copying.sycl_event is not None
    assert_type(t.to_device(device), sx.Tensor)
    assert_type(t.to_device((14, 0), copy=False), sx.Tensor)
    assert_type(t.to_numpy(), NDArray[Any])
    assert_type(t.to_numpy(wait=False), sx.memory.AsyncCopy[NDArray[Any]])
    assert_type(t.tolist(), Any)
    assert_type(sx.empty_like(t), sx.Tensor)
    assert_type(sx.zeros_like(t, np.int32, usm_type="host", device=device), sx.Tensor)
    if t.size == 1:
        assert_type(t.item(), Any)
        if t.ndim == 0 and t.dtype.kind in "iu":
            assert_type(operator.index(t), int)
        numbers = bool(t), int(t), float(t), complex(t)
        assert_type(numbers, tuple[bool, int, float, complex])
    assert_type(iter(t), Iterator[sx.Tensor])
    assert_type(t.__sycl_usm_array_interface__, dict[str, Any])
    assert_type(t.__dlpack_device__(), tuple[int, int])
    assert_type(
        t.__dlpack__(stream=None, max_version=(1, 3), dl_device=(1, 0), copy=None), CapsuleType
    )
    assert_type(memoryview(t).nbytes, int)
    assert_type(np.asarray(t), NDArray[Any])
    from_host: NDArray[Any] = np.from_dlpack(sx.host_view(t))
    assert from_host.shape == t.shape
    producer: sx.dlpack.SupportsDLPack = t
    assert isinstance(producer, sx.dlpack.SupportsDLPack)


def sum_of(x: sx.Tensor | sx.HostView) -> float:
    return float(np.asarray(x).sum())


def negotiate(t: sx.Tensor, device: sx.Device) -> None:
    view = sx.host_view(t, copy=None)
    assert_type(view, sx.HostView)
    assert_type(view.is_copy, bool)
    assert_type(view.shape, tuple[int, ...])
    assert_type(sx.exchange(t, sum_of, copy=None, host_copy=False), float)
    assert_type(sx.exchange(t, "numpy", copy=True, host_copy=True, device=(1, 0)), NDArray[Any])
    assert_type(sx.exchange(t, device), sx.Tensor)
    assert_type(sx.exchange(t, (14, 0)), sx.Tensor)
    assert_type(sx.exchange(t, (1, 0)), sx.HostView)
    array: NDArray[Any] = sx.exchange(t, np)
    assert array.shape == t.shape
    assert_type(sx.exchange(t, "numpy"), NDArray[Any])
    assert_type(sx.exchange(t, "cpu"), sx.Tensor)
    assert_type(sx.exchange(t, "cpu", usm_type="shared"), sx.Tensor)
    assert_type(sx.explain(t, "cpu", usm_type="host"), sx.Plan)
    plan = sx.explain(t, np, copy=False)
    assert_type(plan, sx.Plan)
    assert_type(plan.route, sx.Route)
    assert plan.route is sx.Route.HOST_VIEW
    assert_type(plan.reason, str)
    assert_type(plan.copies, int)
    assert_type(plan.cost, float)
    assert_type(sx.explain(t, ["cpu", t.device]).candidates, tuple[sx.Plan, ...])
    assert_type(sx.explain(t, np, device=[(1, 0)]).device, tuple[int, int] | None)
    assert_type(plan.notes, tuple[str, ...])
    assert_type(plan.error, type[BufferError] | None)
    assert_type(plan.check().noting("checked"), sx.Plan)
    assert_type(sx.explain(t, (1, 0)), sx.Plan)


def cross_processes(t: sx.Tensor, device: sx.Device) -> None:
    with sx.pickling.to_device(device):
        back: sx.Tensor = pickle.loads(pickle.dumps(t))
    assert back.shape == t.shape
    mine = sx.ipc.empty((2, 3), "float32", device="cpu", order="C")
    assert_type(mine, sx.Tensor)
    handle = sx.ipc.handle(mine)
    assert_type(handle, sx.ipc.Handle)
    assert_type(sx.ipc.handle(mine, peer=os.getpid()), sx.ipc.Handle)
    assert_type(handle.mechanism, Literal["sycl", "shared memory"])
    assert_type(handle.shape, tuple[int, ...])
    assert_type(handle.dtype, str)
    assert_type(handle.readonly, bool)
    assert_type(sx.ipc.open(handle, device=None), sx.Tensor)
    assert_type(handle.exposed, int)
    if handle.mechanism == "sycl":
        data = handle.to_bytes()
        assert_type(data, bytes)
        assert_type(sx.ipc.open(data, device="gpu", shape=(2, 3), dtype="float32"), sx.Tensor)
    packed = sx.ipc.pack(t, how="bytes", peer=None)
    assert_type(packed, sx.ipc.Packed)
    assert_type(packed.how, Literal["handle", "shared memory", "bytes"])
    assert_type(packed.reason, str)
    assert_type(packed.open(), sx.Tensor)
    sx.pickling.register("dpnp")
    sx.ipc.register_multiprocessing("dpnp")
    with sx.staged(t, "rw") as memory:
        assert_type(memory, sx.HostView)
    with sx.staged(t, "r", direct=None) as sent:
        assert_type(sent, sx.HostView | sx.Tensor)
    done = SimpleNamespace(Test=lambda: True, Wait=lambda: True)
    request = sx.mpi.staged_request(t, "w", lambda _memory: done, direct=False)
    assert_type(request, sx.mpi.StagedRequest)
    assert_type(request.test(), bool)
    request.wait()


def expect_refusals(t: sx.Tensor) -> None:
    try:
        sx.from_dlpack(t, copy=False).to_device(sx.device("cpu"), copy=False)
        sx.exchange(t, np)
    except sx.CopyRefusedError as refused:
        both: tuple[BufferError, ValueError] = refused, refused
        print(both)
    except (sx.ExchangeError, sx.SyclError, sx.TwoRuntimesWarning) as error:
        print(error.__cause__)


def look_inside() -> None:
    assert_type(sx.dlpack.VERSION, tuple[int, int])
    assert_type(sx.__version__, str)
    assert_type(sx.memory.live_exports(), int)
    assert_type(sx.memory.prefetch(b""), bool)
    assert_type(sx.memory.advise(b"", "read_mostly", undo=True), bool)
    assert_type(sx.memory.cached(), dict[tuple[sx.Device | None, str], int])
    sx.memory.release_cached()
    try:
        assert_type(sx.memory.live_exports(origins=True), list[sx.memory.ExportOrigin])
    except RuntimeError as error:
        print(error)
    assert_type(sx.get_include(), str)
    assert_type(sx.get_cmake_dir(), str)
    assert_type(int(sx.dlpack.DeviceType.ONE_API), int)
    try:
        assert_type(sx.dlpack.capsule_from_pointer(0, versioned=True), CapsuleType)
    except ValueError as error:
        print(error)


def main() -> None:
    device = look_at_devices()
    tensor = make_tensors(device)
    use_a_tensor(tensor, device)
    negotiate(tensor, device)
    cross_processes(tensor, device)
    expect_refusals(tensor)
    look_inside()


if __name__ == "__main__":
    main()
