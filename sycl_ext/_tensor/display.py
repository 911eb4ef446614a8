# SPDX-License-Identifier: Apache-2.0
"""Tensors as text: their properties, and their elements if the host can read them.

Elements are formatted as in NumPy, with its threshold (``numpy.set_printoptions``), if the host can
read them and no work is pending on them. The display never waits, copies or fails: after a kernel
it shows `PENDING`, and after ``t.wait()`` the elements. It queries the queues that may
have work on the memory; the v1 adapter of Level Zero answers when no other thread is waiting for
the queue.
"""

from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._negotiation.errors import REFUSALS
from sycl_ext._protocols.tensors import is_tensor

#: In place of elements that a kernel or a copy may still be writing.
PENDING = "pending: call .wait() to see the elements"


def as_text(tensor: _core.TensorBase) -> str:
    """Return the ``repr``: elements and properties."""
    name = type(tensor).__name__
    elements = _elements(tensor, indent=len(name) + 1)
    end = ",\n" + " " * (len(name) + 1) if "\n" in elements else ", "
    return f"{name}({elements}{end if elements else ''}{_facts(tensor)})"


def describe(x: object) -> str:
    """Return the properties of an array, without its elements; of any other object, the ``repr``.

    The ``repr`` of a large array of another library has many lines, and may copy from a device.
    """
    if is_tensor(x):
        return f"{type(x).__name__}({_facts(x)})"
    shape = getattr(x, "shape", None)
    if not isinstance(shape, tuple):
        return repr(x)
    library = type(x).__module__.partition(".")[0]
    return f"{library}.{type(x).__name__}(shape={tuple(shape)}, dtype={getattr(x, 'dtype', None)})"


def _facts(tensor: _core.TensorBase) -> str:
    facts = {
        "shape": tensor.shape,
        "dtype": tensor.dtype_name,
        "usm_type": repr(tensor.usm_type),
        "device": "host" if tensor.entry_id is None else tensor.entry_id,
    }
    if tensor.readonly:
        facts["readonly"] = True
    return ", ".join(f"{name}={value}" for name, value in facts.items())


def _elements(tensor: _core.TensorBase, indent: int = 0) -> str:
    """Return the elements, `PENDING` during work on them, or "" if the host cannot read them."""
    if not tensor.host_accessible:
        return ""
    try:
        array: Any = _core.as_ndarray(tensor, wait=False)
        if array is None:
            return PENDING
        return np.array2string(array, separator=", ", prefix=" " * indent)
    except REFUSALS:  # NumPy may lack the dtype; a wait raises the errors of commands
        return ""
