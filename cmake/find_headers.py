# SPDX-License-Identifier: Apache-2.0
"""Print the SYCL include folder, libsycl, and the DLPack include folder of the build environment.

An isolated build environment is an overlay and not ``sys.prefix``, so the wheels are asked for
their files; conda packages put theirs into the prefix. Without either, it is the oneAPI of the
machine: ``setvars.sh`` and its modules set $CMPLR_ROOT.
"""

import importlib.metadata
import os
import sys
from pathlib import Path


def sycl_include() -> Path:
    """Return the folder that holds ``sycl/sycl.hpp``."""
    candidates = [Path(os.environ.get("CONDA_PREFIX", sys.prefix)), Path(sys.prefix)]
    candidates += [
        Path(os.environ[name]) for name in ("PREFIX", "CMPLR_ROOT") if name in os.environ
    ]
    found = [prefix / "include" for prefix in candidates]
    try:
        files = importlib.metadata.files("intel-sycl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    headers = [Path(str(f.locate())).resolve() for f in files if f.match("include/sycl/sycl.hpp")]
    found = [header.parent.parent for header in headers] + found
    for include in found:
        if (include / "sycl" / "sycl.hpp").exists():
            return include
    sys.exit(
        "sycl/sycl.hpp not found: install intel-sycl-rt (it carries the SYCL headers), or load the "
        "machine's oneAPI (module load oneapi, or setvars.sh)"
    )


def dlpack_include() -> Path:
    """Return the folder that holds ``dlpack/dlpack.h`` 1.3."""
    try:
        from tvm_ffi.libinfo import find_dlpack_include_path
    except ImportError:
        sys.exit("dlpack/dlpack.h not found: install apache-tvm-ffi (it carries DLPack 1.3)")
    return Path(find_dlpack_include_path())


include = sycl_include()
print(f"{include};{include.parent / 'lib' / 'libsycl.so'};{dlpack_include()}", end="")
