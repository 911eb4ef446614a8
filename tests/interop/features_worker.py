# SPDX-License-Identifier: Apache-2.0
"""The same work with each library: ``python features_worker.py``, which prints JSON.

A check does the work and returns "view" or "copy", what it took, or True; or it ends in the
exception that who tries it with that library gets.  The features of `CUDA` need a stand-in that
poses as that backend.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import torch
import torch.multiprocessing  # sends its tensors by handles

import sycl_ext as sx
from dlpack_conformance import structs
from level_zero import control

GPU = sx.device("gpu")
NAME = GPU.filter_string
SHAPE = (512, 512)
VALUES = np.ones(SHAPE, "float32")
KDLCUDA = (2, 0)

LIBRARIES = ("sycl_ext", "dpctl", "dpnp", "torch", "numpy")


def memory() -> dpctl.memory.MemoryUSMDevice:
    return dpctl.memory.MemoryUSMDevice(VALUES.nbytes, queue=dpctl.SyclQueue(NAME))


def on_gpu() -> sx.Tensor:
    return sx.zeros(SHAPE, "float32", device=GPU)


# ---- other processes -----------------------------------------------------------------------------

OTHER = """
import pickle, sys
import numpy as np, sycl_ext as sx
t = sx.ipc.open(pickle.loads(bytes.fromhex(sys.argv[1])))
t.copy_from(np.full(t.shape, 7, t.dtype))
"""


def opened_elsewhere(array: Any) -> str:
    """Another process writes to an array."""
    handle = sx.ipc.handle(array)
    message = pickle.dumps(handle).hex()
    subprocess.run([sys.executable, "-c", OTHER, message], check=True, timeout=120)
    return "view" if (sx.as_tensor(array).to_numpy() == 7).all() else "another memory"


def sent(array: Any, nbytes: int = VALUES.nbytes) -> str:
    """The message of `multiprocessing` for an array: a handle is shorter than the bytes."""
    return "view" if len(ForkingPickler.dumps(array)) < nbytes else "copy"


def sent_by_torch() -> str:
    """NumPy's memory, which torch sends: it moves the tensor to other memory first."""
    array = VALUES.copy()
    tensor = torch.from_numpy(array)
    ForkingPickler.dumps(tensor)
    return "view" if tensor.data_ptr() == array.ctypes.data else "copy"


def dpctl_ipc() -> Any:
    return importlib.import_module("dpctl.ipc")  # in the versions after 0.22


# ---- several devices -----------------------------------------------------------------------------


def where_it_is() -> str:
    tensor = on_gpu()
    taken = sx.from_dlpack(tensor, device=["opencl:cpu", NAME])
    return "view" if taken.ptr == tensor.ptr else "copy"


# ---- CUDA's names --------------------------------------------------------------------------------


class OfCuda:
    """An export of a CUDA library."""

    def __init__(self) -> None:
        self.tensor = on_gpu()

    def __dlpack_device__(self) -> tuple[int, int]:
        return KDLCUDA

    def __dlpack__(self, **_: Any) -> Any:
        return self.tensor.__dlpack__(dl_device=KDLCUDA)


def named_cuda(array: Any) -> bool:
    capsule = array.__dlpack__(dl_device=KDLCUDA, max_version=(1, 0))
    return structs.managed_in(capsule).dl_tensor.device.device_type == KDLCUDA[0]


def taken_from_cuda() -> str:
    producer = OfCuda()
    return "view" if sx.from_dlpack(producer).ptr == producer.tensor.ptr else "copy"


# ---- copies in the background --------------------------------------------------------------------


def held(begin: Callable[[], Any], done: Callable[[Any], bool]) -> bool:
    """Begin a copy that cannot end, and see that the call has returned all the same."""
    switches = control.loaded()
    switches.fakegpu_set_delay_us(20_000_000)
    try:
        copy = begin()
        before = done(copy)
    finally:
        switches.fakegpu_set_delay_us(0)
    copy.wait()
    return not before and done(copy)


def in_background(source: np.ndarray) -> bool:
    tensor = on_gpu()[: len(source), : source.shape[1]]
    found = held(lambda: tensor.copy_from(source, wait=False), lambda copy: copy.done())
    return found and bool((tensor.to_numpy() == source).all())


def in_background_with_dpctl(source: np.ndarray) -> bool:
    queue, target = dpctl.SyclQueue(NAME), memory()
    complete = dpctl.event_status_type.complete
    return held(
        lambda: queue.memcpy_async(target, source, source.nbytes),
        lambda event: event.execution_status == complete,
    )


