# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack."""

from sycl_ext._debug.paths import get_cmake_dir, get_include
from sycl_ext._devices import icd, interpreter, startup

__version__ = "0.1.0"

interpreter.require_main_interpreter()  # before the core is loaded
icd.add_embedded_cpu()  # before the SYCL runtime is loaded

if (failure := startup.load_core()) is not None:
    # Python imports the package before `python -m sycl_ext doctor`, which finds out why.
    globals()["__getattr__"] = startup.attribute_error_of(failure)
else:
    startup.restore_package()  # of an earlier import

    from sycl_ext._debug import exit as _exit
    from sycl_ext._debug.introspection import (
        DLPACK_VERSION,
        ExportOrigin,
        capsule_from_pointer,
        live_exports,
    )
    from sycl_ext._devices.cached_memory import cached_memory, release_cached_memory
    from sycl_ext._devices.device import Device, device, devices, register_context
    from sycl_ext._devices.runtimes import TwoRuntimesWarning, warn_of_others
    from sycl_ext._exchange import hooks as _hooks
    from sycl_ext._exchange.exchange import exchange, explain
    from sycl_ext._exchange.staging import staged
    from sycl_ext._ipc.handles import IpcHandle, ipc_empty, ipc_handle, ipc_open
    from sycl_ext._negotiation.dlpack import DeviceType, SupportsDLPack
    from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, SyclError
    from sycl_ext._negotiation.rules import Plan, Route
    from sycl_ext._tensor.host_view import HostView, host_view
    from sycl_ext._tensor.pickling import unpickle_to
    from sycl_ext._tensor.tensor import Tensor, as_tensor, empty, from_dlpack, zeros

    _exit.report_at_exit()
    _hooks.connect()
__all__ = [
    "DLPACK_VERSION",
    "CopyRefusedError",
    "Device",
    "DeviceType",
    "ExchangeError",
    "ExportOrigin",
    "HostView",
    "IpcHandle",
    "Plan",
    "Route",
    "SupportsDLPack",
    "SyclError",
    "Tensor",
    "TwoRuntimesWarning",
    "as_tensor",
    "cached_memory",
    "capsule_from_pointer",
    "device",
    "devices",
    "empty",
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
    "release_cached_memory",
    "staged",
    "unpickle_to",
    "zeros",
]

if failure is None:
    startup.name_as_public(globals(), __all__)
    warn_of_others()
    startup.remember_package()
