# SPDX-License-Identifier: Apache-2.0
"""**Experimental.** Tensors of PyTorch's XPU in ``torch.multiprocessing``, by handle.

``register(torch.multiprocessing.reductions)`` fills the registry that pytorch#194568 proposes. A
queue or pipe of ``torch.multiprocessing`` then sends a handle, and the other process uses the
memory of the sender. Call it in each process that sends.
"""

import importlib
from functools import partial
from typing import Any

import sycl_ext as sx


def register(reductions: Any, device_type: str = "xpu", library: str = "torch") -> None:
    """Register both functions for tensors, and the check for storages.

    Parameters
    ----------
    reductions : module
        ``torch.multiprocessing.reductions``, with the registry.
    device_type : str, default "xpu"
        PyTorch's name of the devices.
    library : str, default "torch"
        The module with ``from_dlpack`` that makes the tensors of the other process.
    """
    sx.ipc.register_multiprocessing()  # handles, kept until the other process has opened them
    reduce_function = partial(reduce_tensor, library=library)
    reductions.register_ipc_tensor_reducer(device_type, reduce_function, rebuild_tensor)
    reductions.register_ipc_storage_check(device_type, partial(is_on, device_type))


def reduce_tensor(tensor: Any, *, library: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the function that rebuilds a tensor in another process, and its arguments."""
    usm = sx.as_tensor(tensor.detach(), copy=False)
    is_parameter = type(tensor).__name__ == "Parameter"
    return rebuild_tensor, (usm, library, bool(tensor.requires_grad), is_parameter)


def rebuild_tensor(usm: sx.Tensor, library: str, requires_grad: bool, is_parameter: bool) -> Any:
    """Return a tensor of PyTorch in the memory that has arrived."""
    tensor = sx.exchange(usm, library, copy=False, host_copy=False)
    if is_parameter:
        module = importlib.import_module(library)
        return module.nn.Parameter(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def is_on(device_type: str, storage: Any) -> bool:
    """Return whether a storage is on such a device, so that only its tensors can be sent."""
    return bool(storage.device.type == device_type)
