# SPDX-License-Identifier: Apache-2.0
"""Importing this module loads the core, and connects it to the package.

The folders whose modules call the core import it first, so nobody meets a core that does not know
the package.
"""

from sycl_ext._setup import startup

startup.require_main_interpreter()
startup.require_numpy()

import sycl_ext._core as core  # noqa: E402
from sycl_ext._debug.trace import ENABLED  # noqa: E402
from sycl_ext._setup import no_device, runtimes  # noqa: E402
from sycl_ext._tensor import hooks  # noqa: E402

__all__ = ["core"]

hooks.connect()
runtimes.warn_of_others()
no_device.prepare()
if ENABLED:
    from sycl_ext._debug.exit import report_at_exit

    report_at_exit()
