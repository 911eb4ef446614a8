# SPDX-License-Identifier: Apache-2.0
# The public names of `memory.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._devices.memory_use import Statistics as Statistics
from sycl_ext._devices.memory_use import cached as cached
from sycl_ext._devices.memory_use import limit as limit
from sycl_ext._devices.memory_use import release_cached as release_cached
from sycl_ext._devices.memory_use import statistics as statistics
from sycl_ext._protocols.live_exports import ExportOrigin as ExportOrigin
from sycl_ext._protocols.live_exports import live_exports as live_exports
from sycl_ext._tensor.async_copy import AsyncCopy as AsyncCopy
from sycl_ext._tensor.hints import advise as advise
from sycl_ext._tensor.hints import prefetch as prefetch
from sycl_ext._tensor.host_registration import HostRegistration as HostRegistration
from sycl_ext._tensor.host_registration import register_host as register_host
