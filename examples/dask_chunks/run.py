# SPDX-License-Identifier: Apache-2.0
"""Map and reduce an array of dpnp chunks on two processes: ``python run.py``.

The array is larger than the memory limit of one worker. Its chunks are dpnp arrays, from the first
task to the result. When a task needs a chunk of another worker, `sycl_ext` sends the bytes without
a copy of its own. Needs ``sycl_ext[cpu,dask]`` and dpnp.
"""

import resource
from typing import Any

import sycl_ext  # noqa: F401  # isort: skip (before dpctl: it shows the SYCL runtime the CPU device)

import dask.array as da
import dpnp
from distributed import Client, LocalCluster, futures_of, progress, wait

CHUNKS, CHUNK = 64, 8 * 1024 * 1024  # of 4 bytes: 2 GiB in all
MEMORY_LIMIT = 3 << 29  # of each of two workers: 1.5 GiB


def make(block_info: Any) -> Any:
    """Return the numbers of one chunk, in USM of the worker's device."""
    start = block_info[None]["chunk-location"][0] % 7
    return dpnp.arange(start, start + CHUNK, dtype="float32")


def one(x: Any) -> Any:
    """Return sin² + cos² of each number."""
    return dpnp.square(dpnp.sin(x)) + dpnp.square(dpnp.cos(x))


def total(x: Any, axis: Any, keepdims: Any) -> Any:
    """Return the sum of a chunk; Dask passes all axes."""
    return dpnp.sum(x, axis=axis, keepdims=keepdims, dtype="float64")


def add(parts: Any, keepdims: Any, **_: Any) -> Any:
    """Return the sum of sums, which may come from two workers."""
    found = sum(parts) if isinstance(parts, list) else parts
    return found if keepdims else found[0]


def peak() -> int:
    """Return the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Build the graph and run it."""
    like = dpnp.empty(0, dtype="float32")  # the type of the chunks; Dask assumes NumPy
    numbers = da.map_blocks(make, chunks=((CHUNK,) * CHUNKS,), dtype="float32", meta=like)
    ones = numbers.map_blocks(one, dtype="float32", meta=like)
    sums = {"chunk": total, "combine": add, "aggregate": add, "dtype": "float64"}
    mean = da.reduction(ones, **sums, concatenate=False, split_every=4, meta=like) / ones.size

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
