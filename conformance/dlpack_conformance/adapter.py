# SPDX-License-Identifier: Apache-2.0
"""What the kit has to know of a library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Adapter"]


def _asarray(array: Any) -> Any:
    import numpy as np

    return np.asarray(array)


def _index(array: Any, key: Any) -> Any:
    return array[key]


def _write(array: Any, value: Any) -> None:
    array[...] = value


@dataclass(frozen=True)
class Adapter:
    """A library, as the conformance kit uses it.

    Everything but the name may be left out: cases that need what is missing are skipped.  No
    function is called in the process of pytest; the library is imported in a worker process.

    Parameters
    ----------
    distribution : str
        The distribution whose version the report names.
    make : callable, optional
        Makes an array of the library from a NumPy array: a copy, with the same shape and dtype, in
        the memory that the library uses by default.  Raises for a dtype that it does not have.
    take : callable, optional
        The library's ``from_dlpack``.  Keywords (``copy``, ``device``) are passed on.
    host : callable, optional
        Returns the elements of an array of the library as anything that ``numpy.asarray`` takes.
    producer : callable, optional
        Returns an object with ``__dlpack__`` and ``__dlpack_device__`` for an array that does not
        have them itself.
    index : callable or None, optional
        Returns the view of an array at a key (integers and slices).  The default is
        ``array[key]``; None: the library has no views.
    write : callable, optional
        Sets all elements of an array to a number, or raises.  The default is
        ``array[...] = value``.
    readonly : callable, optional
        Like ``make``, for an array that may not be written to.
    pending : callable, optional
        Returns an array whose elements are still being computed when it is returned, and what they
        will be; None when the library computes nothing in the background here.  The host must be
        able to read the memory at its address.
    on_queue : callable, optional
        For libraries of SYCL memory: like ``make``, on a ``dpctl.SyclQueue``.
    modules : tuple of str, optional
        What is imported to use it.
    takes_host : bool, optional
        Whether a library with a device of its own also takes host memory.
    dtype : str, optional
        What most cases exchange: a number of 32 or 64 bits that the library has.
    known : mapping of str to str, optional
        Cases that are known to fail, without their group and with wildcards, and why:
        ``{"producer-copies_on_request": "it never copies"}``.  A case that passes all the same is
        a failure.

    Examples
    --------
    >>> if TYPE_CHECKING:
    import numpy as np
    >>> from dlpack_conformance import Adapter
    >>> adapter = Adapter("numpy", make=np.array, take=np.from_dlpack)
    >>> adapter.host(adapter.take(adapter.make(np.ones(2)))).tolist()
    [1.0, 1.0]
    """

    distribution: str
    make: Callable[[np.ndarray[Any, Any]], Any] | None = None
    take: Callable[..., Any] | None = None
    host: Callable[[Any], Any] = _asarray
    producer: Callable[[Any], Any] | None = None
    index: Callable[[Any, Any], Any] | None = _index
    write: Callable[[Any, Any], None] = _write
    readonly: Callable[[np.ndarray[Any, Any]], Any] | None = None
    pending: Callable[[], tuple[Any, np.ndarray[Any, Any]] | None] | None = None
    on_queue: Callable[[np.ndarray[Any, Any], Any], Any] | None = None
    modules: tuple[str, ...] = ()
    takes_host: bool = True
    dtype: str = "float32"
    known: Mapping[str, str] = field(default_factory=dict)
