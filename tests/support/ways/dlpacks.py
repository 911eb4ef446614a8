# SPDX-License-Identifier: Apache-2.0
"""DLPack: capsules, streams and the C exchange table."""

from __future__ import annotations

import numpy as np

import sycl_ext as sx
from stream_forms import FORMS
from ways.parts import (
    V1,
    HandedOn,
    WithoutStream,
    behind_a_table,
    borrowed_from_table,
    by_stream,
    first_command,
    from_table,
    handed,
    is_compact,
    is_forward,
    numpy_knows,
    root,
)
from ways.results import Address, module
from ways.way import COPY, HOST, VIEW, Tag, Way

HOST_V1 = {"dl_device": (1, 0), **V1}

# fmt: off
ROWS: dict[str, Way] = {
    "from_dlpack": Way(sx.from_dlpack, VIEW, any=True),
    "from_dlpack(copy=False)": Way(lambda t: sx.from_dlpack(t, copy=False), VIEW, any=True),
    "from_dlpack(copy=True)": Way(lambda t: sx.from_dlpack(t, copy=True), COPY, any=True,
        tags={Tag.ALLOCATES}),
    "from_dlpack(device, copy=True)": Way(
        lambda t: sx.from_dlpack(t, device=root(t), copy=True), COPY, tags={Tag.ALLOCATES}),
    "from_dlpack of a producer": Way(
        lambda t: sx.from_dlpack(HandedOn(t)), VIEW, default=True),
    "from_dlpack of a capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__(**V1)), VIEW, default=True),
    "from_dlpack of a legacy capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__()), VIEW, default=True, tags={Tag.LEGACY}),
    "from_dlpack, without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t))), VIEW, default=True,
        takes=is_compact, tags={Tag.WITHOUT_STREAM, Tag.FIRST_COMMAND}),
    "from_dlpack(copy=False), without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t), copy=False)), VIEW, default=True,
        takes=is_compact, tags={Tag.WITHOUT_STREAM, Tag.FIRST_COMMAND}),
    "from_dlpack of a C table": Way(
        lambda t: first_command(sx.from_dlpack(behind_a_table(t))), VIEW, default=True,
        takes=is_compact, tags={Tag.C_TABLE, Tag.FIRST_COMMAND}),
    "Tensor.__dlpack__": Way(lambda t: t.__dlpack__(**V1), VIEW, default=True),
    "Tensor.__dlpack__, legacy": Way(lambda t: t.__dlpack__(), VIEW, default=True,
        tags={Tag.LEGACY}),
    "Tensor.__dlpack__(stream=-1)": Way(
        lambda t: t.__dlpack__(stream=-1, **V1), VIEW, default=True),
    "Tensor.__dlpack__(stream=-1), legacy": Way(
        lambda t: t.__dlpack__(stream=-1), VIEW, default=True, tags={Tag.LEGACY}),
    "Tensor.__dlpack__(own device)": Way(
        lambda t: t.__dlpack__(dl_device=(14, t.device.id), **V1), VIEW),
    "Tensor.__dlpack__(copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **V1), t, root(t).sycl_queue), COPY,
        takes=is_compact, tags={Tag.ALLOCATES}),
    "Tensor.__dlpack__(host)": Way(
        lambda t: handed(t.__dlpack__(**HOST_V1), t), HOST, takes=is_compact),
    "Tensor.__dlpack__(host), legacy": Way(
        lambda t: t.__dlpack__(dl_device=(1, 0)), HOST, tags={Tag.LEGACY}),
    "Tensor.__dlpack__(host, copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **HOST_V1), t), COPY, takes=is_compact),
    "Tensor.__dlpack__(stream=None)": Way(
        by_stream(lambda q: None), VIEW, default=True, takes=is_compact),
    **{
        f"Tensor.__dlpack__(stream={form})": Way(
            by_stream(make), VIEW, default=True, takes=is_compact)
        for form, make in FORMS.items()
    },
    "Tensor.__dlpack__(stream=out-of-order queue)": Way(
        by_stream(lambda q: q, in_order=False), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__, np.from_dlpack": Way(
        lambda t: np.from_dlpack(t, device="cpu"), HOST, takes=numpy_knows),
    "Tensor.__dlpack__, np.from_dlpack(copy=True)": Way(
        lambda t: np.from_dlpack(t, device="cpu", copy=True), COPY, takes=numpy_knows),
    "Tensor.__dlpack__, dpnp": Way(
        lambda t: module("dpnp").from_dlpack(t), VIEW, default=True, takes=is_forward,
        tags={Tag.DPNP}),
    "Tensor.__dlpack__, dpnp, computed": Way(
        lambda t: module("dpnp").from_dlpack(t) + 0, COPY, default=True,
        takes=is_forward, tags={Tag.DPNP, Tag.KERNELS}),
    "Tensor.__dlpack_c_exchange_api__": Way(
        from_table, VIEW, default=True, holds=False, takes=is_compact, tags={Tag.C_TABLE}),
    "Tensor.__dlpack_c_exchange_api__, borrowed": Way(
        borrowed_from_table, VIEW, default=True, holds=False, takes=is_compact, tags={Tag.C_TABLE}),
    "Tensor.__dlpack_c_exchange_api__, tvm_ffi": Way(
        lambda t: Address(t.ptr, t, root(t).sycl_queue, module("tvm_ffi").from_dlpack(t),
                          readonly=False),
        VIEW, default=True, flagless=True, takes=is_compact, tags={Tag.TVM_FFI, Tag.C_TABLE}),
}
# fmt: on
