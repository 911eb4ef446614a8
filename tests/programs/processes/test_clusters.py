# SPDX-License-Identifier: Apache-2.0
"""The examples with workers, one after the other: two clusters of Dask would want one port."""

import re
import sys

import pytest

from running import EXAMPLES, run

#: Warnings of Dask on a busy machine.
BUSY = re.compile("still alive after|Event loop was unresponsive|garbage collections took")

pytestmark = pytest.mark.timeout(300)


def test_dask_works_on_more_than_a_worker_may_have():
    shown = run(sys.executable, EXAMPLES / "dask_chunks" / "run.py")
    assert "2048 MiB on workers of 1536 MiB: mean 1.000000" in shown
    assert "chunks on the dashboard: 32 MiB, 32 MiB, 32 MiB, 32 MiB\n" in shown
    assert "100% Completed" in shown
    assert "the result is of dpnp" in shown
    warnings = [line for line in shown.splitlines() if "warn" in line.lower()]
    assert all(BUSY.search(line) for line in warnings), shown


def test_dask_spills_what_the_device_may_not_have():
    rows = 1 << 14  # a quarter of what it has on the page
    shown = run(sys.executable, EXAMPLES / "dask_spill" / "run.py", "dpnp", rows)
    assert "256 MiB of dpnp" in shown
    (tiers,) = re.findall("on the device, on the host, on the disk: (.*)", shown)
    device, host, disk = map(int, tiers.split())
    assert (device, device + host + disk) == (8, 32)
    assert min(host, disk) > 4
    assert "mean -0.000000, deviation 1.000000" in shown.replace("mean 0", "mean -0")


def test_ray_actors():
    shown = run(sys.executable, EXAMPLES / "ray_actors" / "run.py")
    assert re.search("1 GiB as sycl_ext: right.*\n1 GiB as dpnp: right", shown), shown


def test_joblib_workers():
    shown = run(sys.executable, EXAMPLES / "joblib_workers" / "run.py")
    assert "8 arrays of dpnp.dpnp_array, computed in 2 processes" in shown
