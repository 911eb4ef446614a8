# SPDX-License-Identifier: Apache-2.0
"""dpctl where there is one, and the objects that take the place of its classes where there is none.

An object has the method by which others read those of dpctl: ``_get_capsule()``, or for a device,
for which dpctl has no capsule, ``addressof_ref()``. A queue is a `_core.Queue`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sycl_ext import _core
from sycl_ext._negotiation.identity import Identity
from sycl_ext._negotiation.loaded import loaded

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

_is_missing = False  # dpctl was not installed when it was first needed


def find_dpctl() -> Any:
    """Return dpctl; None: there is none in this process.

    It is imported if it is installed when this is called first. Later it counts from the moment in
    which other code has imported it, for example after an installation in a running notebook.
    """
    global _is_missing
    if not _is_missing:
        try:
            import dpctl
        except ModuleNotFoundError as error:
            if error.name != "dpctl":
                raise
            _is_missing = True
        else:
            return dpctl
    is_whole = loaded("dpctl", "get_device_cached_queue") is not None
    return sys.modules.get("dpctl") if is_whole else None


@dataclass(frozen=True)
class SyclContext(Identity):
    """The context of an entry of the device table."""

    entry_id: int
    _portable_form = "send the uuid of its device"

    def _get_capsule(self) -> CapsuleType:
        return _core.entry(self.entry_id).context_capsule()

    def addressof_ref(self) -> int:
        """Return the address of the ``sycl::context``."""
        return _core.entry(self.entry_id).context_address


@dataclass(frozen=True)
class SyclDevice(Identity):
    """The device of an entry of the device table."""

    entry_id: int
    _portable_form = "send the uuid of the device"

    def addressof_ref(self) -> int:
        """Return the address of the ``sycl::device``."""
        return _core.entry(self.entry_id).device_address


@dataclass(frozen=True, eq=False)
class SyclEvent(Identity):
    """The event of commands."""

    commands: _core.Commands
    _portable_form = "wait for it here"

    def _get_capsule(self) -> CapsuleType:
        return self.commands.event_capsule()

    def wait(self) -> None:
        """Wait until the commands are done."""
        self.commands.wait()
