# SPDX-License-Identifier: Apache-2.0
"""Adapters: the description of a library for the kit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from dlpack_conformance.known import Known

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Adapter", "find"]

#: Entry points of this group name adapters, the kit's own among them.
GROUP = "dlpack_conformance"


def _same(array: Any) -> Any:
    return array


def _index(array: Any, key: Any) -> Any:
    return array[key]


def _write(array: Any, value: Any) -> None:
    array[...] = value


@dataclass(frozen=True)
class Adapter:
    """A library, as the conformance kit uses it.

    The name, and ``make`` or ``take``, are required; cases that need another part are skipped.  The
    module of the adapter is imported in a worker process, never in that of pytest.

    Parameters
    ----------
    distribution : str
        Name of the distribution; the report shows its version.
    make : callable, optional
        Makes an array of the library from a NumPy array: a copy, with the same shape and dtype, in
        the default memory of the library. Raises an exception for a dtype that the library does not
        have.
    take : callable, optional
        The library's ``from_dlpack``.  Keywords (``copy``, ``device``) are passed on.
    host : callable, optional
        Returns the elements of an array of the library as anything that ``numpy.asarray`` takes.
        The default is the array itself.
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
        Like ``make``, for a read-only array.
    pending : callable, optional
        Returns an array with pending computations, and the elements that it will have; None when
        the library computes nothing in the background here. The host must be able to read the
        memory at its address.
    on_queue : callable, optional
        For libraries with SYCL memory: like ``make``, on a ``dpctl.SyclQueue``.
    modules : tuple of str, optional
        The modules to import.
    takes_host : bool, optional
        Whether a library with a device of its own also takes host memory.
    dtype : str, optional
        The dtype of most cases: a number of 32 or 64 bits that the library supports.
    known : tuple of Known, optional
        Cases that are known to fail. The first entry that matches a case is used.

    Examples
    --------
    >>> import numpy as np
    >>> from dlpack_conformance import Adapter
    >>> adapter = Adapter("numpy", make=np.array, take=np.from_dlpack)
    >>> adapter.take(adapter.make(np.ones(2))).tolist()
    [1.0, 1.0]
    """

    distribution: str
    make: Callable[[np.ndarray[Any, Any]], Any] | None = None
    take: Callable[..., Any] | None = None
    host: Callable[[Any], Any] = _same
    producer: Callable[[Any], Any] = _same
    index: Callable[[Any, Any], Any] | None = _index
    write: Callable[[Any, Any], None] = _write
    readonly: Callable[[np.ndarray[Any, Any]], Any] | None = None
    pending: Callable[[], tuple[Any, np.ndarray[Any, Any]] | None] | None = None
    on_queue: Callable[[np.ndarray[Any, Any], Any], Any] | None = None
    modules: tuple[str, ...] = ()
    takes_host: bool = True
    dtype: str = "float32"
    known: tuple[Known, ...] = ()


def find(name: str) -> Adapter:
    """Return the adapter of this name, or the one that a text like ``package.module:object`` names.

    Raises
    ------
    ValueError
        If there is no such adapter.
    TypeError
        If the named object is not an adapter.
    """
    values = [entry.value for entry in entry_points(group=GROUP, name=name)]
    # The adapter that a library provides itself takes precedence over the kit's.
    values.sort(key=lambda value: value.startswith("dlpack_conformance."))
    if ":" in name:
        values = [name]
    if not values:
        names = ", ".join(sorted(entry_points(group=GROUP).names))
        raise ValueError(f"no adapter {name!r}; there are {names}, and package.module:object")
    module, _, attribute = values[0].partition(":")
    adapter = getattr(import_module(module), attribute)
    if not isinstance(adapter, Adapter):
        raise TypeError(f"{name} is {adapter!r:.60}, and not a dlpack_conformance.Adapter")
    return adapter
