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
            "AsyncCopy": "_tensor.async_copy",
            "ExportOrigin": "_debug.introspection",
            "HostRegistration": "_tensor.host_registration",
            "Statistics": "_devices.memory_use",
            "cached": "_devices.cached_memory",
            "limit": "_devices.memory_use",
            "live_exports": "_debug.introspection",
            "register_host": "_tensor.host_registration",
            "release_cached": "_devices.cached_memory",
            "statistics": "_devices.memory_use",
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
