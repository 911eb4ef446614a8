# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack."""

from sycl_ext import _icd, _interpreter, _startup

if _startup.doctor_is_asked_for():  # it has to speak when what follows fails
    from sycl_ext._doctor.command import main

    raise SystemExit(main())

_interpreter.require_main_interpreter()  # before the core is loaded
_icd.add_embedded_cpu()  # before the SYCL runtime is loaded
_startup.load_core()  # or say who knows why not
_startup.restore_package()  # of an earlier import

from sycl_ext import _exit as _exit  # noqa: E402
from sycl_ext import _hooks as _hooks  # noqa: E402
from sycl_ext._devices import Device, device, devices, register_context  # noqa: E402
from sycl_ext._exchange import exchange, explain  # noqa: E402
from sycl_ext._host import HostView, host_view  # noqa: E402
from sycl_ext._introspection import (  # noqa: E402
    DLPACK_VERSION,
    ExportOrigin,
    capsule_from_pointer,
    live_exports,
)
from sycl_ext._ipc import IpcHandle, ipc_empty, ipc_handle, ipc_open  # noqa: E402
from sycl_ext._memory import cached_memory, release_cached_memory  # noqa: E402
from sycl_ext._negotiate import Plan, Route  # noqa: E402
from sycl_ext._paths import get_cmake_dir, get_include  # noqa: E402
from sycl_ext._pickle import unpickle_to  # noqa: E402
from sycl_ext._protocols import (  # noqa: E402
    CopyRefusedError,
    DeviceType,
    ExchangeError,
    SupportsDLPack,
    SyclError,
)
from sycl_ext._runtimes import TwoRuntimesWarning, warn_of_others  # noqa: E402
from sycl_ext._staging import staged  # noqa: E402
from sycl_ext._tensor import Tensor, as_tensor, empty, from_dlpack, zeros  # noqa: E402

__version__ = "0.1.0"

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

warn_of_others()
_startup.remember_package()
