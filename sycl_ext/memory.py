# SPDX-License-Identifier: Apache-2.0
"""Memory of this process: exports, allocations, cached memory, and registered host memory."""

from sycl_ext._setup.public import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sycl_ext._debug.introspection import ExportOrigin, live_exports
    from sycl_ext._devices.cached_memory import cached, release_cached
    from sycl_ext._devices.memory_use import Statistics, limit, statistics
    from sycl_ext._tensor.async_copy import AsyncCopy
    from sycl_ext._tensor.host_registration import HostRegistration, register_host
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "_debug.introspection": "ExportOrigin live_exports",
            "_devices.cached_memory": "cached release_cached",
            "_devices.memory_use": "Statistics limit statistics",
            "_tensor.async_copy": "AsyncCopy",
            "_tensor.host_registration": "HostRegistration register_host",
        },
    )

__all__ = [
    "AsyncCopy",
    "ExportOrigin",
    "HostRegistration",
    "Statistics",
    "cached",
    "limit",
    "live_exports",
    "register_host",
    "release_cached",
    "statistics",
]
