# SPDX-License-Identifier: Apache-2.0
"""Locates the files for building C++ extensions: the headers and the CMake package."""

import os.path

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def get_include() -> str:
    """Return the include folder of ``<sycl_ext/sycl_ext.hpp>``, for C++ extensions.

    Examples
    --------
    >>> import os, sycl_ext as sx
    >>> os.path.exists(os.path.join(sx.get_include(), "sycl_ext", "sycl_ext.hpp"))
    True
    """
    return os.path.join(_PACKAGE, "include")


def get_cmake_dir() -> str:
    """Return the folder of the CMake package: ``cmake -Dsycl_ext_DIR=...``.

    Examples
    --------
    >>> import os, sycl_ext as sx
    >>> os.path.exists(os.path.join(sx.get_cmake_dir(), "sycl_ext-config.cmake"))
    True
    """
    return os.path.join(_PACKAGE, "include", "cmake")
