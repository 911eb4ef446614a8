# SPDX-License-Identifier: Apache-2.0
"""Map a dpnp function over chunks in USM and reduce them, on two processes: ``python run.py``.

The data is larger than the memory that one worker may have.  Chunks are `sycl_ext.Tensor`s; where
a task needs one of another worker, its bytes travel as they are, and arrive in USM.  Needs
``sycl_ext[cpu,dask]`` and dpnp.
"""

import resource

import dask
import dpnp
from distributed import Client, LocalCluster

import sycl_ext as sx

CHUNKS, CHUNK = 64, 8 * 1024 * 1024  # of 4 bytes: 2 GiB in all
MEMORY_LIMIT = 3 << 29  # of each of two workers: 1.5 GiB


@dask.delayed
def make(number: int) -> sx.Tensor:
    """Return the numbers of one chunk, in USM of the worker's device."""
    start = number % 7
    return sx.from_dlpack(dpnp.arange(start, start + CHUNK, dtype="float32"))


@dask.delayed
def one(chunk: sx.Tensor) -> sx.Tensor:
    """Return sin² + cos² of each number."""
    x = dpnp.from_dlpack(chunk)
    return sx.from_dlpack(dpnp.square(dpnp.sin(x)) + dpnp.square(dpnp.cos(x)))


@dask.delayed
def total(chunk: sx.Tensor) -> sx.Tensor:
    """Return the sum of a chunk, a tensor of one element."""
    return sx.from_dlpack(dpnp.sum(dpnp.from_dlpack(chunk), dtype="float64", keepdims=True))


@dask.delayed
def add(a: sx.Tensor, b: sx.Tensor) -> sx.Tensor:
    """Return the sum of two; they may come from two workers."""
    return sx.from_dlpack(dpnp.from_dlpack(a) + dpnp.from_dlpack(b))


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Build the graph and run it."""
    sums = [total(one(make(number))) for number in range(CHUNKS)]
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2], strict=False)
        sums = [add(a, b) for a, b in pairs] + sums[len(sums) // 2 * 2 :]
    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": MEMORY_LIMIT}
    with LocalCluster(**workers, dashboard_address=None) as cluster, Client(cluster) as client:
        result = client.compute(sums[0]).result()
        peaks = client.run(peak).values()
    count = CHUNKS * CHUNK
    mean = result.to_numpy()[0] / count
    print(f"{count * 4 >> 20} MiB on workers of {MEMORY_LIMIT >> 20} MiB: mean {mean:.6f}")
    print("most memory of a worker:", ", ".join(f"{n >> 20} MiB" for n in peaks))
    assert count * 4 > MEMORY_LIMIT > max(peaks)
    assert abs(mean - 1) < 1e-6


if __name__ == "__main__":
    main()
