# SPDX-License-Identifier: Apache-2.0
"""Writes to a tensor, and a plan, which touches no memory."""

from __future__ import annotations

import numpy as np

import sycl_ext as sx
from ways.parts import (
    can_hold_each,
    consumer,
    has_axes,
    others,
    receive,
    stage,
    sub_device_of,
)
from ways.way import NOTHING, WRITES, Tag, Way

# fmt: off
ROWS: dict[str, Way] = {
    # -- writes
    "Tensor.copy_from": Way(lambda t, a: t.copy_from(a), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a number)": Way(
        lambda t, a: t.copy_from(a.reshape(-1)[-1]), WRITES, tags={Tag.ONE_NUMBER}),
    "Tensor.copy_from(wait=False)": Way(
        lambda t, a: t.copy_from(a, wait=False).wait(), WRITES, takes=can_hold_each,
        tags={Tag.COMMAND}),
    "AsyncCopy.wait": Way(
        lambda t, a: t.copy_from(others(t, a), wait=False).wait(),
        WRITES, copies=2, takes=can_hold_each, tags={Tag.COMMAND}),
    "Tensor.copy_from(a tensor)": Way(
        lambda t, a: t.copy_from(others(t, a)), WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor on another queue)": Way(
        lambda t, a: t.copy_from(others(t, a, consumer(t, True))),
        WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor of a part)": Way(
        lambda t, a: t.copy_from(others(t, a, sub_device_of(t))), WRITES, takes=can_hold_each,
        tags={Tag.SUB_DEVICE}),
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
