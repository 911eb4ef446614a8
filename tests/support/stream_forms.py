# SPDX-License-Identifier: Apache-2.0
"""Every form in which a consumer can give its queue as ``stream``, named as by the parser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpctl


class WithCapsule:
    """A foreign queue that hands out "SyclQueueRef" capsules."""

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self._queue = queue

    def _get_capsule(self) -> object:
        return self._queue._get_capsule()


class XpuStream:
    """Looks like a ``torch.xpu.Stream``: `sycl_queue` is the address of a ``sycl::queue``."""

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self._keep = queue
        self.sycl_queue = queue.addressof_ref()


STREAM_FORMS: dict[str, Callable[[dpctl.SyclQueue], Any]] = {
    "a dpctl.SyclQueue": lambda queue: queue,
    "a 'SyclQueueRef' capsule": lambda queue: queue._get_capsule(),
    "an object with _get_capsule()": WithCapsule,
    "an object with sycl_queue": XpuStream,
    "the address of a sycl::queue as an int": lambda queue: queue.addressof_ref(),
}
