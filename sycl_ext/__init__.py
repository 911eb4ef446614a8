# SPDX-License-Identifier: Apache-2.0
"""Share SYCL Unified Shared Memory between Python libraries through DLPack.

``exchange(x, library)`` passes any array to any library: as a view of the same memory where that is
possible, otherwise as one copy. ``explain(x, library)`` says beforehand which, and why.
``from_dlpack`` and ``as_tensor`` make a `Tensor` of any array; ``empty`` and ``zeros`` make a new
one.

Every public name is loaded when it is first used; the first one also loads the core. So the import
of the package loads neither NumPy nor the SYCL runtime.
"""

from sycl_ext._setup import checkout as _checkout
from sycl_ext._setup import icd as _icd
from sycl_ext._setup import public as _public

# In sources that were not built, the importing code gets the installed package. This module then
# still runs to its end, which changes nothing.
_checkout.give_way(__name__, __path__[0])
_icd.add_embedded_cpu()  # before the SYCL runtime lists devices

__version__ = "0.1.0"

#: The modules that have the public names.  ``__init__.pyi`` lists them for type checkers.
_PUBLIC = {
    "_core": "_C_API",  # PyCapsule_Import of an extension asks for it
    "_devices.device": "Device devices",
    "_devices.placement": "device register_context",
    "_exchange.exchange": "exchange explain",
    "_exchange.staging": "staged",
    "_negotiation.errors": "CopyRefusedError ExchangeError SyclError",
    "_negotiation.rules": "Plan Route",
    "_setup.paths": "get_cmake_dir get_include",
    "_setup.runtimes": "TwoRuntimesWarning",
    "_tensor.creation": "as_tensor empty empty_like from_dlpack full ones zeros zeros_like",
    "_tensor.host_view": "HostView host_view",
    "_tensor.tensor": "Tensor",
}
_NAMESPACES = ("dlpack", "ipc", "memory", "mpi", "pickling")

__getattr__, _names = _public.lazily(__name__, _PUBLIC, _NAMESPACES)
__all__ = [*_names(), *_NAMESPACES]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
