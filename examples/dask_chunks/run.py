# SPDX-License-Identifier: Apache-2.0
"""Compute with an array of dpnp chunks on two processes: ``python run.py``.

The array is larger than the memory limit of one worker. Its chunks are dpnp arrays, from the first
task to the result, because of the line with ``array.backend``. When a task needs a chunk of another
worker, sycl-ext-dask sends the bytes without a copy of its own. Needs ``sycl_ext[cpu]``, dpnp.
"""

import resource

import sycl_ext  # noqa: F401  # isort: skip (before dpctl: it shows the SYCL runtime the CPU device)

import dask
import dask.array as da
from distributed import Client, LocalCluster, futures_of, progress, wait

CHUNKS, CHUNK = 64, 8 * 1024 * 1024  # of 4 bytes: 2 GiB in all
MEMORY_LIMIT = 3 << 29  # of each of two workers: 1.5 GiB


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Build the graph and run it."""
    with dask.config.set({"array.backend": "dpnp"}):
        numbers = da.arange(CHUNKS * CHUNK, chunks=CHUNK, dtype="int32")
    angles = (numbers % 7).astype("float32")
    ones = da.square(da.sin(angles)) + da.square(da.cos(angles))
    mean = ones.mean(dtype="float64", split_every=4)

    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": MEMORY_LIMIT}
    with LocalCluster(**workers, dashboard_address=None) as cluster, Client(cluster) as client:
        some = ones.blocks[:4].persist()
        wait(some)
        sizes = client.nbytes([f.key for f in futures_of(some)], summary=False).values()
        print("chunks on the dashboard:", ", ".join(f"{size >> 20} MiB" for size in sizes))
        del some
        future = client.compute(mean)
        progress(future, notebook=False)
        result = future.result()
        peaks = client.run(peak).values()
    print(f"\n{ones.nbytes >> 20} MiB on workers of {MEMORY_LIMIT >> 20} MiB: mean {result:.6f}")
    print("the result is of", type(result).__module__)
    print("most memory of a worker:", ", ".join(f"{n >> 20} MiB" for n in peaks))
    assert ones.nbytes > MEMORY_LIMIT > max(peaks)
    assert abs(float(result) - 1) < 1e-6


if __name__ == "__main__":
    main()
