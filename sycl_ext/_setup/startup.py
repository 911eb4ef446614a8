# SPDX-License-Identifier: Apache-2.0
"""Loads the core on first use: checks, and a lock that forks wait for.

This module, and others that run at import, use strings as paths, because the import of pathlib
takes a third of the time of this package.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import os.path
import sys

from sycl_ext._setup import prefix

TYPE_CHECKING = False  # that of `typing`, whose import takes long
if TYPE_CHECKING:
    from types import FrameType

PACKAGE = "sycl_ext"
CORE = f"{PACKAGE}._core"
OLDEST_NUMPY = (1, 26)

#: Held while a public name is loaded. A module that is being loaded does not take it, so it is
#: always taken before the locks of modules.
loading = _thread.RLock()

#: The modules that a fork waits for: those of the package, and the one that its functions import.
#: Third-party modules use the package while they are loaded, so waiting for them could deadlock.
WAITED_FOR = (f"{PACKAGE}.", "dpctl.")

#: Whether `load_core` has connected the core to the package; changed only while `loading` is held.
_is_connected = False


def load_core() -> None:
    """Load the core and connect it to the package, if this is the first use of the package.

    Whoever may be the first to use the package calls this: the public names, the C table for
    extensions, pickles, and integrations. The modules of the package only import the core.
    """
    global _is_connected
    with loading:
        if _is_connected:
            return
        try:
            require_main_interpreter()
            require_numpy()
            prefix.load_runtime(CORE)
            __import__(CORE)
        except ImportError as error:
            raise ImportError(remedy(error), name=error.name, path=error.path) from error
        __import__(f"{PACKAGE}._tensor.hooks")
        sys.modules[f"{PACKAGE}._tensor.hooks"].connect()
        _is_connected = True


_interrupted = False  # Ctrl-C came while the last fork waited


def _finish_imports() -> None:
    """Wait before a fork: its child would hold the import locks of other threads forever."""
    # `logging` takes its lock for a fork as well, before this function runs if it was imported
    # after this module. Another thread may need that lock to end its import of dpctl.
    lock = getattr(sys.modules.get("logging"), "_lock", None)
    taken = lock if lock and lock._is_owned() else None
    if not taken:
        _wait_for_imports()
        return
    taken.release()
    try:
        _wait_for_imports()
    finally:  # a signal handler may have raised
        taken.acquire()


def _wait_for_imports() -> None:
    global _interrupted
    _interrupted = False
    held = loading._is_owned()  # type: ignore[attr-defined]
    while held or not loading._is_owned():  # type: ignore[attr-defined]
        try:
            held = not loading.acquire()
        except KeyboardInterrupt:  # here Python would drop it, and the fork would go on
            _interrupted = True
    # A module that is still being found has a lock, and is not in sys.modules.
    for name in [*sys.modules, *getattr(_frozen_importlib, "_module_locks", ())]:
        if name != "dpctl" and not name.startswith(WAITED_FOR):
            continue
        is_over = False
        while not is_over:
            try:
                __import__(name)  # waits if another thread imports it
                is_over = True
            except KeyboardInterrupt:
                _interrupted = True
            except Exception:  # the import failed in the other thread, which reports the error
                is_over = True


def _interrupt_again() -> None:
    if _interrupted:
        caller = sys._getframe().f_back  # of the fork; None: no Python code called it
        _thread.start_new_thread(_interrupt_after_fork, (caller, caller and caller.f_lasti))


def _interrupt_after_fork(caller: FrameType | None, call: int | None) -> None:
    """Send Ctrl-C again, from a thread of its own, when the call of the fork has returned.

    Any earlier, Python would drop the exception of the handler, as it drops all exceptions in
    the functions that other code has registered to run after a fork.
    """
    import signal
    import time

    while caller is not None and caller.f_lasti == call:
        time.sleep(1e-3)
    os.kill(os.getpid(), signal.SIGINT)


os.register_at_fork(
    before=_finish_imports, after_in_parent=loading.release, after_in_child=loading.release
)
os.register_at_fork(after_in_parent=_interrupt_again)


def require_main_interpreter() -> None:
    """Raise ImportError in a sub-interpreter.

    The core releases and takes the GIL with calls that support only the main interpreter; in
    another one they would deadlock.
    """
    if not is_main_interpreter():
        raise ImportError(  # pragma: no cover: coverage.py counts only in the main interpreter
            "sycl_ext does not support sub-interpreters; use a thread or a process instead"
        )


def is_main_interpreter() -> bool:
    is_main = getattr(_thread, "_is_main_interpreter", None)  # of CPython 3.12 and later
    if is_main is not None:
        return bool(is_main())
    import ctypes

    api = ctypes.PyDLL(None)
    own, main = api.PyInterpreterState_Get, api.PyInterpreterState_Main
    own.restype = main.restype = ctypes.c_void_p
    return bool(own() == main())


def require_numpy() -> None:
    """Raise ImportError if NumPy is missing or too old."""
    from numpy import __version__ as version

    if tuple(map(int, version.split(".")[:2])) >= OLDEST_NUMPY:
        return
    needed = ".".join(map(str, OLDEST_NUMPY))
    raise ImportError(
        f"sycl_ext requires NumPy >= {needed}, but {version} is installed; run python -m pip "
        f"install 'numpy>={needed}'",
        name="numpy",
    )


def remedy(error: ImportError) -> str:
    """Return the text of an ImportError of the core."""
    if getattr(sys, "frozen", False):  # a program, in which Python has no -m
        return (
            f"{error}; this program was built without some files of sycl_ext; build it with the "
            "PyInstaller hook that sycl_ext installs, in an environment in which `python -m "
            "sycl_ext doctor` reports no problem (docs/platforms.md)"
        )
    here = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    is_there = not isinstance(error, ModuleNotFoundError) or error.name != CORE
    if is_there or not os.path.exists(os.path.join(here, "pyproject.toml")):
        return f"{error}; python -m sycl_ext doctor names the problem and the command that fixes it"
    import shlex

    return (
        f"sycl_ext was imported from its source tree, {here}, in which the extension module has "
        "not been built, and this environment has no other sycl_ext; build and install this one: "
        f"{sys.executable} -m pip install {shlex.quote(here)}"
    )
