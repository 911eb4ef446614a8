# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack.

Every public name is loaded when it is first used; the first one also loads the core. So the import
of the package loads neither NumPy nor the SYCL runtime.
"""

from sycl_ext._setup import icd as _icd
from sycl_ext._setup import startup as _startup

_icd.add_embedded_cpu()  # before the SYCL runtime lists devices

__version__ = "0.1.0"

#: Public name -> the module that it is loaded from.  ``__init__.pyi`` tells type checkers.
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
    "get_cmake_dir": "_setup.paths",
    "get_include": "_setup.paths",
    "host_view": "_tensor.host_view",
    "register_context": "_devices.placement",
    "staged": "_exchange.staging",
    "zeros": "_tensor.tensor",
    "zeros_like": "_tensor.tensor",
}
_NAMESPACES = ("dlpack", "ipc", "memory", "mpi", "pickling")

__all__ = [*_PUBLIC, *_NAMESPACES]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        with _startup.loading:
            from sycl_ext._setup.public import load

            return load(_PUBLIC[name], name, __name__)
    if name in _NAMESPACES or name == "_core":  # PyCapsule_Import asks for this attribute
        from importlib import import_module

        return import_module(f"sycl_ext.{name}")
    from sycl_ext._setup.elsewhere import advice

    raise AttributeError(f"module 'sycl_ext' has no attribute {name!r}{advice(name)}")


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, *_NAMESPACES, "__version__"])
