# SPDX-License-Identifier: Apache-2.0
"""Loads the libraries of the environment, after checking who can write to their folder.

Wheels put the SYCL runtime and the CPU driver into ``lib`` of the prefix, so this package looks for
them there, by its own location. Where it was installed in another way (``pip install --target``),
that folder may belong to any user. Pure: no core, no device. `sycl_ext_pytest` runs this file
without the package.
"""

from __future__ import annotations

import os.path
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: The libraries that the extension module needs, besides the SYCL runtime and those that each
#: Python has loaded. The linker looks for them in the folder of its RUNPATH, ``$ORIGIN/../../..``.
NEEDED = ("libstdc++.so.6", "libgcc_s.so.1")
#: The SYCL runtime: that of the wheels, and that of a module built against oneAPI 2025.3.
RUNTIMES = ("libsycl.so.9", "libsycl.so.8")


def prefix_of(site: str) -> str | None:
    """Return the prefix of a folder of packages; None: it is in no ``lib/python3.*``."""
    python, name = os.path.split(site)
    lib, version = os.path.split(python)
    prefix, name_of_lib = os.path.split(lib)
    fits = name in ("site-packages", "dist-packages") and version.startswith("python3")
    return prefix if fits and name_of_lib in ("lib", "lib64") else None


def candidates(name: str, package: str = PACKAGE) -> list[str]:
    """Return where a library of the environment may be: files that exist, nearest first.

    The last ones are in folders of ``LD_LIBRARY_PATH`` that have the runtime, which is loaded from
    there.
    """
    prefixes = dict.fromkeys((prefix_of(os.path.dirname(package)), sys.prefix))
    folders = [os.path.join(prefix, "lib") for prefix in prefixes if prefix]
    named = filter(os.path.isabs, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    folders += filter(has_runtime, named)
    paths = (os.path.join(folder, name) for folder in folders)
    return [path for path in paths if os.path.exists(path)]


def has_runtime(folder: str) -> bool:
    """Return whether a folder has a SYCL runtime."""
    return any(os.path.exists(os.path.join(folder, name)) for name in RUNTIMES)


def runtime_of(module: str) -> str:
    """Return the SYCL runtime that an extension module is linked to."""
    with open(module, "rb") as file:
        content = file.read()
    return next((name for name in RUNTIMES if name.encode() in content), RUNTIMES[0])


def require_folder(package: str = PACKAGE) -> None:
    """Raise ImportError if the package is in a zip file, from which no library can be loaded."""
    if os.path.isdir(package) or getattr(sys, "frozen", False):
        return
    at = package
    while at != os.path.dirname(at) and not os.path.isfile(at):
        at = os.path.dirname(at)
    raise ImportError(
        f"sycl_ext is in the zip file {at}, but an extension module can only be loaded from a "
        "folder; unpack the file into a folder on sys.path, or install sycl_ext with pip",
        name="sycl_ext",
        path=at,
    )


def distrust(path: str, package: str = PACKAGE) -> str:
    """Return why a library is not loaded: users who cannot modify this package can modify it.

    The library, its folder and the prefix must be owned by root, by this user or by the owner of
    this package, and must not be writable by other users. Above the prefix, the package has the
    same folders.
    """
    if not hasattr(os, "geteuid"):
        return ""
    ours, real = os.stat(package), os.path.realpath(path)
    owners = {0, os.geteuid(), ours.st_uid}
    folder = os.path.dirname(path)
    places = dict.fromkeys((real, os.path.dirname(real), folder, os.path.dirname(folder)))
    for at in filter(os.path.exists, places):
        status = os.stat(at)
        if status.st_uid not in owners:
            return f"{at} is owned by user {status.st_uid}, who is neither root nor this user"
        mode, group = f"mode {status.st_mode & 0o7777:o}", status.st_gid
        if status.st_mode & 0o002:
            return f"{at} is writable by every user ({mode})"
        # Allowed: root owns it; its group is root's or the owner's own; or the group can modify
        # this package as well.
        may = status.st_uid == 0 or group in (0, status.st_uid)
        may = may or bool(ours.st_mode & 0o020 and group == ours.st_gid)
        if status.st_mode & 0o020 and not may:
            return f"{at} is writable by group {group} ({mode})"
    return ""


def find(name: str, package: str = PACKAGE) -> str | None:
    """Return a library of the environment that no other user can modify; None: there is none."""
    return next((path for path in candidates(name, package) if not distrust(path, package)), None)


def refused(name: str, package: str = PACKAGE) -> str:
    """Return why a library that is there is not loaded, or ""."""
    reasons = (distrust(path, package) for path in candidates(name, package))
    return next(filter(None, reasons), "")


def load_runtime(module: str) -> None:
    """Load what an extension module needs, unless its RUNPATH leads to the right folder.

    A library that is already loaded is not looked up again. ImportError: that folder may
    belong to another user, and no other folder has the runtime.
    """
    from importlib.util import find_spec

    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    package = os.path.dirname(os.path.abspath(spec.origin))
    folder = os.path.dirname(os.path.dirname(os.path.dirname(package)))
    why = "sycl_ext is not in the lib/python3.*/site-packages of an environment"
    if prefix_of(os.path.dirname(package)) is not None:
        reasons = (distrust(os.path.join(folder, name), package) for name in RUNTIMES)
        why = next(filter(None, reasons), "")
    if not why and has_runtime(folder):
        return
    import ctypes

    for name in (*NEEDED, runtime_of(spec.origin)):
        path = find(name, package)
        try:
            ctypes.CDLL(name)  # where it is, or from LD_LIBRARY_PATH or the system
        except OSError as error:
            if path is not None:
                ctypes.CDLL(path)
            elif why:
                raise ImportError(
                    f"{error}; no library is loaded from {folder}, because {why}; install sycl_ext "
                    "into a virtual environment (pip install --target omits the libraries of the "
                    "wheels), or add the folder of libsycl to LD_LIBRARY_PATH, where a CPU driver "
                    "is found as well"
                ) from None
