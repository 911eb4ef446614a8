# SPDX-License-Identifier: Apache-2.0
"""Lets the SYCL runtime find the CPU device of a plain virtual environment.

The ``intel-opencl-rt`` wheel contains the OpenCL CPU driver, but its ``.icd`` file contains a path
of the machine that built the wheel, so the OpenCL loader does not find the driver.
`add_embedded_cpu` passes the loader the path of the driver in this environment, before SYCL lists
devices.
"""

from __future__ import annotations

import os.path
import sys

from sycl_ext._setup import prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: If any of these is set, the user has chosen the drivers.
DECIDED_BY = ("OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "SYCL_EXT_NO_ICD")

DRIVER = "libintelocl.so"

#: The beginning of the error for a driver that other users can modify; the reason follows.
REFUSED = "is not loaded, because "

#: The error if the working directory was deleted. The SYCL runtime of 2026.2 then finds no device,
#: and hangs when the process exits.
DELETED_FOLDER = (
    "the working directory was deleted; change to an existing directory, for example with cd ~"
)

#: The prefix of the names of the runtime's adapters.
ADAPTER = "libur_adapter_"

#: The command that installs the driver, which is also the extra ``cpu`` of this package.
CPU_PACKAGE = "intel-opencl-rt>=2026.0,<2027"
INSTALL_CPU = f'python -m pip install "{CPU_PACKAGE}"'

#: The driver that `add_embedded_cpu` has put into ``OCL_ICD_FILENAMES``.
added: str | None = None


def embedded_driver() -> str | None:
    """Return the OpenCL CPU driver of this environment, if no other user can modify it."""
    return prefix.find(DRIVER)


def refused_driver(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a driver that is not loaded because other users can modify it, and the reason."""
    if any(environment.get(name) for name in DECIDED_BY) or embedded_driver() is not None:
        return None
    reasons = ((path, prefix.distrust(path)) for path in prefix.candidates(DRIVER))
    return next(reasons, None)


def add_embedded_cpu() -> str | None:
    """Set ``OCL_ICD_FILENAMES`` to the embedded driver unless the environment decides otherwise.

    Returns the driver, and stores it in `added`; None: the variable was not set.
    """
    global added
    prefix.require_folder()
    if any(os.environ.get(name) for name in DECIDED_BY):
        return None
    driver = embedded_driver()
    if driver is None or os.pathsep in driver:
        return None
    os.environ["OCL_ICD_FILENAMES"] = added = driver
    return driver


def vendor_folders(environment: Mapping[str, str]) -> list[str]:
    """Return the folders in which the OpenCL loader looks for .icd files."""
    named = environment.get("OCL_ICD_VENDORS") or environment.get("OPENCL_VENDOR_PATH")
    of_conda = [sys.prefix] if os.path.exists(os.path.join(sys.prefix, "conda-meta")) else []
    return [named] if named else [os.path.join(at, "etc/OpenCL/vendors") for at in ("/", *of_conda)]


def named_in_files(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the OpenCL drivers that .icd files name (empty: not readable), and these files."""
    from pathlib import Path

    folders = map(Path, vendor_folders(environment))
    files = [file for folder in folders for file in sorted(folder.glob("*.icd"))]
    readable = [file.is_file() and os.access(file, os.R_OK) for file in files]
    return [
        (file.read_text().strip() if fine else "", str(file))
        for file, fine in zip(files, readable, strict=True)
    ]


def trouble(added: str | None, loaded: Iterable[str]) -> str:
    """Return the known reason why the embedded driver's device is missing, or ""."""
    if is_folder_deleted():
        return DELETED_FOLDER
    early = "" if added is None else listed_too_early(added, loaded)
    refused = refused_driver(os.environ)
    if refused is not None:
        return (
            f"the OpenCL CPU driver {refused[0]} {REFUSED}{refused[1]}; install sycl_ext into an "
            "environment that only you can modify, or set OCL_ICD_FILENAMES to the driver if you "
            "trust every user who can modify it"
        )
    driver = cut_driver(os.environ)
    cause = cut_at(driver)
    if early or cause is None:
        return early
    return (
        f"the CPU device is unavailable, because the path of its OpenCL driver contains a "
        f"{cause[0]}, at which {cause[1]} truncates it: {driver!r}; create the environment at a "
        f"path without a {cause[0]} "
        "(python -m sycl_ext doctor shows another way; SYCL_EXT_NO_ICD=1 disables this driver)"
    )


def is_folder_deleted() -> bool:
    """Return whether the working directory was deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def listed_too_early(added: str, loaded: Iterable[str]) -> str:
    """Return an error if the process listed devices before `add_embedded_cpu` ran, or "".

    The SYCL runtime loads its adapters when it first lists the devices. The OpenCL loader reads the
    environment only then.
    """
    names = [os.path.basename(path) for path in loaded]
    if os.path.basename(added) in names or not any(name.startswith(ADAPTER) for name in names):
        return ""
    return (
        "devices were listed before sycl_ext was imported, so the CPU device of this environment "
        "is missing; import sycl_ext before dpctl or dpnp first uses a device, or start Python "
        f"with OCL_ICD_FILENAMES={added}"
    )


def cut_at(path: str) -> tuple[str, str] | None:
    """Return the character at which the path of the driver is cut, and what cuts it, or None.

    The loader takes a colon in ``OCL_ICD_FILENAMES`` for the end of a path. The driver looks for
    its own path in ``/proc/self/maps``, cuts it at a space, and does not find the files next to it;
    that file shows real paths, so a link does not help.
    """
    if os.pathsep in path:
        return "colon", "the OpenCL loader"
    return ("space", "the driver") if len(os.path.realpath(path).split()) > 1 else None


def cut_driver(environment: Mapping[str, str]) -> str:
    """Return the CPU driver that cannot be used because its path is cut, or ""."""
    named = environment.get("OCL_ICD_FILENAMES", "").split(os.pathsep)
    if not any(environment.get(name) for name in DECIDED_BY):
        named = [embedded_driver() or ""]
    ours = (path for path in named if os.path.basename(path) == DRIVER)
    return next(filter(cut_at, ours), "")


def no_device_advice(trouble: str, driver: str | None) -> str:
    """Return the end of errors about a missing device: a known cause, or where to find it."""
    if trouble:
        return trouble
    doctor = "`python -m sycl_ext doctor` explains why"
    if driver is not None:
        return doctor
    return f"{doctor} (on a machine without a GPU install the CPU device: {INSTALL_CPU})"
