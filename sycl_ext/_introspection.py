# SPDX-License-Identifier: Apache-2.0
"""Floor 2. What C code hands to Python, and what is still out there."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from sycl_ext import _core

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

__all__ = ["DLPACK_VERSION", "capsule_from_pointer", "live_exports"]

#: The version of DLPack that is spoken: (major, minor).
DLPACK_VERSION = _core.DLPACK_VERSION


def capsule_from_pointer(address: int, *, versioned: bool = True) -> CapsuleType:
    """Return a DLPack capsule over a managed tensor that C code made.

    Parameters
    ----------
    address : int
        Address of a ``DLManagedTensorVersioned``, or of a ``DLManagedTensor``; ctypes and cffi give
        it as an int.  The capsule takes it over: its deleter runs once, when the memory is let go
        or when the capsule is dropped.
    versioned : bool
        Which of the two structs it is.

    Returns
    -------
    capsule
        For `from_dlpack` and every other consumer that takes raw capsules.

    Raises
    ------
    ValueError
        When there is nothing readable at the address.  That it holds such a struct has to be
        believed.
    TypeError
        When the address is no int.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.capsule_from_pointer(0)
    Traceback (most recent call last):
        ...
    ValueError: there is no managed tensor at address 0: nothing readable is there
    """
    try:
        value = operator.index(address)
    except TypeError:
        raise TypeError(
            f"address is a {type(address).__name__}; it must be an int, the address of a "
            "DLManagedTensorVersioned or DLManagedTensor"
        ) from None
    if not 0 <= value < 1 << 64:
        raise ValueError(
            f"there is no managed tensor at address {value}: nothing readable is there"
        )
    return _core.capsule_from_pointer(value, versioned=bool(versioned))


def live_exports() -> int:
    """Return how many exports are in consumers' hands: managed tensors whose deleter has not run.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> before = sx.live_exports()
    >>> capsule = sx.zeros(3).__dlpack__()
    >>> sx.live_exports() - before
    1
    >>> del capsule
    >>> sx.live_exports() - before
    0
    """
    return _core.live_exports()
