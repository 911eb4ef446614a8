# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules over managed tensors that C code made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_ext import _core
from sycl_ext._negotiation.arguments import is_int

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

#: The supported version of DLPack: (major, minor).
VERSION = _core.DLPACK_VERSION


def capsule_from_pointer(address: int, *, versioned: bool = True) -> CapsuleType:
    """Return a DLPack capsule over a managed tensor that C code made.

    Parameters
    ----------
    address : int
        Address of a ``DLManagedTensorVersioned`` or of a ``DLManagedTensor``, as an int from ctypes
        or cffi. The capsule takes ownership: the deleter runs once, when the memory is released or
        when the unused capsule is dropped.
    versioned : bool
        Which of the two structs it is.

    Returns
    -------
    capsule
        For `from_dlpack` and other consumers that take raw capsules.

    Raises
    ------
    ValueError
        If the memory at the address is not readable. Its contents are not verified.
    TypeError
        If the address is not an int, or `versioned` is not a bool.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.dlpack.capsule_from_pointer(0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: there is no managed tensor at address 0, which is not readable; pass the address...
    """
    if not is_int(address):
        raise TypeError(
            f"address is of type {type(address).__name__}; it must be an int, the address of a "
            "DLManagedTensorVersioned or DLManagedTensor"
        )
    if not isinstance(versioned, bool):
        raise TypeError(
            f"versioned is of type {type(versioned).__name__}; it must be True, for a "
            "DLManagedTensorVersioned, or False, for a DLManagedTensor"
        )
    if not 0 <= address < 1 << 64:
        raise ValueError(
            f"there is no managed tensor at address {address}, which is not readable; pass the "
            "address of a live DLManagedTensor or DLManagedTensorVersioned"
        )
    return _core.capsule_from_pointer(address, versioned=versioned)
