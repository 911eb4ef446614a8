# SPDX-License-Identifier: Apache-2.0
"""The parts of the report, each with its question."""

from dataclasses import dataclass

#: Verdicts that make the exit code 1; the others are "held" and "cannot".
BAD = ("did not hold", "crashed", "hung", "not reached")


@dataclass(frozen=True)
class Part:
    """A part of the report: its name, its question, and the module that yields its rows."""

    name: str
    question: str
    module: str


def _part(name: str, question: str) -> Part:
    return Part(name, question, f"sycl_ext_hardware.parts.{name.replace(' ', '_')}")


KERNELS = _part("kernels", "Does the device run kernels? They are the pending work of the rest.")
#: In this order; the first ones tell most.
PARTS = (
    KERNELS,
    _part("round trips", "Do bytes arrive and come back, in each kind of memory?"),
    _part("waiting", "Do reads and writes of a tensor wait for work on its queue?"),
    _part("streams", "Are consumers with a queue of their own, and we as a consumer, in order?"),
    _part("lifetimes", "Does memory stay until the work on it is done?"),
    _part("exits", "Does a process end that has work pending?"),
    _part("handles", "Can another process open memory of the device?"),
    _part("cards", "Do copies to other devices and to sub-devices arrive?"),
    _part("bandwidth", "How fast are copies, and the runtime's own?"),
)
