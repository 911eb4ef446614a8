# SPDX-License-Identifier: Apache-2.0
"""Tells Dask about the tensors of sycl_ext, and about arrays that it sends for other libraries.

Dask calls `register` through its entry point ``dask.sizeof`` in every process that imports it, so
this package is no part of sycl_ext and imports nothing of it: the SYCL runtime is loaded when there
is a tensor, and not with Dask.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["backend", "register"]

#: Packages whose arrays are registered when Dask meets the first, and the name of the library.
_PACKAGES = {"sycl_ext": None, "dpnp": "dpnp"}


def register(sizeof: Any) -> None:
    """Register how large tensors are, and what else is told to modules when they are imported."""
    for package, library in _PACKAGES.items():
        sizeof.register_lazy(package, partial(_register_sizeof, library))
    _when_imported("distributed.protocol", "dask_serialize", _register_protocol)
    _when_imported("dask.array", "register_chunk_type", _register_arrays)


def backend() -> Any:
    """Return what Dask makes arrays with under ``dask.config.set({"array.backend": "dpnp"})``."""
    importlib.import_module("sycl_ext")  # before dpnp: it shows the SYCL runtime the CPU device
    importlib.import_module("dpnp")
    from sycl_ext_dask.arrays import DpnpBackend

    return DpnpBackend()


def _when_imported(name: str, last: str, call: Callable[[Any], None]) -> None:
    """Call a function with a module: now, or when it has been imported.

    `last` is a name that the module has when it has been executed.
    """
    loaded = sys.modules.get(name)
    if loaded is None:
        sys.meta_path.insert(0, _Watch(name, call))
    elif hasattr(loaded, last):
        call(loaded)


class _Watch(MetaPathFinder):
    """Waits for the import of a module, to register in it what it registers itself.

    There is no documented way. Serializers of other packages are registered within distributed, and
    an entry point for them is only proposed: https://github.com/dask/distributed/issues/3831
    A preload (https://docs.dask.org/en/latest/how-to/customize-initialization.html) is a setting of
    each scheduler, worker and client, which replaces the preloads of the user or is replaced by
    them, and it does not run in a process that calls ``distributed.protocol.serialize`` alone.
    Importing ``distributed`` in `register` would cost every user of Dask that import.
    """

    def __init__(self, name: str, call: Callable[[Any], None]) -> None:
        self.name, self.call = name, call

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Let the others find the module, and register when it has been executed."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute, call = spec.loader.exec_module, self.call

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            call(module)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register_arrays(_array: Any) -> None:
    """Register chunks that are tensors, and those of dpnp when it has been imported as well."""
    from dask.array import dispatch

    for lookup in (
        dispatch.concatenate_lookup,
        dispatch.empty_lookup,
        dispatch.to_numpy_dispatch,
    ):
        lookup.register_lazy("sycl_ext", _register_tensors)
    _when_imported("dpnp", "ndarray", _register_dpnp)


def _register_tensors() -> None:
    from sycl_ext_dask import arrays

    arrays.register_tensors()


def _register_dpnp(dpnp: Any) -> None:
    from sycl_ext_dask import arrays

    arrays.register_dpnp(dpnp)


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
