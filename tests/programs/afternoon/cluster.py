# SPDX-License-Identifier: Apache-2.0
"""Dask computes with tensors, on two workers; a task on one takes a tensor of the other."""

import dpnp
from distributed import Client, LocalCluster, get_worker

import sycl_ext as sx


def make(value: float) -> sx.Tensor:
    """Run on a worker: a tensor on its device."""
    return sx.from_dlpack(dpnp.full(100_000, value, dtype="float32"))


def add(a: sx.Tensor, b: sx.Tensor) -> tuple[sx.Tensor, str]:
    """Run on a worker: the sum, and who made it."""
    return sx.from_dlpack(dpnp.from_dlpack(a) + dpnp.from_dlpack(b)), get_worker().address


if __name__ == "__main__":
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        first, second = client.scheduler_info()["workers"]
        one = client.submit(make, 1, workers=first)
        two = client.submit(make, 2, workers=second)
        total, where = client.submit(add, one, two, workers=second).result()
        assert where == second
        assert (total.to_numpy() == 3).all()
