# SPDX-License-Identifier: Apache-2.0
"""Tells Dask about the tensors of sycl_ext, and about arrays that it sends for other libraries.

Dask calls `register` through its entry point ``dask.sizeof`` in every process that imports it, so
this package is no part of sycl_ext and imports nothing of it: the SYCL runtime is loaded when there
is a tensor, and not with Dask.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["register"]

#: Packages whose arrays are registered when Dask meets the first, and the name of the library.
_PACKAGES = {"sycl_ext": None, "dpnp": "dpnp"}


def register(sizeof: Any) -> None:
    """Register how large tensors are, and, once distributed is imported, how they are sent."""
    for package, library in _PACKAGES.items():
        sizeof.register_lazy(package, partial(_register_sizeof, library))
    loaded = sys.modules.get("distributed.protocol")
    if loaded is None:
        sys.meta_path.insert(0, _Watch())
    elif hasattr(loaded, "dask_serialize"):
        _register_protocol(loaded)


class _Watch(MetaPathFinder):
    """Waits for the import of ``distributed.protocol``, to register in it what it registers itself.

    There is no documented way. Serializers of other packages are registered within distributed, and
    an entry point for them is only proposed: https://github.com/dask/distributed/issues/3831
    A preload (https://docs.dask.org/en/latest/how-to/customize-initialization.html) is a setting of
    each scheduler, worker and client, which replaces the preloads of the user or is replaced by
    them, and it does not run in a process that calls ``distributed.protocol.serialize`` alone.
    Importing ``distributed`` in `register` would cost every user of Dask that import.
    """

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Let the others find the module, and register when it has been executed."""
        if name != "distributed.protocol":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register_protocol(module)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register_protocol(protocol: Any) -> None:
    for dispatch in (protocol.dask_serialize, protocol.dask_deserialize):
        for package, library in _PACKAGES.items():
            dispatch.register_lazy(package, partial(_register_serializers, library))


def _register_sizeof(library: str | None) -> None:
    from sycl_ext._exchange import dask

    dask.register_sizeof(library)


def _register_serializers(library: str | None) -> None:
    from sycl_ext._exchange import dask

    dask.register_serializers(library)
