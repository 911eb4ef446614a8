# SPDX-License-Identifier: Apache-2.0
"""The registry: every public way into and out of the memory of a tensor, each of them once.

A row of `WAYS` says how something is done with a tensor, and what that gives.  A promise (new data,
read-only, a fault at any call, ...) is a loop over the rows; `way_results` reads, writes and looks
at whatever a row gives, and `way_parts` has the functions of the rows.  A row's name begins with
the public name that it uses, and ``package/setup/test_ways.py`` compares these with the package, so
that none is forgotten.
"""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import dpctl
import dpctl.memory
import numpy as np

import sycl_ext as sx
from way_parts import (
    V1,
    HandedOn,
    WithoutStream,
    as_bytes,
    behind_a_table,
    borrowed_from_table,
    by_stream,
    can_hold_each,
    consumer,
    described,
    first_command,
    folds,
    from_table,
    handed,
    has_axes,
    is_compact,
    is_forward,
    is_known_compact,
    numpy_knows,
    on_queue,
    others,
    part,
    private,
    receive,
    requested,
    root,
    stage,
    staged,
    staged_for_aware_mpi,
    target,
    through_pickle,
    torch_knows,
    waited_for,
    with_buffers,
)
from way_results import (
    Address,
    Described,
    address_of,
    content,
    is_within,
    is_writable,
    module,
    write,
)

__all__ = ("V1", "Described", "address_of", "content", "is_within", "is_writable", "write")

HOST_V1 = {"dl_device": (1, 0), **V1}

#: The result of a way: the memory itself, wherever it is; a host view, a copy where the host
#: cannot reach the memory; memory of its own; one or the other; a new tensor like this one; a
#: number; the tensor itself, after it was written to; nothing of the memory.
VIEW, HOST, COPY, EITHER, NEW, NUMBER, WRITES, NOTHING = (
    "view", "host view", "copy", "view or copy", "new", "number", "writes", "nothing",
)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """`call(tensor)` is the way; for `WRITES` it is `call(tensor, array)`."""

    call: Callable[..., Any]
    gives: str
    any: bool = False  # takes any producer, and not only a tensor
    host: bool = False  # the host has to reach the memory
    default: bool = False  # for a view, the memory has to be in the default context
    holds: bool = True  # a view keeps the memory alive
    readonly: bool = False  # a view is read-only
    flagless: bool = False  # the library knows no read-only memory
    dtype: str = "int64"  # in tests of one dtype
    takes: Callable[[sx.Tensor], bool] = lambda _tensor: True  # which dtypes and layouts
    like: Callable[[np.ndarray], Any] = lambda array: array  # the same in NumPy
    copies: int = 1  # commands, for memory that the host cannot reach
    needs: str = ""  # "kernels", where a device without them cannot do it

    @property
    def is_view(self) -> bool:
        return self.gives in (VIEW, HOST)


