# SPDX-License-Identifier: Apache-2.0
"""Memory that several processes share."""

from sycl_ext._ipc.handles import Handle, empty, handle, open  # noqa: A004
from sycl_ext._ipc.reductions import register_multiprocessing
from sycl_ext._setup.public import publish

__all__ = ["Handle", "empty", "handle", "open", "register_multiprocessing"]

publish(__name__, Handle, empty, handle, open, register_multiprocessing)
