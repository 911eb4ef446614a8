# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack.

Every public name is loaded when it is first used, and with the first of them the core.  So this
import loads neither NumPy nor the SYCL runtime.
"""

from sycl_ext._setup import icd, startup

startup.leave_source_tree(__path__)  # before the other modules are loaded
icd.add_embedded_cpu()  # before the SYCL runtime lists devices

__version__ = "0.1.0"

TYPE_CHECKING = False  # the import of `typing` takes longer than all of this
if TYPE_CHECKING:
    from sycl_ext import dlpack, ipc, memory, mpi, pickling
    from sycl_ext._debug.paths import get_cmake_dir, get_include
    from sycl_ext._devices.device import Device, devices
    from sycl_ext._devices.placement import device, register_context
    from sycl_ext._exchange.exchange import exchange, explain
    from sycl_ext._exchange.staging import staged
    from sycl_ext._negotiation.errors import CopyRefusedError, ExchangeError, SyclError
    from sycl_ext._negotiation.rules import Plan, Route
    from sycl_ext._setup.runtimes import TwoRuntimesWarning
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

#: Public name -> the module that it is loaded from.
_PUBLIC = {
    "CopyRefusedError": "_negotiation.errors",
    "Device": "_devices.device",
    "ExchangeError": "_negotiation.errors",
    "HostView": "_tensor.host_view",
    "Plan": "_negotiation.rules",
    "Route": "_negotiation.rules",
    "SyclError": "_negotiation.errors",
    "Tensor": "_tensor.tensor",
    "TwoRuntimesWarning": "_setup.runtimes",
    "as_tensor": "_tensor.tensor",
    "device": "_devices.placement",
    "devices": "_devices.device",
    "empty": "_tensor.tensor",
    "empty_like": "_tensor.tensor",
    "exchange": "_exchange.exchange",
    "explain": "_exchange.exchange",
    "from_dlpack": "_tensor.tensor",
    "get_cmake_dir": "_debug.paths",
    "get_include": "_debug.paths",
    "host_view": "_tensor.host_view",
    "register_context": "_devices.placement",
    "staged": "_exchange.staging",
    "zeros": "_tensor.tensor",
    "zeros_like": "_tensor.tensor",
}
_NAMESPACES = ("dlpack", "ipc", "memory", "mpi", "pickling")

__all__ = [
    "CopyRefusedError",
    "Device",
    "ExchangeError",
    "HostView",
    "Plan",
    "Route",
    "SyclError",
    "Tensor",
    "TwoRuntimesWarning",
    "as_tensor",
    "device",
    "devices",
    "dlpack",
    "empty",
    "empty_like",
    "exchange",
    "explain",
    "from_dlpack",
    "get_cmake_dir",
    "get_include",
    "host_view",
    "ipc",
    "memory",
    "mpi",
    "pickling",
    "register_context",
    "staged",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> object:
    from sycl_ext._setup import public

    if name == "_core":  # of a C extension, which finds it connected
        return public.core()
    if name in _PUBLIC:
        value = public.load(_PUBLIC[name], name)
    elif name in _NAMESPACES:
        value = public.namespace(name)
    else:
        raise AttributeError(f"module 'sycl_ext' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, *_NAMESPACES, "__version__"])
