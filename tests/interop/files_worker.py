# SPDX-License-Identifier: Apache-2.0
"""Writes USM to files, and reads files into USM: ``python files_worker.py``, which prints JSON.

Each call is measured: how far the resident memory rises in it, in sizes of the array.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import safetensors.numpy
import zarr
from zarr.core.buffer.cpu import NDBuffer

import sycl_ext as sx

#: 40 MB: the allocator asks the system for such a block each time, so that each copy shows.
VALUES = np.arange(10_000_000, dtype=np.float32).reshape(10_000, 1000)
CHUNKS = (250, 1000)


# The code of docs/recipes/files.md.


def write_h5py(x: sx.Tensor) -> None:
    with h5py.File("x.h5", "w") as file:
        file.create_dataset("x", x.shape, x.dtype)[...] = sx.exchange(x, np)


def read_h5py(x: sx.Tensor) -> None:
    with h5py.File("x.h5") as file:
        file["x"].read_direct(x.to_numpy(copy=False))


def write_zarr(x: sx.Tensor) -> None:
    array = zarr.create_array("x.zarr", shape=x.shape, chunks=CHUNKS, dtype=x.dtype, overwrite=True)
    array[...] = sx.exchange(x, np)


def read_zarr(x: sx.Tensor) -> None:
    out = NDBuffer.from_numpy_array(x.to_numpy(copy=False))
    zarr.open_array("x.zarr", mode="r").get_basic_selection(out=out)


def write_safetensors(x: sx.Tensor) -> None:
    array = np.ascontiguousarray(sx.exchange(x, np))
    safetensors.numpy.save_file({"x": array}, "x.safetensors")


def read_safetensors(x: sx.Tensor) -> None:
    with Path("x.safetensors").open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
        first, last = json.loads(file.read(header))["x"]["data_offsets"]
        file.seek(8 + header + first)
        if file.readinto(memoryview(x)) != last - first:
            raise BufferError("the file holds more, or less, than the tensor")


#: Library -> its writer, its reader, and a reader without this package.
FORMATS: dict[str, tuple[Callable, Callable, Callable[[], np.ndarray]]] = {
    "h5py": (write_h5py, read_h5py, lambda: h5py.File("x.h5")["x"][...]),
    "zarr": (write_zarr, read_zarr, lambda: zarr.open_array("x.zarr", mode="r")[...]),
    "safetensors": (
        write_safetensors,
        read_safetensors,
        lambda: safetensors.numpy.load_file("x.safetensors")["x"],
    ),
}


def _new(usm_type: str = "host", device: str = "opencl:cpu") -> sx.Tensor:
    return sx.zeros(VALUES.shape, VALUES.dtype, usm_type=usm_type, device=device)


#: The memory that is written from, or read into.
TENSORS: dict[str, Callable[[], sx.Tensor]] = {
    "host": _new,
    "shared": lambda: _new("shared"),
    "GPU device": lambda: _new("device", "level_zero:gpu:0"),
    "read-only": lambda: _new().as_readonly(),
    "negative strides": lambda: _new()[::-1],
    "zero size": lambda: _new()[:0],
}


def peak_of(call: Callable[[], Any]) -> float:
    """How far the resident memory rises in a call, in sizes of the array."""

    def resident(field: str) -> int:
        text = Path("/proc/self/status").read_text().split(f"{field}:")[1]
        return int(text.split()[0]) * 1024

    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now the resident size
    before = resident("VmRSS")
    call()
    return (resident("VmHWM") - before) / VALUES.nbytes


def outcome(library: str, way: str, tensor: str) -> dict[str, Any]:
    write, read, plainly = FORMATS[library]
    x = TENSORS[tensor]()
    wanted = VALUES[: len(x)]
    base = x if x.base is None else x.base
    if way == "write":
        base.copy_from(VALUES)
        wanted = x.to_numpy(copy=True)
    else:
        write(sx.as_tensor(wanted, device="opencl:cpu"))
    try:
        peak = peak_of(lambda: (write if way == "write" else read)(x))
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    found = plainly() if way == "write" else x.to_numpy()
    right = bool(np.array_equal(found, wanted))
    return {"outcome": "one copy" if peak > 0.5 else "no copy", "peak": peak, "right": right}


def main() -> None:
    zarr.config.set({"async.concurrency": 1})
    for write, read, _ in FORMATS.values():  # what they import late
        write(x := sx.zeros((2, 2), "float32", device="opencl:cpu", usm_type="host"))
        read(x)
    found = {
        library: {
            "version": version(library),
            **{
                way: {tensor: outcome(library, way, tensor) for tensor in TENSORS}
                for way in ("write", "read")
            },
        }
        for library in FORMATS
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
