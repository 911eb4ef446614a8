# SPDX-License-Identifier: Apache-2.0
"""Loads the public names, and with the first of them the core."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Builds of C++ extensions ask for these where no SYCL runtime is.
WITHOUT_CORE = ("_setup.paths",)


def load(module: str, name: str) -> Any:
    """Return a public object of a module; it says of itself that it is the package's."""
    if module not in WITHOUT_CORE:
        import_module("sycl_ext._core")  # first, so that all threads take the locks in one order
    value = getattr(import_module(f"sycl_ext.{module}"), name)
    publish("sycl_ext", value)
    return value


def publish(module: str, *values: Any) -> None:
    """Make public classes and functions say where a user finds them."""
    for value in values:
        if callable(value):
            value.__module__ = module
