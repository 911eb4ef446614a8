# SPDX-License-Identifier: Apache-2.0
"""A part whose process dies when it ends."""

import atexit
import os


def rows(_setup):
    atexit.register(os.abort)
    yield "holds", lambda: None
