# SPDX-License-Identifier: Apache-2.0
"""The errors of the first hour: each names the thing, the value found, and the way out."""

import sycl_ext as sx  # isort: skip

import dpctl
import numpy as np
import torch

t = sx.zeros((2, 3), "float32", usm_type="shared")
own = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))


def refuse(call, kind, *words):
    """Call it; it must raise that, with these words."""
    try:
        call()
    except kind as error:
        said = str(error)
    else:
        said = f"nothing, and {kind} was expected"
    missing = [word for word in words if word not in said]
    assert not missing, f"{missing} not in: {said}"


# Those of other libraries, which the documents have to explain, and the way that they name.
refuse(lambda: np.from_dlpack(t), (RuntimeError, BufferError), "Unsupported device")
refuse(lambda: torch.from_dlpack(t), RuntimeError, "XPU")
for library in (np, torch):
    assert sx.exchange(t, library).shape == (2, 3)

# Ours.
refuse(lambda: t.to_device(own, copy=False), sx.CopyRefusedError, "copy=False", "pass copy=None")
refuse(lambda: sx.device("gpu:7"), ValueError, "'gpu:7'", "there are: ")
refuse(lambda: sx.as_tensor([1, 2]), TypeError, "list", "numpy.asarray")
refuse(lambda: t.as_readonly().copy_from(t), BufferError, "read-only")
refuse(lambda: t[[0, 1]], IndexError, "list", "NumPy or dpnp")
refuse(lambda: sx.from_dlpack(torch.zeros(2, requires_grad=True)), sx.ExchangeError, "detach()")
refuse(lambda: sx.empty(3, "datetime64[D]"), (TypeError, ValueError), "datetime64", "float32")
print("every mistake has its answer")