# fmt: off
WAYS: dict[str, Way] = {
    # -- a tensor and its views
    "Tensor": Way(lambda t: t, VIEW),
    "Tensor.__getitem__": Way(lambda t: t[::-2], VIEW, takes=has_axes, like=lambda a: a[::-2]),
    "Tensor.__iter__": Way(lambda t: next(iter(t)), VIEW, takes=has_axes, like=lambda a: a[0]),
    "Tensor.T": Way(lambda t: t.T, VIEW, like=lambda a: a.T),
    "Tensor.transpose": Way(
        lambda t: t.transpose(*range(t.ndim)[::-1]), VIEW, like=lambda a: a.transpose()),
    "Tensor.squeeze": Way(lambda t: t[None].squeeze(0), VIEW),
    "Tensor.reshape": Way(
        lambda t: t.reshape(-1), VIEW, takes=is_compact, like=lambda a: a.reshape(-1)),
    "Tensor.reshape of a transpose": Way(
        lambda t: t.reshape(4, -1).T.reshape(-1), COPY, copies=2, takes=folds,
        like=lambda a: a.reshape(4, -1).T.reshape(-1)),
    "Tensor.as_readonly": Way(lambda t: t.as_readonly(), VIEW, readonly=True),
    "Tensor.wait": Way(waited_for, VIEW, host=True, holds=False, readonly=True, takes=is_compact),
    # -- copies
    "Tensor.copy": Way(lambda t: t.copy(), COPY),
    "Tensor.copy('F')": Way(lambda t: t.copy("F"), COPY),
    "Tensor.copy of a slice": Way(
        lambda t: t[1::3].copy(), COPY, copies=2, takes=has_axes, like=lambda a: a[1::3]),
    "Tensor.__copy__": Way(copy.copy, COPY),
    "Tensor.__deepcopy__": Way(copy.deepcopy, COPY),
    "Tensor.__reduce_ex__": Way(lambda t: pickle.loads(pickle.dumps(t)), COPY, copies=2),
    "Tensor.__reduce_ex__(buffers)": Way(with_buffers, COPY, copies=2),
    "Tensor.__reduce_ex__, out of band": Way(
        through_pickle, HOST, readonly=True, takes=is_known_compact),
    "Tensor.copy_from, of it": Way(lambda t: target(t, root(t)).copy_from(t), COPY),
    "Tensor.copy_from, of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x), COPY, any=True),
    "Tensor.copy_from(wait=False), of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x, wait=False), COPY, any=True),
    "Tensor.copy_from, of a slice of it": Way(
        lambda t: target(t[::2], root(t)).copy_from(t[::2]), COPY, copies=2, takes=has_axes,
        like=lambda a: a[::2]),
    "Tensor.copy_from, of it on another queue": Way(
        lambda t: target(t, consumer(t, True)).copy_from(t), COPY),
    "Tensor.copy_from, of its host_view": Way(
        lambda t: target(t, root(t)).copy_from(sx.host_view(t)), COPY, copies=2),
    "Tensor.copy_from(wait=False), of it": Way(
        lambda t: target(t, root(t)).copy_from(t, wait=False), COPY),
    "Tensor.to_device": Way(lambda t: t.to_device(t.device), VIEW),
    "Tensor.to_device(copy=True)": Way(lambda t: t.to_device(t.device, copy=True), COPY),
    "Tensor.to_device(part)": Way(lambda t: t.to_device(part(t), copy=True), COPY),
    "Tensor.to_device(private)": Way(
        lambda t: t.to_device(private(t.device.root_id), copy=True), COPY),
    "Tensor.to_device(root)": Way(lambda t: t.to_device(root(t), copy=True), COPY),
    "Tensor.to_device(queue)": Way(
        on_queue(lambda t, q: t.to_device(q), True), VIEW, default=True, takes=is_compact),
    "Tensor.to_device(CPU)": Way(lambda t: t.to_device("cpu", copy=True), COPY),
    # -- new ones
    "empty": Way(
        lambda t: sx.empty(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW),
    "zeros": Way(
        lambda t: sx.zeros(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        like=np.zeros_like),
    # True is a number of every dtype.
    "ones": Way(
        lambda t: sx.ones(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        like=np.ones_like),
    "full": Way(
        lambda t: sx.full(t.shape, True, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        like=np.ones_like),
    "Tensor.fill": Way(lambda t: sx.empty_like(t).fill(True), NEW, like=np.ones_like),
    "HostView.fill": Way(
        lambda t: sx.host_view(sx.empty_like(t)).fill(True), NEW, like=np.ones_like),
    "Tensor.copy_from(True)": Way(
        lambda t: sx.empty_like(t).copy_from(True), NEW, like=np.ones_like),
    "empty_like": Way(sx.empty_like, NEW, any=True),
    "zeros_like": Way(sx.zeros_like, NEW, any=True, like=np.zeros_like),
    "zeros(queue)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=consumer(t, True)), NEW, like=np.zeros_like),
    "zeros(part)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=part(t)), NEW, like=np.zeros_like),
    # -- the host
    "Tensor.to_numpy": Way(lambda t: t.to_numpy(), HOST),
    "Tensor.to_numpy(copy=True)": Way(lambda t: t.to_numpy(copy=True), COPY),
    "Tensor.to_numpy(copy=False)": Way(lambda t: t.to_numpy(copy=False), HOST, host=True),
    "Tensor.to_numpy(wait=False)": Way(lambda t: t.to_numpy(wait=False), HOST),
    "AsyncCopy.result": Way(lambda t: t.to_numpy(wait=False).result(), HOST),
    "Tensor.to_numpy of bfloat16": Way(
        lambda t: t.to_numpy().view("uint8"), HOST, dtype="bfloat16", takes=lambda t: False),
    "Tensor.to_numpy of a slice": Way(
        lambda t: t[::-2].to_numpy(), HOST, takes=has_axes, like=lambda a: a[::-2]),
    "Tensor.__array__": Way(lambda t: t.__array__(), HOST, host=True),
    "Tensor.__array__, np.asarray": Way(np.asarray, HOST, host=True),
    "Tensor.__array__, np.array": Way(np.array, COPY, host=True),
    "Tensor.__buffer__": Way(memoryview, HOST, host=True, takes=numpy_knows),
    "Tensor.tolist": Way(lambda t: t.tolist(), NUMBER),
    "Tensor.item": Way(lambda t: t[:1].item(), NUMBER),
    "Tensor.__index__": Way(lambda t: t[0].__index__(), NUMBER),
    "Tensor.__int__": Way(lambda t: int(t[0]), NUMBER),
    "Tensor.__float__": Way(lambda t: float(t[0]), NUMBER, dtype="float64"),
    "Tensor.__complex__": Way(lambda t: complex(t[0]), NUMBER, dtype="complex128"),
    "staged": Way(staged, COPY),
    "staged for a GPU-aware MPI": Way(staged_for_aware_mpi, COPY, host=True, takes=is_compact),
    "mpi.staged_request": Way(lambda t: requested(t, "wait"), COPY),
    "StagedRequest.test": Way(lambda t: requested(t, "test"), COPY),
    # -- its host view
    "host_view": Way(sx.host_view, HOST, any=True),
    "host_view(copy=True)": Way(lambda t: sx.host_view(t, copy=True), COPY, any=True),
    "host_view(copy=False)": Way(lambda t: sx.host_view(t, copy=False), HOST, any=True, host=True,
                                 takes=lambda t: not t.reversed),
    "host_view of a slice": Way(
        lambda t: sx.host_view(t[::2]), HOST, takes=has_axes, like=lambda a: a[::2]),
    "host_view of a host_view": Way(lambda t: sx.host_view(sx.host_view(t)), HOST, any=True),
    "host_view of a host_view(copy=True)": Way(
        lambda t: sx.host_view(sx.host_view(t), copy=True), COPY, any=True),
    "HostView.__array__": Way(lambda t: sx.host_view(t).__array__(), HOST, any=True),
    "HostView.__array__(copy=True)": Way(lambda t: np.array(sx.host_view(t)), COPY, any=True),
    "HostView.to_numpy": Way(lambda t: sx.host_view(t).to_numpy(), HOST, any=True),
    "HostView.tolist": Way(lambda t: sx.host_view(t).tolist(), NUMBER, any=True),
    "HostView.item": Way(lambda t: sx.host_view(t[:1]).item(), NUMBER),
    "HostView.__index__": Way(lambda t: sx.host_view(t[0]).__index__(), NUMBER),
    "HostView.__int__": Way(lambda t: int(sx.host_view(t[0])), NUMBER),
    "HostView.__float__": Way(lambda t: float(sx.host_view(t[0])), NUMBER, dtype="float64"),
    "HostView.__complex__": Way(
        lambda t: complex(sx.host_view(t[0])), NUMBER, dtype="complex128"),
    "HostView.__buffer__": Way(
        lambda t: memoryview(sx.host_view(t)), HOST, any=True, takes=numpy_knows),
    "HostView.__dlpack__": Way(
        lambda t: handed(sx.host_view(t).__dlpack__(**V1), t), HOST, takes=is_compact),
    "HostView.__dlpack__, legacy": Way(
        lambda t: sx.host_view(t).__dlpack__(), HOST),
    "HostView, np.from_dlpack": Way(
        lambda t: np.from_dlpack(sx.host_view(t)), HOST, any=True, takes=numpy_knows),
    "HostView, torch": Way(
        lambda t: module("torch").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=torch_knows),
    "HostView, tvm_ffi": Way(
        lambda t: module("tvm_ffi").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=is_known_compact),
    "HostView.__dlpack_c_exchange_api__": Way(
        lambda t: from_table(sx.host_view(t)), HOST, holds=False, takes=is_compact),
    "HostView.__dlpack_c_exchange_api__, borrowed": Way(
        lambda t: borrowed_from_table(sx.host_view(t)), HOST, host=True, holds=False,
        takes=is_compact),
    "from_dlpack of a host_view": Way(
        lambda t: sx.from_dlpack(sx.host_view(t)), HOST, copies=2, any=True),
    "from_dlpack of a host_view(copy=False)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False), HOST, host=True),
    "from_dlpack of a host_view(copy=True)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=True), COPY, copies=2, any=True),
    "as_tensor of a host_view": Way(
        lambda t: sx.as_tensor(sx.host_view(t)), HOST, copies=2, any=True),
    "as_tensor of a host_view(device)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device=root(t)), EITHER),
    "as_tensor of a host_view(CPU)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device="cpu"), EITHER, any=True),
    "exchange of a host_view(numpy)": Way(
        lambda t: sx.exchange(sx.host_view(t), np), HOST, any=True, takes=numpy_knows),
    "exchange of a host_view(dpnp)": Way(
        lambda t: sx.exchange(sx.host_view(t), "dpnp", copy=True), COPY, copies=2, any=True,
        takes=numpy_knows),
    # -- DLPack
    "from_dlpack": Way(sx.from_dlpack, VIEW, any=True),
    "from_dlpack(copy=False)": Way(lambda t: sx.from_dlpack(t, copy=False), VIEW, any=True),
    "from_dlpack(copy=True)": Way(lambda t: sx.from_dlpack(t, copy=True), COPY, any=True),
    "from_dlpack(device, copy=True)": Way(
        lambda t: sx.from_dlpack(t, device=root(t), copy=True), COPY),
    "from_dlpack of a producer": Way(
        lambda t: sx.from_dlpack(HandedOn(t)), VIEW, default=True),
    "from_dlpack of a capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__(**V1)), VIEW, default=True),
    "from_dlpack of a legacy capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__()), VIEW, default=True),
    "from_dlpack, without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t))), VIEW, default=True,
        takes=is_compact),
    "from_dlpack(copy=False), without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t), copy=False)), VIEW, default=True,
        takes=is_compact),
    "from_dlpack of a C table": Way(
        lambda t: first_command(sx.from_dlpack(behind_a_table(t))), VIEW, default=True,
        takes=is_compact),
    "Tensor.__dlpack__": Way(lambda t: t.__dlpack__(**V1), VIEW, default=True),
    "Tensor.__dlpack__, legacy": Way(lambda t: t.__dlpack__(), VIEW, default=True),
    "Tensor.__dlpack__(stream=-1)": Way(
        lambda t: t.__dlpack__(stream=-1, **V1), VIEW, default=True),
    "Tensor.__dlpack__(stream=-1), legacy": Way(
        lambda t: t.__dlpack__(stream=-1), VIEW, default=True),
    "Tensor.__dlpack__(own device)": Way(
        lambda t: t.__dlpack__(dl_device=(14, t.device.id), **V1), VIEW),
    "Tensor.__dlpack__(copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **V1), t, root(t).sycl_queue), COPY,
        takes=is_compact),
    "Tensor.__dlpack__(host)": Way(
        lambda t: handed(t.__dlpack__(**HOST_V1), t), HOST, takes=is_compact),
    "Tensor.__dlpack__(host), legacy": Way(
        lambda t: t.__dlpack__(dl_device=(1, 0)), HOST),
    "Tensor.__dlpack__(host, copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **HOST_V1), t), COPY, takes=is_compact),
    "Tensor.__dlpack__(stream=None)": Way(
        by_stream(lambda q: None), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=queue)": Way(
        by_stream(lambda q: q), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=out-of-order queue)": Way(
        by_stream(lambda q: q, in_order=False), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=address)": Way(
        by_stream(lambda q: q.addressof_ref()), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=capsule)": Way(
        by_stream(lambda q: q._get_capsule()), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__, np.from_dlpack": Way(
        lambda t: np.from_dlpack(t, device="cpu"), HOST, takes=numpy_knows),
    "Tensor.__dlpack__, np.from_dlpack(copy=True)": Way(
        lambda t: np.from_dlpack(t, device="cpu", copy=True), COPY, takes=numpy_knows),
    "Tensor.__dlpack__, dpnp": Way(
        lambda t: module("dpnp").from_dlpack(t), VIEW, default=True, takes=is_forward),
    "Tensor.__dlpack__, dpnp, computed": Way(
        lambda t: module("dpnp").from_dlpack(t) + 0, COPY, default=True, needs="kernels",
        takes=lambda t: False),
    "Tensor.__dlpack_c_exchange_api__": Way(
        from_table, VIEW, default=True, holds=False, takes=is_compact),
    "Tensor.__dlpack_c_exchange_api__, borrowed": Way(
        borrowed_from_table, VIEW, default=True, holds=False, takes=is_compact),
    "Tensor.__dlpack_c_exchange_api__, tvm_ffi": Way(
        lambda t: Address(t.ptr, t, root(t).sycl_queue, module("tvm_ffi").from_dlpack(t),
                          readonly=False),
        VIEW, default=True, flagless=True, takes=is_compact),
    # -- __sycl_usm_array_interface__
    "as_tensor": Way(sx.as_tensor, VIEW, any=True),
    "as_tensor(copy=False)": Way(lambda t: sx.as_tensor(t, copy=False), VIEW, any=True),
    "as_tensor(copy=True)": Way(lambda t: sx.as_tensor(t, copy=True), COPY, any=True),
    "as_tensor(queue)": Way(
        on_queue(lambda t, q: sx.as_tensor(t, device=q), False), VIEW, default=True,
        takes=is_compact),
    "as_tensor of a memoryview": Way(
        lambda t: sx.as_tensor(memoryview(sx.host_view(t))),
        HOST, copies=2, any=True, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__": Way(
        lambda t: sx.as_tensor(described(t)), VIEW, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__(copy=True)": Way(
        lambda t: sx.as_tensor(described(t), copy=True), COPY, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__, dpctl.memory": Way(
        lambda t: dpctl.memory.as_usm_memory(as_bytes(t)), VIEW, flagless=True,
        takes=lambda t: is_compact(t) and t.size > 0,
        like=lambda a: np.frombuffer(a.tobytes(), "uint8")),
    "Tensor.__sycl_usm_array_interface__, dpnp": Way(
        lambda t: module("dpnp").asarray(t), COPY, takes=is_forward),
    "Tensor.__sycl_usm_array_interface__, dpnp.tensor": Way(
        lambda t: module("dpnp.tensor").asarray(t), VIEW, takes=is_forward),
    # -- exchange
    "exchange(numpy)": Way(lambda t: sx.exchange(t, np), HOST, any=True, takes=numpy_knows),
    "exchange(numpy, copy=True)": Way(
        lambda t: sx.exchange(t, np, copy=True), COPY, any=True, takes=numpy_knows),
    "exchange(torch)": Way(
        lambda t: sx.exchange(t, "torch"), HOST, any=True, takes=torch_knows),
    "exchange(memoryview)": Way(
        lambda t: sx.exchange(t, memoryview), HOST, any=True, takes=numpy_knows),
    "exchange(a callable)": Way(
        lambda t: sx.exchange(t, lambda x: np.from_dlpack(x)), HOST, any=True, takes=numpy_knows),
    "exchange(sycl_ext)": Way(lambda t: sx.exchange(t, sx), VIEW, any=True),
    "exchange(sycl_ext.from_dlpack)": Way(
        lambda t: sx.exchange(t, sx.from_dlpack), VIEW, any=True),
    "exchange(device)": Way(lambda t: sx.exchange(t, root(t), copy=True), COPY),
    "exchange(host)": Way(lambda t: sx.exchange(t, (1, 0)), HOST, any=True),
    "exchange(dpnp)": Way(
        lambda t: sx.exchange(t, "dpnp"), VIEW, any=True, default=True, takes=is_forward),
    "exchange(dpnp, copy=True)": Way(
        lambda t: sx.exchange(t, "dpnp", copy=True), COPY, any=True, takes=numpy_knows),
    # -- writes
    "Tensor.copy_from": Way(lambda t, a: t.copy_from(a), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a number)": Way(
        lambda t, a: t.copy_from(a.reshape(-1)[-1]), WRITES, takes=lambda t: False),
    "Tensor.copy_from(wait=False)": Way(
        lambda t, a: t.copy_from(a, wait=False).wait(), WRITES, takes=can_hold_each),
    "AsyncCopy.wait": Way(
        lambda t, a: t.copy_from(others(t, a), wait=False).wait(),
        WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor)": Way(
        lambda t, a: t.copy_from(others(t, a)), WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor on another queue)": Way(
        lambda t, a: t.copy_from(others(t, a, consumer(t, True))),
        WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor of a part)": Way(
        lambda t, a: t.copy_from(others(t, a, part(t))), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a tensor of the CPU)": Way(
        lambda t, a: t.copy_from(others(t, a, "cpu")), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a host_view)": Way(
        lambda t, a: t.copy_from(sx.host_view(others(t, a))),
        WRITES, copies=3, takes=can_hold_each),
    "Tensor.copy_from(strided)": Way(
        lambda t, a: t.copy_from(others(t, a[::-1])[::-1]), WRITES, copies=3,
        takes=lambda t: has_axes(t) and can_hold_each(t)),
    "staged(w)": Way(stage, WRITES, takes=can_hold_each),
    "staged(rw)": Way(lambda t, a: stage(t, a, "rw"), WRITES, copies=2, takes=can_hold_each),
    "StagedRequest.wait": Way(
        lambda t, a: receive(t, a, "wait"), WRITES, takes=can_hold_each),
    # -- what touches no memory
    "explain": Way(lambda t: [str(sx.explain(t, to)) for to in (None, (1, 0), np)], NOTHING,
                   any=True),
}
# fmt: on

