# SPDX-License-Identifier: Apache-2.0
"""The files that a frozen program needs and that PyInstaller cannot find from imports."""

from pathlib import Path

from PyInstaller.utils.hooks import collect_submodules

from sycl_ext._setup import icd, prefix

#: The SYCL runtime opens these in its own folder, which is the top one of the program.
OF_THE_RUNTIME = ("libur_loader.so.0", f"{icd.ADAPTER}*.so.0", "libOpenCL.so.1")
#: The CPU driver opens these in its own folder; `prefix.find` looks for it in ``lib``.
OF_THE_DRIVER = ("libocl_svml_*.so", "cl*.rtl", "cllibrary*.o", "cl.cfg")


def with_files(library: str, patterns: tuple[str, ...]) -> list[str]:
    """Return a library of this environment, and the files of its folder that it opens by name."""
    path = prefix.find(library)
    if path is None:
        return []
    folder = Path(path).parent
    return [path, *(str(file) for name in patterns for file in sorted(folder.glob(name)))]


# The modules are imported by their names when a public name is first used.
hiddenimports = [
    *collect_submodules("sycl_ext", filter=lambda name: ".frozen" not in name),
    *collect_submodules("dpctl", filter=lambda name: ".tests" not in name),
]
binaries = [
    *((path, ".") for path in with_files(prefix.RUNTIMES[0], OF_THE_RUNTIME)),
    *((path, "lib") for path in with_files(icd.DRIVER, OF_THE_DRIVER)),
]
