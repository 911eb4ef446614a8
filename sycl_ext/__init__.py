# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack."""

from typing import TYPE_CHECKING, Any

from sycl_ext._devices import startup

startup.require_main_interpreter()  # before the core is loaded
startup.leave_source_tree(__path__)  # before the other modules are loaded

from sycl_ext._devices import icd  # noqa: E402

__version__ = "0.1.0"

_driver = icd.add_embedded_cpu()  # before the SYCL runtime lists devices

if (failure := startup.load_core()) is not None:
    from sycl_ext._debug.paths import get_cmake_dir, get_include

    # Python imports the package before `python -m sycl_ext doctor`, which finds out why.
    globals()["__getattr__"] = startup.attribute_error_of(failure)
else:
    startup.restore_package()  # of an earlier import

    from sycl_ext._debug.trace import ENABLED as _TRACES
    from sycl_ext._devices import no_device
    from sycl_ext._devices.device import Device, devices
    from sycl_ext._devices.placement import device, register_context
    from sycl_ext._devices.runtimes import TwoRuntimesWarning, warn_of_others
    from sycl_ext._negotiation.dlpack import DeviceType, SupportsDLPack
    from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, SyclError
    from sycl_ext._negotiation.rules import Plan, Route
    from sycl_ext._tensor import hooks as _hooks
    from sycl_ext._tensor.host_view import HostView, host_view
    from sycl_ext._tensor.tensor import (
        Tensor,
        as_tensor,
        empty,
        empty_like,
        from_dlpack,
        zeros,
        zeros_like,
    )

    if TYPE_CHECKING:
        from sycl_ext._debug.introspection import (
            DLPACK_VERSION,
            ExportOrigin,
            capsule_from_pointer,
            live_exports,
        )
        from sycl_ext._debug.paths import get_cmake_dir, get_include
        from sycl_ext._devices.cached_memory import cached_memory, release_cached_memory
        from sycl_ext._exchange.exchange import exchange, explain
        from sycl_ext._exchange.libraries import register_pickle
        from sycl_ext._exchange.mpi import MpiCheck, check_mpi
        from sycl_ext._exchange.staging import StagedRequest, staged, staged_request
        from sycl_ext._ipc.handles import IpcHandle, ipc_empty, ipc_handle, ipc_open
        from sycl_ext._ipc.reductions import register_multiprocessing
        from sycl_ext._tensor.async_copy import AsyncCopy
        from sycl_ext._tensor.pickling import unpickle_to

    def __getattr__(name: str) -> Any:
        return startup.load_public(globals(), _LOADED_LATER, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    if _TRACES:
        from sycl_ext._debug.exit import report_at_exit

        report_at_exit()
    _hooks.connect()

#: Public names that the first exchange does not need, and the modules that they are loaded from
#: when somebody asks for them.
_LOADED_LATER = {
    "AsyncCopy": "_tensor.async_copy",
    "DLPACK_VERSION": "_debug.introspection",
    "ExportOrigin": "_debug.introspection",
    "IpcHandle": "_ipc.handles",
    "MpiCheck": "_exchange.mpi",
    "StagedRequest": "_exchange.staging",
    "cached_memory": "_devices.cached_memory",
    "capsule_from_pointer": "_debug.introspection",
    "check_mpi": "_exchange.mpi",
    "exchange": "_exchange.exchange",
    "explain": "_exchange.exchange",
    "get_cmake_dir": "_debug.paths",
    "get_include": "_debug.paths",
    "ipc_empty": "_ipc.handles",
    "ipc_handle": "_ipc.handles",
    "ipc_open": "_ipc.handles",
    "live_exports": "_debug.introspection",
    "register_multiprocessing": "_ipc.reductions",
    "register_pickle": "_exchange.libraries",
    "release_cached_memory": "_devices.cached_memory",
    "staged": "_exchange.staging",
    "staged_request": "_exchange.staging",
    "testing": "testing",
    "unpickle_to": "_tensor.pickling",
}
__all__ = [
    "DLPACK_VERSION",
    "AsyncCopy",
    "CopyRefusedError",
    "Device",
    "DeviceType",
    "ExchangeError",
    "ExportOrigin",
    "HostView",
    "IpcHandle",
    "MpiCheck",
    "Plan",
    "Route",
    "StagedRequest",
    "SupportsDLPack",
    "SyclError",
    "Tensor",
    "TwoRuntimesWarning",
    "as_tensor",
    "cached_memory",
    "capsule_from_pointer",
    "check_mpi",
    "device",
    "devices",
    "empty",
    "empty_like",
    "exchange",
    "explain",
    "from_dlpack",
    "get_cmake_dir",
    "get_include",
    "host_view",
    "ipc_empty",
    "ipc_handle",
    "ipc_open",
    "live_exports",
    "register_context",
    "register_multiprocessing",
    "register_pickle",
    "release_cached_memory",
    "staged",
    "staged_request",
    "unpickle_to",
    "zeros",
    "zeros_like",
]

if failure is None:
    startup.name_as_public(globals(), set(__all__) - set(_LOADED_LATER))
    warn_of_others()
    no_device.prepare(_driver)
    startup.remember_package()
