# SPDX-License-Identifier: Apache-2.0
"""`HostView`: the bytes of any tensor, offered to consumers of host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_ext import _core
from sycl_ext._debug.trace import note, traced
from sycl_ext._negotiation.dlpack import HOST
from sycl_ext._negotiation.errors import CopyRefusedError
from sycl_ext._protocols import execute, interfaces
from sycl_ext._protocols.fast import accelerated
from sycl_ext._tensor.scalars import Scalars

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["HostView", "host_view"]


class HostView(Scalars, _core.TensorBase):
    """A producer of host memory, ``(1, 0)``, over the memory of a tensor or of any producer.

    NumPy, PyTorch, JAX and the like refuse a kDLOneAPI array without asking for a host copy; a host
    view is what they take.  It is zero-copy where the host can reach the memory; else it makes one
    copy into page-aligned memory when its bytes are first needed, and keeps it.

    Examples
    --------
    >>> import numpy as np, sycl_ext as sx
    >>> t = sx.zeros(3, usm_type="shared")
    >>> view = sx.host_view(t)
    >>> view.is_copy, np.from_dlpack(view).ctypes.data == t.ptr
    (False, True)
    """

    __slots__ = ()

    @property
    def is_copy(self) -> bool:
        """Whether the bytes are (or will be, when first needed) a copy of the source's."""
        return self.is_host_copy

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        _core.raise_dropped_signal(self)  # NumPy has asked for a buffer first
        array = _core.as_ndarray(self)
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise CopyRefusedError(
                    f"copy=False, and the conversion to {np.dtype(dtype)} is a copy"
                )
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        what = "copy" if self.is_copy else "view"
        of = "" if self.base is None else f" of {self.base!r}"
        return f"HostView(shape={self.shape}, dtype={self.dtype_name}, {what}{of})"


@accelerated
@traced
def host_view(x: Any, /, *, copy: bool | None = None) -> HostView:
    """Return a producer of host memory over `x`.

    Parameters
    ----------
    x : Tensor, or anything that `as_tensor` takes
        Host producers included.
    copy : bool, optional
        None: a view where the host can reach the memory, else one copy, made when it is first
        needed.  True: always a copy, made now.  False: never a copy.

    Returns
    -------
    HostView
        A host view of a host view is that host view.

    Raises
    ------
    CopyRefusedError
        With ``copy=False``, when the host cannot reach the memory.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> memoryview(sx.host_view(sx.zeros(2, "uint8"))).tolist()
    [0, 0]
    """
    copy = execute.check_copy(copy)
    x = execute.strong(x)
    if isinstance(x, HostView) and copy is not True and not x.reversed:
        return x
    source = interfaces.source_of(x, copy)
    found = execute.plan_for(execute.facts_of(source), HOST, copy).check()
    note(found.route.value, source.nbytes, found.copies)
    base = None if type(x).__name__ == "PyCapsule" else execute.root_of(x)
    if copy is True:
        return _core.host_view(_core.copy_to_host(source), None, HostView)
    if found.copies == 0:
        return _core.host_view(source, base, HostView)
    return _core.lazy_host_copy(source, base, HostView)
