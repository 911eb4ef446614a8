# SPDX-License-Identifier: Apache-2.0
"""The kinds of USM. Pure Python."""

from typing import Any, Literal, TypeAlias

from sycl_ext._negotiation.arguments import check_word

UsmType: TypeAlias = Literal["device", "shared", "host"]
#: The kinds that a driver allocates.
ALLOCATED: tuple[UsmType, ...] = ("device", "shared", "host")
#: All kinds; "system" is host memory that the device reaches.
USM_TYPES = (*ALLOCATED, "system")


def check_usm_type(value: Any) -> Any:
    """Return an argument that is a kind of USM that a driver allocates, or None."""
    return None if value is None else check_word("usm_type", value, ALLOCATED)
