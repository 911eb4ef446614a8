# SPDX-License-Identifier: Apache-2.0
"""Lets the SYCL runtime find the CPU device of a plain virtual environment.

The ``intel-opencl-rt`` wheel brings the OpenCL CPU device, but its ``.icd`` file names a folder of
the machine that built it, so the OpenCL loader finds nothing.  Before SYCL enumerates anything,
`add_embedded_cpu` names the driver of this environment to the loader.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Any of these in the environment means that somebody has decided already.
DECIDED_BY = ("OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "SYCL_EXT_NO_ICD")

DRIVER = "libintelocl.so"


def embedded_driver() -> Path | None:
    """Return the OpenCL CPU driver of this environment, if it is installed."""
    site_packages = Path(__file__).resolve().parent.parent.parent
    prefixes = (site_packages.parents[1], Path(sys.prefix) / "lib")
    return next((lib / DRIVER for lib in prefixes if (lib / DRIVER).exists()), None)


def add_embedded_cpu() -> Path | None:
    """Set ``OCL_ICD_FILENAMES`` to the embedded driver unless the environment decides otherwise.

    Returns
    -------
    Path or None
        What was set.
    """
    if any(os.environ.get(name) for name in DECIDED_BY):
        return None
    driver = embedded_driver()
    if driver is not None:
        os.environ["OCL_ICD_FILENAMES"] = str(driver)
    return driver
