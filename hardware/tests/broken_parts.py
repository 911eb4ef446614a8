# SPDX-License-Identifier: Apache-2.0
"""Parts of a report whose rows go wrong in every way."""

import os
import time
from pathlib import Path

from sycl_ext_hardware.samples import Cannot, DidNotHoldError


def rows(_setup):
    yield "holds", lambda: "in its way"
    yield "measures", lambda: {"GB/s": 1.5}
    yield "does not hold", complain
    yield "raises", lambda: 1 / 0
    yield "cannot", refuse
    yield "crashes", os.abort
    yield "hangs", hang
    yield "holds after a hang", lambda: None


def complain():
    raise DidNotHoldError("the bytes are others")


def refuse():
    raise Cannot("it has none")


def hang():
    if at := os.environ.get("HANGS_AT"):
        Path(at).write_text(str(os.getpid()))
    time.sleep(1000)
