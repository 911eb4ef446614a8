# SPDX-License-Identifier: Apache-2.0
"""Loads the public names when they are first used; the first one also loads the core."""

from __future__ import annotations

import sys

from sycl_ext._setup import startup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def load(module: str, name: str, namespace: str) -> object:
    """Return an object of a module, and make it an attribute of the namespace that publishes it."""
    with startup.loading:
        if module != "_setup.paths":  # for builds of C++ extensions, without a SYCL runtime
            startup.load_core()
        value: object = getattr(imported(module), name)
    if callable(value):
        value.__module__ = namespace
    setattr(sys.modules[namespace], name, value)
    return value


def imported(module: str) -> ModuleType:
    """Return a module of the package."""
    __import__(f"sycl_ext.{module}")
    return sys.modules[f"sycl_ext.{module}"]


def lazily(
    namespace: str, modules: Mapping[str, str], submodules: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module, by the modules that have its names."""
    found_in = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> object:
        if name in found_in:
            return load(found_in[name], name, namespace)
        if name in submodules:
            return imported(name)
        elsewhere = imported("_setup.elsewhere").ELSEWHERE
        way = f"; use {elsewhere[name]}" if name in elsewhere else ""
        raise AttributeError(f"module {namespace!r} has no attribute {name!r}{way}")

    return get, lambda: sorted(name for name in found_in if not name.startswith("_"))