#: Public names that are not ways into or out of a tensor -> the file that tests them.
ELSEWHERE = {
    "device devices register_context Device.create_sub_devices Device.host_accessible":
        "package/devices/test_device_table.py",
    "memory.cached memory.limit memory.release_cached memory.statistics":
        "package/devices/test_memory_use.py",
    "HostView.__copy__ HostView.__deepcopy__ HostView.__getitem__ HostView.__iter__ "
    "HostView.__reduce_ex__ HostView.as_readonly HostView.copy HostView.copy_from "
    "HostView.reshape HostView.squeeze HostView.to_device HostView.transpose "
    "HostView.wait":
        "package/tensor/test_host_view_methods.py",
    "AsyncCopy.__copy__ AsyncCopy.__deepcopy__ Device.__copy__ Device.__deepcopy__ "
    "HostRegistration.__copy__ HostRegistration.__deepcopy__":
        "package/tensor/test_identities.py",
    "memory.live_exports": "package/debug/test_origins.py",
    "memory.register_host HostRegistration.close": "package/tensor/test_host_registration.py",
    "pickling.to_device": "package/tensor/test_pickle.py",
    "pickling.register": "package/exchange/test_libraries.py",
    "dlpack.capsule_from_pointer": "core/dlpack/test_dlpack_import.py",
    "ipc.empty ipc.handle ipc.open": "package/ipc/test_ipc.py",
    "ipc.register_multiprocessing": "environments/stand_in_gpu/test_gpu_anybodys_memory.py",
    "Handle.to_bytes": "environments/stand_in_gpu/test_gpu_processes.py",
    "mpi.check": "programs/processes/mpi_guard.py",
    "get_cmake_dir get_include": "package/setup/test_import.py",
    "Plan.check Plan.noting": "package/negotiation/test_rules.py",
    "AsyncCopy.done": "package/tensor/test_async_copy.py",
}  # fmt: skip

#: Protocols, which are public although their names begin with an underscore.
PROTOCOLS = re.compile(
    r"__(array|buffer|copy|deepcopy|dlpack|dlpack_c_exchange_api|getitem|iter|reduce_ex"
    r"|sycl_usm_array_interface|int|float|complex|index)__"
)


def public() -> Iterator[str]:
    """Every public function, and every public method but those that refuse to compute."""
    spaces = {name: one for name in sx.__all__ if isinstance(one := getattr(sx, name), ModuleType)}
    for space, one in {"": sx, **spaces}.items():
        for name in one.__all__:
            found = getattr(one, name)
            if isinstance(found, type):
                yield from (f"{name}.{method}" for method in _methods(found))
            elif callable(found):
                yield f"{space}.{name}".lstrip(".")


def _methods(cls: type) -> set[str]:
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("sycl_ext") and base is not sx.dlpack.SupportsDLPack
        for name, value in vars(base).items()
        if PROTOCOLS.fullmatch(name) or (callable(value) and not name.startswith("_"))
    }


def named(name: str) -> str:
    """The public name that a row begins with."""
    return re.match(r"[\w.]+", name)[0]
