# SPDX-License-Identifier: Apache-2.0
"""Checks before the rest of the package is loaded.

This module, and others that run at import, use strings as paths, because the import of pathlib
takes a third of the time of this package.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import os.path
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = "sycl_ext"
EXTENSION = "_native"
INIT = "__init__.py"
OLDEST_NUMPY = (1, 26)

#: Held while a public name is loaded. A module that is being loaded does not take it, so it is
#: always taken before the locks of modules.
loading = _thread.RLock()

#: The modules that a fork waits for: those of the package, and the one that its functions import.
#: Modules of other code use the package while they are loaded, so waiting for them could deadlock.
WAITED_FOR = (f"{PACKAGE}.", "dpctl.")


def load_core() -> None:
    """Load the core, connected to the package, if this is the first use of the package."""
    with loading:
        __import__("sycl_ext._core")


def _finish_imports() -> None:
    """Wait before a fork: its child would keep the locks of imports of other threads for ever."""
    loading.acquire()
    # A module that is still being found has a lock, and is not in sys.modules.
    for name in [*sys.modules, *getattr(_frozen_importlib, "_module_locks", ())]:
        if name != "dpctl" and not name.startswith(WAITED_FOR):
            continue
        try:
            __import__(name)  # waits if another thread imports it
        except Exception:  # the import failed in the other thread, which reports the error
            continue


os.register_at_fork(
    before=_finish_imports, after_in_parent=loading.release, after_in_child=loading.release
)


def require_main_interpreter() -> None:
    """Raise ImportError in a sub-interpreter.

    The core releases and takes the GIL with calls that support only the main interpreter; in
    another one they would deadlock.
    """
    if not _is_main():
        raise ImportError(  # pragma: no cover: coverage.py counts only in the main interpreter
            "sycl_ext works in the main interpreter only, and this is a sub-interpreter; use "
            "a thread or a process instead"
        )


def _is_main() -> bool:
    tells = getattr(_thread, "_is_main_interpreter", None)  # of CPython 3.12 and later
    if tells is not None:
        return bool(tells())
    import ctypes

    api = ctypes.PyDLL(None)
    own, main = api.PyInterpreterState_Get, api.PyInterpreterState_Main
    own.restype = main.restype = ctypes.c_void_p
    return bool(own() == main())


def leave_source_tree(path: list[str]) -> None:
    """Load the modules of the package from its installation.

    In a source tree, Python finds these files before the installed ones, but the source tree has no
    compiled core. Using the installed package is harmless if both have the same version.

    Parameters
    ----------
    path : list of str
        The ``__path__`` of the package; changed if it has no core.
    """
    # Like importlib.util.find_spec, without loading that module.
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    if any(finder.find_spec(f"{PACKAGE}.{EXTENSION}", path) is not None for finder in finders):
        return
    found = installed_package(path[0], sys.path)
    if found is None or not same_file(*(os.path.join(one, INIT) for one in (path[0], found))):
        return
    path[:] = [found]
    for name in [name for name in sys.modules.copy() if name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]


def installed_package(here: str, search_path: Iterable[str]) -> str | None:
    """Return the first other folder of the package that has a core."""
    folders = (os.path.realpath(os.path.join(entry, PACKAGE)) for entry in search_path)
    others = (folder for folder in folders if folder != os.path.realpath(here))
    # An editable installation has a core there, and no Python files.
    return next(
        (one for one in others if has_core(one) and os.path.exists(os.path.join(one, INIT))), None
    )


def has_core(folder: str) -> bool:
    """Return whether the extension module is in a folder."""
    from importlib.machinery import EXTENSION_SUFFIXES

    return any(
        os.path.exists(os.path.join(folder, f"{EXTENSION}{suffix}"))
        for suffix in EXTENSION_SUFFIXES
    )


def same_file(one: str, other: str) -> bool:
    """Return whether two files have the same content; False if one is missing."""
    if not (os.path.exists(one) and os.path.exists(other)):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        return first.read() == second.read()


def require_numpy() -> None:
    """Raise ImportError if NumPy is missing or too old."""
    from numpy import __version__ as version

    if tuple(map(int, version.split(".")[:2])) >= OLDEST_NUMPY:
        return
    needed = ".".join(map(str, OLDEST_NUMPY))
    raise ImportError(
        f"sycl_ext needs NumPy >= {needed}, and {version} is installed; "
        f"python -m pip install 'numpy>={needed}'",
        name="numpy",
    )


def remedy(error: ImportError) -> str:
    """Return the text of an ImportError of the core."""
    here = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    is_there = not isinstance(error, ModuleNotFoundError) or error.name != f"{PACKAGE}.{EXTENSION}"
    if not is_there and os.path.exists(os.path.join(here, "pyproject.toml")):
        return in_source_tree(here, installed_package(os.path.join(here, PACKAGE), sys.path))
    return f"{error}; python -m sycl_ext doctor names the problem and the command that fixes it"


def in_source_tree(here: str, installed: str | None) -> str:
    """Return the text for an import of the sources without a built core."""
    import shlex

    what = f"you are in the source tree of sycl_ext, {here}, where no extension module is built"
    install = f"python -m pip install {shlex.quote(here)}"
    if installed is None:
        return f"{what}; install it: {install}"
    elsewhere = os.path.dirname(installed)
    return (
        f"{what}, and {elsewhere} has another version of it; use that one, from another folder or "
        f"as sycl-ext, or install this one: {install}"
    )
