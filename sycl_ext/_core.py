# SPDX-License-Identifier: Apache-2.0
"""The core: the extension module `sycl_ext._native`, connected to the package.

The first import of the core runs this file, so the core is always connected. The modules that it
needs for that import `_native`, because modules of the package never import each other in a circle.
``_core.pyi`` has the types.
"""

from sycl_ext._setup import prefix as _prefix
from sycl_ext._setup import startup as _startup

try:
    _startup.require_main_interpreter()
    _startup.require_numpy()
    _prefix.load_runtime("sycl_ext._native")
    from sycl_ext._native import *  # noqa: F403
    from sycl_ext._native import _C_API, _test  # noqa: F401
except ImportError as _error:
    raise ImportError(_startup.remedy(_error), name=_error.name, path=_error.path) from _error

# The modules that these import find the names above in this module.
from sycl_ext._tensor import hooks as _hooks

_hooks.connect()
