# SPDX-License-Identifier: Apache-2.0
"""What has to be known before anything else of the package is loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

PACKAGE: Final = "sycl_ext"


def load_core() -> ImportError | None:
    """Load the extension module, and with it the SYCL runtime; return why that fails."""
    try:
        import_module("sycl_ext._core")
    except ImportError as error:
        return error
    return None


def attribute_error_of(failure: ImportError) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a package whose core cannot be loaded.

    The public names raise the ImportError.  Other names are asked for by the import system, by
    introspection, and by pickle, which looks for its objects in all modules.
    """

    def get(name: str) -> NoReturn:
        if name not in vars(sys.modules[PACKAGE]).get("__all__", ()):
            raise AttributeError(f"module 'sycl_ext' has no attribute {name!r}")
        raise ImportError(remedy(failure), name=failure.name, path=failure.path) from failure

    return get


def name_as_public(namespace: Mapping[str, Any], names: Iterable[str]) -> None:
    """Make the public classes and functions say that they are the package's."""
    for name in names:
        thing = namespace[name]
        if isinstance(thing, type) or callable(thing):
            thing.__module__ = PACKAGE


def restore_package() -> None:
    """Take the modules of an earlier import, when there was one.

    The core is loaded once, and it works for one package: its hooks, its classes and its devices.
    A program that removes the package from ``sys.modules`` and imports it again gets the modules
    that it had, the package itself included: the import system returns what stands in
    ``sys.modules`` when the file has run.
    """
    sys.modules.update(_core().package_modules)


def remember_package() -> None:
    """Keep the modules of the package for `restore_package`; the last thing that an import does."""
    _core().package_modules.update(
        {name: module for name, module in sys.modules.items() if name.partition(".")[0] == PACKAGE}
    )


def _core() -> Any:
    return import_module("sycl_ext._core")


def remedy(error: ImportError) -> str:
    """Return what an ImportError of the core tells a user."""
    return f"{error}; python -m sycl_ext doctor says what is wrong and what mends it"
