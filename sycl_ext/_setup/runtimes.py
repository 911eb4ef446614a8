# SPDX-License-Identifier: Apache-2.0
"""Warnings about this process: two SYCL runtimes, or a known reason why it has no device."""

import os
import sys
import warnings

from sycl_ext import _core
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._setup import icd

#: The files of other runtimes that the user was warned of; each is loaded, so they are few.
_warned_of: set[str] = set()
#: Prefixes of the names of modules that are not the user's code: those of the package, of the other
#: distributions of this repository, and of the import system.
_NOT_THE_USERS = ("sycl_ext.", "sycl_ext_", "importlib.")


class TwoRuntimesWarning(RuntimeWarning):
    """A SYCL runtime other than that of sycl_ext is loaded too; the message names both."""

    __module__ = "sycl_ext"


def warn_of_others() -> None:
    """Warn of each SYCL runtime other than ours, once, where the user's code called the package."""
    if not _core.has_other_libsycl():
        return
    ours, *loaded = map(os.path.normpath, _core.loaded_libsycl())
    others = [path for path in loaded if path not in _warned_of]
    if not others:
        return
    _warned_of.update(others)
    text = (
        f"two SYCL runtimes are loaded in this process: {ours}, which sycl_ext uses, and "
        f"{' and '.join(others)}. They do not share queues or contexts, and share memory only on "
        "Level Zero; some pairs end the process when the second one creates its first queue. Use "
        "the package that loads the other one in a separate process, or install versions that "
        "depend on the same libsycl; python -m sycl_ext doctor names the packages"
    )
    warn_user(text, TwoRuntimesWarning)


def prepare_for_no_device() -> None:
    """Set the advice of errors, and warn of a problem that hides all devices.

    Devices are listed only if a problem is known.
    """
    trouble = icd.trouble(icd.added, _core.loaded_libraries())
    driver = icd.added or icd.embedded_driver()
    advice = icd.no_device_advice(trouble, driver)
    _core.set_no_device_advice(os.fsencode(advice), os.fsencode("" if trouble else driver or ""))
    try:
        there_are_devices = not trouble or _core.root_count() > 0
    except SyclError:
        there_are_devices = False
    if not there_are_devices:
        warn_user(trouble, RuntimeWarning)


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn once, where the user's code called the package."""
    frame = sys._getframe()
    while frame.f_back and f"{frame.f_globals.get('__name__')}.".startswith(_NOT_THE_USERS):
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        text, category, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )
