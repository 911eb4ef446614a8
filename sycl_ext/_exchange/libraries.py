# SPDX-License-Identifier: Apache-2.0
"""Pickles arrays of other libraries as tensors, and unpickles them as arrays of their library.

An array is pickled as a tensor that views it, so its pickle has the properties and checks of a
pickle of a tensor (`sycl_ext._tensor.pickling`): device, kind of USM, order of the axes,
out-of-band buffers, `pickling.to_device`.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, SupportsIndex

from sycl_ext._exchange.exchange import exchange
from sycl_ext._negotiation.arguments import check_word
from sycl_ext._tensor.creation import as_tensor

if TYPE_CHECKING:
    from sycl_ext._tensor.tensor import Tensor

#: Libraries, and the names of their array classes; `exchange` can pass a tensor to each.
LIBRARIES = {"dpnp": "ndarray", "dpnp.tensor": "usm_ndarray"}


def class_of(library: str) -> type[Any]:
    """Return the array class of a library; imports the library."""
    check_word("library", library, [*LIBRARIES])
    cls: type[Any] = getattr(import_module(library), LIBRARIES[library])
    return cls


def reducer_of(library: str) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that reduces an array of a library to a tensor that views it."""

    def reduce(array: Any) -> tuple[Any, ...]:
        return exchange, (as_tensor(array, copy=False), library)

    return reduce


class _Elements:
    """The elements of an array that is pickled or copied.

    ``copy.copy`` uses the reducers of ``copyreg`` as well, and calls `_rebuild` with this object
    itself. Only its pickle is that of a tensor, whose memory is new.
    """

    def __init__(self, view: Tensor) -> None:
        self.view = view

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return self.view.__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return copy.copy(self.view)


def _rebuild(elements: _Elements | Tensor, library: str) -> Any:
    """Return an array of a library in new memory."""
    tensor = copy.copy(elements.view) if isinstance(elements, _Elements) else elements
    return exchange(tensor, library)


def _copying_reducer_of(library: str) -> Callable[[Any], tuple[Any, ...]]:
    def reduce(array: Any) -> tuple[Any, ...]:
        return _rebuild, (_Elements(as_tensor(array, copy=False)), library)

    return reduce


def register(*libraries: str) -> None:
    """Make arrays of other libraries picklable in this process, with ``copyreg``.

    Any process that can import this package can unpickle them, on the same device as a tensor (see
    `pickling.to_device`). ``copy.copy`` and ``copy.deepcopy`` also use ``copyreg``, except for
    libraries that define these operations; both copy the elements.

    Parameters
    ----------
    *libraries : str
        ``"dpnp"`` for ``dpnp.ndarray``, ``"dpnp.tensor"`` for its ``usm_ndarray``; dpnp cannot
        pickle them itself (https://github.com/IntelPython/dpnp/issues/2602).

    Raises
    ------
    ValueError
        If a library is not supported.
    ImportError
        If it is not installed.

    Examples
    --------
    >>> import pickle, dpnp, sycl_ext as sx
    >>> sx.pickling.register("dpnp")
    >>> x = pickle.loads(pickle.dumps(dpnp.arange(3, usm_type="shared")))
    >>> type(x) is dpnp.ndarray, x.usm_type, x.asnumpy().tolist()
    (True, 'shared', [0, 1, 2])
    """
    for cls, reduce in [(class_of(name), _copying_reducer_of(name)) for name in libraries]:
        copyreg.pickle(cls, reduce)
