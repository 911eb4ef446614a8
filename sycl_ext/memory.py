# SPDX-License-Identifier: Apache-2.0
"""Memory of this process: exports, allocations, cached memory, and registered host memory."""

from sycl_ext._setup import public as _public

#: The modules of the public names.  ``memory.pyi`` lists them for editors and type checkers.
_PUBLIC = {
    "_devices.memory_use": "Statistics cached limit release_cached statistics",
    "_protocols.live_exports": "ExportOrigin live_exports",
    "_tensor.async_copy": "AsyncCopy",
    "_tensor.hints": "advise prefetch",
    "_tensor.host_registration": "HostRegistration register_host",
}

__getattr__, __dir__ = _public.lazily(__name__, _PUBLIC)
__all__ = [*__dir__()]
