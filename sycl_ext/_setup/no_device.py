# SPDX-License-Identifier: Apache-2.0
"""Warnings, and advice in errors, when no SYCL device is available."""

from __future__ import annotations

import os

from sycl_ext import _native as _core
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._setup import icd
from sycl_ext._setup.runtimes import warn_user


def prepare() -> None:
    """Set the advice of errors, and warn of a problem that hides all devices.

    Devices are listed only if a problem is known.
    """
    trouble = icd.trouble(icd.added, _core.loaded_libraries())
    driver = icd.added or icd.embedded_driver()
    advice = icd.no_device_advice(trouble, driver)
    _core.set_no_device_advice(os.fsencode(advice), os.fsencode("" if trouble else driver or ""))
    if trouble and _is_table_empty():
        warn_user(trouble, RuntimeWarning)


def _is_table_empty() -> bool:
    try:
        return _core.root_count() == 0
    except SyclError:
        return True
