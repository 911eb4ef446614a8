# SPDX-License-Identifier: Apache-2.0
# The extension module. `_core` has the same names, connected to the package.

from sycl_ext._core import *  # noqa: F403