def awaited(begin: Callable[[], Any]) -> bool:
    copy = begin()

    async def wait() -> None:
        await copy

    asyncio.run(wait())
    return True


# ---- the table -----------------------------------------------------------------------------------

Check = Callable[[], Any]
STRIDED = np.ones((512, 1024), "float32")[:, ::2]

#: Feature -> a check for each of LIBRARIES.
FEATURES: dict[str, tuple[Check, ...]] = {
    "device USM of a GPU, opened by another process": (
        lambda: opened_elsewhere(on_gpu()),
        dpctl_ipc,
        lambda: ForkingPickler.dumps(dpnp.empty(SHAPE, device=NAME)),
        lambda: torch.zeros(SHAPE, device="xpu"),
        lambda: np.zeros(SHAPE, device="gpu"),
    ),
    "an array of another library, sent to another process": (
        lambda: opened_elsewhere(dpnp.empty(SHAPE, dtype="float32", device=NAME)),
        dpctl_ipc,
        lambda: ForkingPickler.dumps(dpnp.from_dlpack(on_gpu())),
        sent_by_torch,
        lambda: sent(torch.from_numpy(VALUES).numpy()),
    ),
    "its own arrays in a queue of `multiprocessing`": (
        lambda: (sx.ipc.register_multiprocessing(), sent(on_gpu()))[1],
        lambda: sent(memory()),
        lambda: sent(dpnp.empty(SHAPE, device=NAME)),
        lambda: sent(torch.from_numpy(VALUES.copy())),
        lambda: sent(VALUES),
    ),
    "the first of several devices that is there": (
        lambda: sx.from_dlpack(VALUES, device=["hip", NAME]).device is GPU,
        lambda: dpctl.SyclDevice(f"hip,{NAME}").filter_string == NAME,
        lambda: dpnp.empty(3, device=f"hip,{NAME}").sycl_device.filter_string == NAME,
        lambda: torch.zeros(3, device=["xpu", "cpu"]),
        lambda: np.zeros(3, device=["gpu", "cpu"]),
    ),
    "the one of several devices that takes no copy": (
        where_it_is,
        lambda: dpctl.from_dlpack(VALUES, device=["opencl:cpu", NAME]),
        lambda: dpnp.from_dlpack(dpnp.from_dlpack(on_gpu()), device=["opencl:cpu", NAME]),
        lambda: torch.from_dlpack(torch.zeros(3), device=["xpu", "cpu"]),
        lambda: np.from_dlpack(VALUES, device=["gpu", "cpu"]),
    ),
    "a copy to the GPU that goes on after the call": (
        lambda: in_background(VALUES),
        lambda: in_background_with_dpctl(VALUES),
        lambda: dpnp.asarray(VALUES, device=NAME, wait=False),
        lambda: torch.from_numpy(VALUES).to("xpu", non_blocking=True),
        lambda: np.copyto(np.empty_like(VALUES), VALUES, wait=False),
    ),
    "a copy that `await` waits for": (
        lambda: awaited(lambda: on_gpu().copy_from(VALUES, wait=False)),
        lambda: awaited(lambda: dpctl.SyclQueue(NAME).memcpy_async(memory(), VALUES, 4)),
        lambda: awaited(lambda: dpnp.asarray(VALUES, device=NAME)),
        lambda: awaited(lambda: torch.from_numpy(VALUES).to("cpu", non_blocking=True)),
        lambda: awaited(lambda: np.copyto(np.empty_like(VALUES), VALUES)),
    ),
}
CUDA: dict[str, tuple[Check, ...]] = {
    "its memory on a CUDA device, as kDLCUDA": (
        lambda: named_cuda(on_gpu()),
        lambda: named_cuda(memory()),
        lambda: named_cuda(dpnp.empty(3, device=NAME)),
        lambda: named_cuda(torch.zeros(3)),
        lambda: named_cuda(VALUES),
    ),
    "kDLCUDA memory of a library, as SYCL's": (
        taken_from_cuda,
        lambda: dpctl.memory.as_usm_memory(OfCuda()),
        lambda: dpnp.from_dlpack(OfCuda()),
        lambda: torch.from_dlpack(OfCuda()),
        lambda: np.from_dlpack(OfCuda()),
    ),
}


def outcome(check: Check) -> dict[str, str]:
    try:
        found = check()
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    return {"outcome": {True: "yes", False: "no"}[found] if isinstance(found, bool) else found}


def main() -> None:
    table = CUDA if NAME.startswith("cuda") else FEATURES
    found = {
        feature: dict(zip(LIBRARIES, map(outcome, checks), strict=True))
        for feature, checks in table.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
