# SPDX-License-Identifier: Apache-2.0
"""The elements on the host: NumPy, buffers, numbers, MPI, and host views."""

from __future__ import annotations

import numpy as np

import sycl_ext as sx
from ways.parts import (
    V1,
    borrowed_from_table,
    from_table,
    handed,
    has_axes,
    is_compact,
    is_compact_bfloat16,
    is_known_compact,
    numpy_knows,
    requested,
    root,
    staged,
    staged_for_aware_mpi,
    torch_knows,
)
from ways.results import module
from ways.way import COPY, EITHER, HOST, NUMBER, Tag, Way

# fmt: off
ROWS: dict[str, Way] = {
    # -- the host
    "Tensor.to_numpy": Way(lambda t: t.to_numpy(), HOST),
    "Tensor.to_numpy(copy=True)": Way(lambda t: t.to_numpy(copy=True), COPY),
    "Tensor.to_numpy(copy=False)": Way(lambda t: t.to_numpy(copy=False), HOST, host=True),
    "Tensor.to_numpy(wait=False)": Way(lambda t: t.to_numpy(wait=False), HOST),
    "AsyncCopy.result": Way(lambda t: t.to_numpy(wait=False).result(), HOST),
    "Tensor.to_numpy of bfloat16": Way(
        lambda t: t.to_numpy().view("uint8"), HOST, dtype="bfloat16",
        takes=is_compact_bfloat16, like=lambda a: a.view("uint8")),
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
    "staged for a GPU-aware MPI": Way(staged_for_aware_mpi, COPY, host=True, takes=is_compact,
        tags={Tag.KEEPS_FLAG}),
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
        lambda t: sx.host_view(t).__dlpack__(), HOST, tags={Tag.LEGACY}),
    "HostView, np.from_dlpack": Way(
        lambda t: np.from_dlpack(sx.host_view(t)), HOST, any=True, takes=numpy_knows),
    "HostView, torch": Way(
        lambda t: module("torch").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=torch_knows, tags={Tag.TORCH}),
    "HostView, tvm_ffi": Way(
        lambda t: module("tvm_ffi").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=is_known_compact, tags={Tag.TVM_FFI}),
    "HostView.__dlpack_c_exchange_api__": Way(
        lambda t: from_table(sx.host_view(t)), HOST, holds=False, takes=is_compact,
        tags={Tag.C_TABLE}),
    "HostView.__dlpack_c_exchange_api__, borrowed": Way(
        lambda t: borrowed_from_table(sx.host_view(t)), HOST, host=True, holds=False,
        takes=is_compact, tags={Tag.C_TABLE}),
    "from_dlpack of a host_view": Way(
        lambda t: sx.from_dlpack(sx.host_view(t)), HOST, copies=2, any=True),
    "from_dlpack of a host_view(copy=False)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False), HOST, host=True,
        tags={Tag.CPU_ONLY}),
    "from_dlpack of a host_view(copy=True)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=True), COPY, copies=2, any=True),
    "as_tensor of a host_view": Way(
        lambda t: sx.as_tensor(sx.host_view(t)), HOST, copies=2, any=True),
    "as_tensor of a host_view(device)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device=root(t)), EITHER),
    "as_tensor of a host_view(CPU)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device="cpu"), EITHER, any=True),
    "exchange of a host_view(numpy)": Way(
        lambda t: sx.exchange(sx.host_view(t), np), HOST, any=True, takes=numpy_knows,
        tags={Tag.EXCHANGE}),
    "exchange of a host_view(dpnp)": Way(
        lambda t: sx.exchange(sx.host_view(t), "dpnp", copy=True), COPY, copies=2, any=True,
        takes=numpy_knows, tags={Tag.DPNP, Tag.EXCHANGE}),
}
# fmt: on
