# SPDX-License-Identifier: Apache-2.0
"""The PyInstaller hook that bundles this package and the SYCL runtime into a program.

PyInstaller asks the entry point ``hook-dirs`` in the group ``pyinstaller40`` of each installed
package for folders of hooks.
"""

from pathlib import Path


def hook_dirs() -> list[str]:
    """Return the folder of ``hook-sycl_ext.py``."""
    return [str(Path(__file__).parent)]
