# SPDX-License-Identifier: Apache-2.0
"""1 GiB of dpnp arrays on a device of which Dask may fill 256 MiB: ``python run.py``.

The array is kept (``persist``), and computed with: the least recently used chunks go from the
device to the host, and from there to the disk.  Needs ``sycl_ext[cpu]``, sycl-ext-dask and dpnp.
"""

import resource
import sys
from typing import Any

import sycl_ext  # noqa: F401  # isort: skip (before dpctl: it shows the SYCL runtime the CPU device)

import dask
import dask.array as da
from distributed import Client, LocalCluster, wait

from sycl_ext_dask.spill import DeviceSpillBuffer

ROWS, COLUMNS, CHUNKS = 1 << 16, 1 << 12, 32  # of 4 bytes: 1 GiB in chunks of 32 MiB


def tiers(dask_worker: Any) -> tuple[int, int, int]:
    """Return how many chunks are on the device, on the host and on the disk."""
    data = dask_worker.data
    return len(data.device.fast), len(data.host.fast), len(data.host.slow)


def peak() -> int:
    """Return the most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main(backend: str = "dpnp", rows: int = ROWS) -> None:
    """Fill the device four times, and compute with all of it."""
    quarter = rows * COLUMNS  # of the bytes
    limits = {"device_memory_limit": quarter, "host_memory_limit": quarter}
    worker = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    if backend == "dpnp":
        worker["data"] = (DeviceSpillBuffer, limits)
    with LocalCluster(**worker) as cluster, Client(cluster) as client:
        with dask.config.set({"array.backend": backend}):
            rng = da.random.default_rng(2026)
            x = rng.random((rows, COLUMNS), chunks=(rows // CHUNKS, COLUMNS), dtype="float32")
            x = x.persist()
        wait(x)
        print(f"{x.nbytes >> 20} MiB of {type(x._meta).__module__} in {x.npartitions} chunks")
        if backend == "dpnp":
            (nbytes,) = client.run(tiers).values()
            print("on the device, on the host, on the disk:", *nbytes)
        y = (x - x.mean(axis=0)) / x.std(axis=0)
        y = y.persist()
        mean, deviation = dask.compute(y.mean(), y.std())
        print(f"mean {float(mean):.6f}, deviation {float(deviation):.6f}")
        print("most memory of the worker:", *client.run(peak).values(), "MiB")
    assert abs(float(mean)) < 1e-5 > abs(float(deviation) - 1)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
