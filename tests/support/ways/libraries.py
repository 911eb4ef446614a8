# SPDX-License-Identifier: Apache-2.0
"""``__sycl_usm_array_interface__``, and exchanges with a library."""

from __future__ import annotations

import dpctl.memory
import numpy as np

import sycl_ext as sx
from ways.parts import (
    as_bytes,
    described,
    is_compact,
    is_forward,
    numpy_knows,
    on_queue,
    root,
    torch_knows,
)
from ways.results import module
from ways.way import COPY, HOST, VIEW, Tag, Way

# fmt: off
ROWS: dict[str, Way] = {
    # -- __sycl_usm_array_interface__
    "as_tensor": Way(sx.as_tensor, VIEW, any=True),
    "as_tensor(usm_type)": Way(
        lambda x: sx.as_tensor(x, usm_type="host", copy=True), COPY, any=True),
    "as_tensor(copy=False)": Way(lambda t: sx.as_tensor(t, copy=False), VIEW, any=True),
    "as_tensor(copy=True)": Way(lambda t: sx.as_tensor(t, copy=True), COPY, any=True,
        tags={Tag.ALLOCATES}),
    "as_tensor(queue)": Way(
        on_queue(lambda t, q: sx.as_tensor(t, device=q), False), VIEW, default=True,
        takes=is_compact),
    "as_tensor of a memoryview": Way(
        lambda t: sx.as_tensor(memoryview(sx.host_view(t))),
        HOST, copies=2, any=True, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__": Way(
        lambda t: sx.as_tensor(described(t)), VIEW, takes=numpy_knows, tags={Tag.INTERFACE}),
    "Tensor.__sycl_usm_array_interface__(copy=True)": Way(
        lambda t: sx.as_tensor(described(t), copy=True), COPY, takes=numpy_knows,
        tags={Tag.INTERFACE}),
    "Tensor.__sycl_usm_array_interface__, dpctl.memory": Way(
        lambda t: dpctl.memory.as_usm_memory(as_bytes(t)), VIEW, flagless=True,
        takes=lambda t: is_compact(t) and t.size > 0,
        like=lambda a: np.frombuffer(a.tobytes(), "uint8"), tags={Tag.DPCTL, Tag.INTERFACE}),
    "Tensor.__sycl_usm_array_interface__, dpnp": Way(
        lambda t: module("dpnp").asarray(t), COPY, takes=is_forward,
        tags={Tag.DPNP, Tag.INTERFACE, Tag.COMMAND}),
    "Tensor.__sycl_usm_array_interface__, dpnp.tensor": Way(
        lambda t: module("dpnp.tensor").asarray(t), VIEW, takes=is_forward,
        tags={Tag.DPNP, Tag.INTERFACE}),
    # -- exchange
    "exchange(numpy)": Way(lambda t: sx.exchange(t, np), HOST, any=True, takes=numpy_knows,
        tags={Tag.EXCHANGE}),
    "exchange(numpy, copy=True)": Way(
        lambda t: sx.exchange(t, np, copy=True), COPY, any=True, takes=numpy_knows,
        tags={Tag.EXCHANGE}),
    "exchange(torch)": Way(
        lambda t: sx.exchange(t, "torch"), HOST, any=True, takes=torch_knows,
        tags={Tag.TORCH, Tag.EXCHANGE}),
    "exchange(memoryview)": Way(
        lambda t: sx.exchange(t, memoryview, device=(1, 0)), HOST, any=True, takes=numpy_knows,
        tags={Tag.EXCHANGE}),
    "exchange(a callable)": Way(
        lambda t: sx.exchange(t, lambda x: x.to_numpy()), HOST, any=True, takes=numpy_knows,
        tags={Tag.EXCHANGE}),
    "exchange(sycl_ext)": Way(lambda t: sx.exchange(t, sx), VIEW, any=True, tags={Tag.EXCHANGE}),
    "exchange(sycl_ext.from_dlpack)": Way(
        lambda t: sx.exchange(t, sx.from_dlpack), VIEW, any=True, tags={Tag.EXCHANGE}),
    "exchange(device)": Way(lambda t: sx.exchange(t, root(t), copy=True), COPY,
        tags={Tag.EXCHANGE}),
    "exchange(device, usm_type)": Way(
        lambda t: sx.exchange(t, root(t), usm_type="host", copy=True), COPY, tags={Tag.EXCHANGE}),
    "exchange(host)": Way(lambda t: sx.exchange(t, (1, 0)), HOST, any=True, tags={Tag.EXCHANGE}),
    "exchange(dpnp)": Way(
        lambda t: sx.exchange(t, "dpnp"), VIEW, any=True, default=True, takes=is_forward,
        tags={Tag.DPNP, Tag.EXCHANGE}),
    "exchange(dpnp, copy=True)": Way(
        lambda t: sx.exchange(t, "dpnp", copy=True), COPY, any=True, takes=numpy_knows,
        tags={Tag.DPNP, Tag.EXCHANGE}),
}
# fmt: on
