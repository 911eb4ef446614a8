# SPDX-License-Identifier: Apache-2.0
"""Tensors between the workers of a Dask cluster of two processes."""

import logging
import os

import dpnp
import numpy as np
import pytest
from distributed import Client, LocalCluster

import sycl_ext as sx
from samples import LAYOUTS, assert_equal


@pytest.fixture(autouse=True)
def nothing_leaks():
    """Not here: the scheduler, in this process, keeps what it has sent as long as it sees fit."""


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings, silence_logs=logging.ERROR) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def workers(client):
    # scheduler_info() may return what the client fetches every two seconds, which has no workers.
    return sorted(client.nthreads())


def where(tensor):
    return os.getpid(), tensor.device.filter_string, tensor.usm_type, tensor.readonly


def doubled(tensor):
    return sx.empty(tensor.shape, tensor.dtype, usm_type=tensor.usm_type).copy_from(
        tensor.to_numpy() * 2
    )


@pytest.mark.parametrize("layout", ["C", "F", "sliced", "0-d", "size 0"])
def test_from_worker_to_worker_and_back(layout, client, workers, usm_type):
    tensor, array = LAYOUTS[layout].tensor("int32", usm_type)
    first = client.submit(doubled, tensor, workers=workers[:1], pure=False)
    second = client.submit(doubled, first, workers=workers[1:], pure=False)
    assert_equal(second.result(), array * 4)
    on_first = client.submit(where, first, workers=workers[:1], pure=False).result()
    on_second = client.submit(where, second, workers=workers[1:], pure=False).result()
    assert on_first[0] != on_second[0]
    assert on_first[1:] == on_second[1:] == ("opencl:cpu:0", usm_type, False)


def test_spilled_tensor_comes_back(client, workers):
    """A worker that runs out of memory writes tensors to its disk as it would send them."""

    def spill_and_load(dask_worker):
        data = dask_worker.data
        data["spilled"] = sx.zeros(1000, "int8").copy_from(np.arange(1000).astype("int8"))
        while "spilled" in data.fast:
            data.fast.evict()
        assert "spilled" in data.slow
        numbers = data["spilled"].to_numpy().tolist()
        del data["spilled"]
        return numbers

    (numbers,) = client.run(spill_and_load, workers=workers[:1]).values()
    assert numbers == np.arange(1000).astype("int8").tolist()


# ---- arrays of dpnp ------------------------------------------------------------------------------


def squared(x):
    return x * x


def added(a, b):
    return os.getpid(), type(a) is dpnp.ndarray, a + b


def third(array):
    return array[2]


def test_dpnp_arrays_between_workers(client, workers, usm_type):
    """Arguments of tasks, results, and dependencies on another worker."""
    numbers = np.arange(1000, dtype="float32")
    x = dpnp.asarray(numbers, usm_type=usm_type)
    first, second = (
        client.submit(squared, x, workers=[worker], pure=False) for worker in workers[:2]
    )
    both = client.submit(added, first, second, workers=workers[1:], pure=False)
    process, is_dpnp, total = both.result()
    assert (is_dpnp, type(total) is dpnp.ndarray, total.usm_type) == (True, True, usm_type)
    assert process != os.getpid()
    assert np.array_equal(dpnp.asnumpy(total), numbers * numbers * 2)
    again = client.submit(third, both, workers=workers[:1], pure=False).result()
    assert np.array_equal(dpnp.asnumpy(again), numbers * numbers * 2)
