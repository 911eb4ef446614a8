# SPDX-License-Identifier: Apache-2.0
"""Libraries that are broken on purpose, one fault each, and the cases of the kit that notice.

Each is NumPy, or this package, with something put before it; `broken_producers` and
`broken_consumers` say what.
"""

from __future__ import annotations

import os
from dataclasses import replace

import broken_consumers
import broken_producers
from broken_producers import NUMPY

from dlpack_conformance.adapter import Adapter

#: name of a fault -> (the adapter, the cases that notice, by the ends of their ids)
FAULTS: dict[str, tuple[Adapter, tuple[str, ...]]] = {
    **broken_producers.FAULTS,
    **broken_consumers.FAULTS,
}

_parent = os.getpid()
FAULTS["a child reads something else"] = (
    replace(NUMPY, host=lambda array: array if os.getpid() == _parent else array * 0),
    ("child_after_fork",),
)


def __getattr__(name: str) -> Adapter:
    """``broken:fault: NAME`` is an adapter."""
    if name.startswith("fault: "):
        return FAULTS[name.removeprefix("fault: ")][0]
    raise AttributeError(name)
