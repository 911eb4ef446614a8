# SPDX-License-Identifier: Apache-2.0
"""Loads the public names, and with the first of them the core."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sycl_ext._setup import startup

#: Builds of C++ extensions ask for these where no SYCL runtime is.
WITHOUT_CORE = ("_debug.paths",)


def load(module: str, name: str) -> Any:
    """Return a public object of a module; it says of itself that it is the package's.

    Raises
    ------
    ImportError
        When the core cannot be loaded; the text has the remedy.
    """
    if module not in WITHOUT_CORE:
        core()
    value = getattr(import_module(f"{startup.PACKAGE}.{module}"), name)
    publish(startup.PACKAGE, value)
    return value


def namespace(name: str) -> Any:
    """Return a public module."""
    core()
    return import_module(f"{startup.PACKAGE}.{name}")


def publish(module: str, *values: Any) -> None:
    """Make public classes and functions say where a user finds them."""
    for value in values:
        if callable(value):
            value.__module__ = module


def core() -> Any:
    """Return the core, connected to the package."""
    try:
        return import_module("sycl_ext._connected").core
    except ImportError as error:
        raise ImportError(startup.remedy(error), name=error.name, path=error.path) from error
