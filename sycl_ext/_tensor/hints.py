# SPDX-License-Identifier: Apache-2.0
"""`prefetch` and `advise`: hints about shared USM for the driver, which moves its pages."""

from __future__ import annotations

from typing import Any, Literal, get_args

from sycl_ext import _core
from sycl_ext._devices.device import by_id
from sycl_ext._negotiation.arguments import check_flag, check_word
from sycl_ext._protocols.tensors import strong

Advice = Literal["read_mostly", "preferred_location"]

#: The number of each advice, and the number that takes it back, by backend.  SYCL hands the number
#: to the adapter as it is: Level Zero's casts it to ``ze_memory_advice_t``, and the others read the
#: bits of ``ur_usm_advice_flags_t``.  The OpenCL adapter does nothing for a hint.
ADVICE: dict[str, dict[str, tuple[int, int]]] = {
    "level_zero": {"read_mostly": (0, 1), "preferred_location": (2, 3)},
    "cuda": {"read_mostly": (1 << 1, 1 << 2), "preferred_location": (1 << 3, 1 << 4)},
    "hip": {"read_mostly": (1 << 1, 1 << 2), "preferred_location": (1 << 3, 1 << 4)},
}


def prefetch(x: Any, /) -> bool:
    """Ask the driver to move shared USM to its device before the device uses it.

    The call returns at once, and the elements do not change.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
        All pages from its first to its last element are meant.

    Returns
    -------
    bool
        Whether the driver got the request, which it may ignore. False: nothing was done, because
        the memory never moves ("device", "host" and "system" memory), or because the backend has no
        such request (OpenCL, so every CPU device).

    Raises
    ------
    SyclError
        If the driver refuses the request.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> t = sx.ones(3, usm_type="shared")
    >>> sx.memory.prefetch(t)  # a CPU device, which computes where the pages are
    False
    """
    tensor = _core.find_memory(strong(x), copy=False)
    if _backend_with_hints(tensor) is None:
        return False
    _core.prefetch(tensor)
    return True


def advise(x: Any, advice: Advice, /, *, undo: bool = False) -> bool:
    """Tell the driver how the device of shared USM uses it.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
        All pages from its first to its last element are meant.
    advice : {"read_mostly", "preferred_location"}
        "read_mostly": it is read far more often than written, so each device may keep a copy of the
        pages. "preferred_location": the pages should stay on the device.
    undo : bool
        If True, take the advice back.

    Returns
    -------
    bool
        As for `prefetch`.

    Raises
    ------
    ValueError
        If there is no such advice.
    SyclError
        If the driver refuses the request.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> table = sx.ones(1000, usm_type="shared")
    >>> sx.memory.advise(table, "read_mostly")  # a CPU device
    False
    """
    check_word("advice", advice, get_args(Advice))
    tensor = _core.find_memory(strong(x), copy=False)
    check_flag("undo", undo)
    backend = _backend_with_hints(tensor)
    if backend is None:
        return False
    to_give, to_take_back = ADVICE[backend][advice]
    _core.advise(tensor, to_take_back if undo else to_give)
    return True


def _backend_with_hints(tensor: _core.TensorBase) -> str | None:
    """Return the backend that takes a hint about the memory; None: there is none."""
    if tensor.entry_id is None or tensor.usm_type != "shared" or tensor.size == 0:
        return None
    backend = by_id(tensor.entry_id).backend
    return backend if backend in ADVICE else None
