# SPDX-License-Identifier: Apache-2.0
"""Memory of this process: what is exported, what is kept for reuse, copies that go on."""

from sycl_ext._debug.introspection import ExportOrigin, live_exports
from sycl_ext._devices.cached_memory import cached, release_cached
from sycl_ext._setup.public import publish
from sycl_ext._tensor.async_copy import AsyncCopy

__all__ = ["AsyncCopy", "ExportOrigin", "cached", "live_exports", "release_cached"]

publish(__name__, AsyncCopy, ExportOrigin, cached, live_exports, release_cached)
