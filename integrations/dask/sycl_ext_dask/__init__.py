# SPDX-License-Identifier: Apache-2.0
"""Registers the tensors of sycl_ext, and arrays of dpnp, with Dask.

Dask calls `register` through its entry point ``dask.sizeof`` in every process that imports it, in
an environment where this distribution is installed.  So this module imports neither sycl_ext nor
dpnp: the SYCL runtime is loaded with the first tensor, and not with Dask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["backend", "register"]

__version__ = "0.1.0"

#: Packages with arrays that are registered when Dask handles the first one -> name of the library.
_PACKAGES = {"sycl_ext": None, "dpnp": "dpnp"}


def register(sizeof: Any) -> None:
    """Register the sizes of tensors, and the other functions when their modules are imported."""
    for package, library in _PACKAGES.items():
        sizeof.register_lazy(package, partial(_register_sizeof, library))
    _when_imported("dask.tokenize", "normalize_token", _register_tokens)
    _when_imported("distributed.protocol", "dask_serialize", _register_protocol)
    _when_imported("dask.array", "register_chunk_type", _register_arrays)


def backend() -> Any:
    """Return the backend for ``dask.config.set({"array.backend": "dpnp"})``."""
    import_module("sycl_ext")  # before dpnp: it names the CPU driver to the SYCL runtime
    import_module("dpnp")
    from sycl_ext_dask.arrays import DpnpBackend

    return DpnpBackend()


def __getattr__(name: str) -> Any:
    """Return NumPy's functions for Dask, which takes this module for the library of `random`.

    It asks that library for indices and for weights, which are read on the host.
    """
    if name in ("arange", "array"):
        return getattr(import_module("numpy"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _when_imported(name: str, last: str, call: Callable[[Any], None]) -> None:
    """Call a function with a module: now, or after its import.

    `last` is a name that the module has once it has been executed.
    """
    loaded = sys.modules.get(name)
    if loaded is None:
        sys.meta_path.insert(0, _Watch(name, call))
    elif hasattr(loaded, last):
        call(loaded)


class _Watch(MetaPathFinder):
    """Calls a function after the import of a module, to add registrations to those of the module.

    It stays until the module has been executed: others ask where a module is and do not import it.

    There is no documented way. Serializers of other packages are registered within distributed, and
    an entry point for them is only proposed: https://github.com/dask/distributed/issues/3831
    A preload (https://docs.dask.org/en/latest/how-to/customize-initialization.html) is a setting of
    each scheduler, worker and client, which replaces the preloads of the user or is replaced by
    them, and it does not run in a process that only calls ``distributed.protocol.serialize``.
    If `register` imported ``distributed``, every user of Dask would pay for that import.
    """

    def __init__(self, name: str, call: Callable[[Any], None]) -> None:
        self.name, self.call = name, call

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find the module with the other finders, and wrap its loader."""
        if name != self.name:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(Loader):
    """Executes a module as its own loader does, and then calls the function of a watch."""

    def __init__(self, own: Loader, watch: _Watch) -> None:
        self._own, self._watch = own, watch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        self._own.exec_module(module)
        if self._watch in sys.meta_path:
            sys.meta_path.remove(self._watch)
            self._watch.call(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)  # what else a loader can do, such as read its source


def _register_arrays(_array: Any) -> None:
    """Register chunks that are tensors, and after the import of dpnp also its arrays."""
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


def _register_tokens(tokenize: Any) -> None:
    """Let the token of a dpnp array be that of a tensor that views it.

    Its pickle has the elements, the dtype, the shape, the order of the axes and the kind of USM.
    """
    normalize = tokenize.normalize_token

    @normalize.register_lazy("dpnp")  # type: ignore[untyped-decorator]
    def register() -> None:
        dpnp, sx = import_module("dpnp"), import_module("sycl_ext")

        def token(array: Any) -> tuple[Any, ...]:
            view = sx.as_tensor(array, copy=False)
            return "dpnp", normalize(view), normalize(view.device)

        normalize.register(dpnp.ndarray, token)


def _register_protocol(protocol: Any) -> None:
    for dispatch in (protocol.dask_serialize, protocol.dask_deserialize):
        for package, library in _PACKAGES.items():
            dispatch.register_lazy(package, partial(_register_serializers, library))


def _register_sizeof(library: str | None) -> None:
    import_module("sycl_ext_dask.tensors").register_sizeof(library)


def _register_serializers(library: str | None) -> None:
    import_module("sycl_ext_dask.tensors").register_serializers(library)
