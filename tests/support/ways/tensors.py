# SPDX-License-Identifier: Apache-2.0
"""Views of a tensor, copies of it, and tensors like it."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import sycl_ext as sx
from ways.parts import (
    consumer,
    folds,
    has_axes,
    is_compact,
    is_known_compact,
    on_queue,
    private,
    root,
    sub_device_of,
    target,
    through_pickle,
    waited_for,
    with_buffers,
)
from ways.way import COPY, HOST, NEW, VIEW, Tag, Way

# fmt: off
ROWS: dict[str, Way] = {
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
        like=lambda a: a.reshape(4, -1).T.reshape(-1), tags={Tag.ALLOCATES}),
    "Tensor.as_readonly": Way(lambda t: t.as_readonly(), VIEW, readonly=True),
    "Tensor.wait": Way(waited_for, VIEW, host=True, holds=False, readonly=True, takes=is_compact),
    # -- copies
    "Tensor.copy": Way(lambda t: t.copy(), COPY, tags={Tag.STAYS, Tag.ALLOCATES}),
    "Tensor.copy('F')": Way(lambda t: t.copy("F"), COPY, tags={Tag.STAYS, Tag.ALLOCATES}),
    "Tensor.copy of a slice": Way(
        lambda t: t[1::3].copy(), COPY, copies=2, takes=has_axes, like=lambda a: a[1::3]),
    "Tensor.__copy__": Way(copy.copy, COPY, tags={Tag.STAYS, Tag.ALLOCATES}),
    "Tensor.__deepcopy__": Way(copy.deepcopy, COPY, tags={Tag.STAYS, Tag.ALLOCATES}),
    "Tensor.__reduce_ex__": Way(lambda t: pickle.loads(pickle.dumps(t)), COPY, copies=2,
        tags={Tag.KEEPS_FLAG, Tag.ALLOCATES}),
    "Tensor.__reduce_ex__(buffers)": Way(with_buffers, COPY, copies=2,
        tags={Tag.KEEPS_FLAG, Tag.ALLOCATES}),
    "Tensor.__reduce_ex__, out of band": Way(
        through_pickle, HOST, readonly=True, takes=is_known_compact, tags={Tag.KEEPS_FLAG}),
    "Tensor.copy_from, of it": Way(lambda t: target(t, root(t)).copy_from(t), COPY,
        tags={Tag.ALLOCATES}),
    "Tensor.copy_from, of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x), COPY, any=True, tags={Tag.ALLOCATES}),
    "Tensor.copy_from(wait=False), of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x, wait=False), COPY, any=True,
        tags={Tag.COMMAND, Tag.ALLOCATES}),
    "Tensor.copy_from, of a slice of it": Way(
        lambda t: target(t[::2], root(t)).copy_from(t[::2]), COPY, copies=2, takes=has_axes,
        like=lambda a: a[::2]),
    "Tensor.copy_from, of it on another queue": Way(
        lambda t: target(t, consumer(t, True)).copy_from(t), COPY, tags={Tag.ALLOCATES}),
    "Tensor.copy_from, of its host_view": Way(
        lambda t: target(t, root(t)).copy_from(sx.host_view(t)), COPY, copies=2),
    "Tensor.copy_from(wait=False), of it": Way(
        lambda t: target(t, root(t)).copy_from(t, wait=False), COPY,
        tags={Tag.COMMAND, Tag.ALLOCATES}),
    "Tensor.to_device": Way(lambda t: t.to_device(t.device), VIEW),
    "Tensor.to_device(copy=True)": Way(lambda t: t.to_device(t.device, copy=True), COPY,
        tags={Tag.STAYS, Tag.ALLOCATES}),
    "Tensor.to_device(part)": Way(lambda t: t.to_device(sub_device_of(t), copy=True), COPY,
        tags={Tag.SUB_DEVICE, Tag.ALLOCATES}),
    "Tensor.to_device(private)": Way(
        lambda t: t.to_device(private(t.device.root_id), copy=True), COPY,
        tags={Tag.COMMAND, Tag.ALLOCATES}),
    "Tensor.to_device(root)": Way(lambda t: t.to_device(root(t), copy=True), COPY,
        tags={Tag.ALLOCATES}),
    "Tensor.to_device(queue)": Way(
        on_queue(lambda t, q: t.to_device(q), True), VIEW, default=True, takes=is_compact),
    "Tensor.to_device(CPU)": Way(lambda t: t.to_device("cpu", copy=True), COPY,
        tags={Tag.ALLOCATES}),
    # -- new ones
    "empty": Way(
        lambda t: sx.empty(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        tags={Tag.UNINITIALIZED}),
    "zeros": Way(
        lambda t: sx.zeros(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        like=np.zeros_like),
    "empty_like": Way(sx.empty_like, NEW, any=True, tags={Tag.UNINITIALIZED}),
    "zeros_like": Way(sx.zeros_like, NEW, any=True, like=np.zeros_like, tags={Tag.STAYS}),
    "zeros(queue)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=consumer(t, True)), NEW, like=np.zeros_like),
    "zeros(part)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=sub_device_of(t)), NEW, like=np.zeros_like,
        tags={Tag.SUB_DEVICE}),
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
}
# fmt: on
