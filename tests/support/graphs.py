# SPDX-License-Identifier: Apache-2.0
"""SYCL graphs (sycl_ext_oneapi_graph) from Python: a queue that records."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator

import dpctl

INSIDE = "_ZN4sycl3_V13ext6oneapi12experimental6detail24modifiable_command_graph"
PROPERTIES = "RKNS0_13property_listE"


@contextlib.contextmanager
def recording(queue: dpctl.SyclQueue) -> Iterator[Callable[[], int]]:
    """Records submissions to the queue, which do not run; gives the number of nodes."""
    library = ctypes.CDLL("libsycl.so.9")
    no_properties = ctypes.create_string_buffer(256)  # an empty property_list
    graph = ctypes.create_string_buffer(16)  # which is a shared_ptr
    where = ctypes.c_void_p(queue.addressof_ref())
    library[f"{INSIDE}C1ERKNS0_5queueE{PROPERTIES}"](graph, where, no_properties)
    library[f"{INSIDE}15begin_recordingERNS0_5queueE{PROPERTIES}"](graph, where, no_properties)

    def nodes() -> int:
        vector = (ctypes.c_size_t * 3)()  # begin, end and capacity, of handles of 16 bytes
        library[f"{INSIDE.replace('_ZN', '_ZNK')}9get_nodesEv"](vector, graph)
        return (vector[1] - vector[0]) // 16

    try:
        yield nodes
    finally:
        library[f"{INSIDE}13end_recordingERNS0_5queueE"](graph, where)
