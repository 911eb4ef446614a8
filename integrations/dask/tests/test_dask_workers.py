# SPDX-License-Identifier: Apache-2.0
"""One worker per device: ``dask sycl worker`` and `LocalSYCLCluster`, on two CPUs and on GPUs.

Each test is a process, or several: they see the devices of a test environment.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import environments

pytestmark = pytest.mark.timeout(300)

PAGE = Path(__file__).parents[1] / "README.md"
#: What the dashboard calls the tiles of the stand-in.
TILES = [
    f"Fake GPU {card}.{tile} (0000:0{card + 1}:00.0)" for card in range(2) for tile in range(2)
]
WHERE = ["two_platforms", "level_zero_v2"]


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    """The environment of a process that sees the devices of a test environment."""
    scratch = tmp_path_factory.mktemp("drivers")

    def of(where, **more):
        own = environments.variables_of(where, scratch)
        own.pop("ZE_FLAT_DEVICE_HIERARCHY", None)
        return {**environments.clean_environment(), **own, **more}

    return of


def run(code, folder, variables):
    program = folder / "program.py"
    program.write_text(code)
    done = subprocess.run(
        [sys.executable, program],
        env=variables,
        cwd=folder,
        capture_output=True,  # Dask warns of a busy machine in the other one
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def started(*arguments, **how):
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **how,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("where", WHERE)
def test_example_of_the_page(where, variables, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if "LocalSYCLCluster" in block]
    means, *lines = run(code, tmp_path, variables(where)).splitlines()
    assert means == "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]"
    if where == "two_platforms":
        assert len(lines) == 2
        assert all("GiB" in line for line in lines)
    else:
        assert sorted(line.partition(": ")[0] for line in lines) == TILES
        assert all(line.endswith(" of 409.60 MiB") for line in lines), lines


CLUSTER = """
import json, os, sys
from distributed import Client
from sycl_ext_dask.workers import LocalSYCLCluster

def about(n):
    import sycl_ext as sx
    (device,) = sx.devices()
    memory = sx.full(1000, n, "int32", device=device)
    processors = sorted(os.sched_getaffinity(0))
    return [device.uuid, os.getpid(), memory.tolist()[-1], device.name, processors]

if __name__ == "__main__":
    with LocalSYCLCluster(dashboard_address=None, **SETTINGS) as cluster, Client(cluster) as client:
        workers = cluster.scheduler.workers.values()
        seen = [
            client.submit(about, number, workers=[worker.address], pure=False).result()
            for number, worker in enumerate(workers)
        ]
        try:
            cluster.scale(9)
        except ValueError as error:
            refused = str(error)
        print(json.dumps([seen, [worker.nthreads for worker in workers], refused]))
        assert "sycl_ext" not in sys.modules or not hasattr(sys.modules["sycl_ext"], "_core")
"""


def cluster_of(settings, folder, variables):
    return json.loads(run(CLUSTER.replace("SETTINGS", repr(settings)), folder, variables))


@pytest.mark.parametrize(
    ("where", "settings", "more", "workers", "devices"),
    [
        pytest.param("two_platforms", {}, {}, 2, None, marks=pytest.mark.long),
        ("level_zero_v2", {"threads_per_worker": 2}, {}, 4, ["0.0", "0.1", "1.0", "1.1"]),
        ("level_zero_v2", {"per": "card"}, {}, 2, ["0", "1"]),
        pytest.param("level_zero_v2", {"device_type": "cpu"}, {}, 1, None, marks=pytest.mark.long),
        ("level_zero_v2", {}, {"ZE_AFFINITY_MASK": "3,0"}, 2, ["0.0", "1.1"]),
        ("level_zero_v2", {}, {"ONEAPI_DEVICE_SELECTOR": "level_zero:2"}, 1, ["1.0"]),
    ],
)
def test_each_worker_has_a_device(where, settings, more, workers, devices, variables, tmp_path):
    seen, threads, refused = cluster_of(settings, tmp_path, variables(where, **more))
    uuids, pids, results, names, _ = zip(*seen, strict=True)
    assert len(set(pids)) == len(pids) == workers
    assert list(results) == list(range(workers))
    if devices is not None:
        assert sorted(name.removeprefix("Fake GPU ") for name in names) == devices
        assert len(set(uuids)) == workers
    assert threads == [settings.get("threads_per_worker", 1)] * workers
    assert f"{workers}; scale to fewer" in refused


def test_processors_next_to_the_device(variables, tmp_path):
    """A worker is bound to those, and the threads that run its tasks as well."""
    first = min(os.sched_getaffinity(0))
    patch = f"""
import dataclasses
from sycl_ext_dask import workers
listed = workers.worker_devices
def near(*arguments):
    cpus = ({first}, 99999)
    return tuple(dataclasses.replace(device, cpus=cpus) for device in listed(*arguments))
workers.worker_devices = near
"""
    (tmp_path / "near.py").write_text(patch)
    code = CLUSTER.replace("from distributed", "import near\nfrom distributed", 1)
    seen, *_ = json.loads(run(code.replace("SETTINGS", "{}"), tmp_path, variables("level_zero_v2")))
    assert [processors for *_, processors in seen] == [[first]] * 4


CLIENT = """
import sys
from distributed import Client

def uuid():
    import sycl_ext as sx
    (device,) = sx.devices()
    return device.uuid

with Client(scheduler_file=sys.argv[1]) as client:
    client.wait_for_workers(int(sys.argv[2]), timeout=120)
    workers = client.run(uuid)
    print(len(workers), len(set(workers.values())))
    names = client.run_on_scheduler(
        lambda dask_scheduler: [
            (str(w.name), w.metrics["device"]) for w in dask_scheduler.workers.values()
        ]
    )
    print(*sorted(names), sep="\\n")
    client.shutdown()
"""


@pytest.mark.parametrize(
    ("where", "options", "workers", "devices"),
    [
        pytest.param("two_platforms", [], 2, 1, marks=pytest.mark.long),
        ("level_zero_v2", ["--per", "card"], 2, 2),
    ],
)
def test_command(where, options, workers, devices, variables, tmp_path):
    file = tmp_path / "scheduler.json"
    own = {"env": variables(where), "cwd": tmp_path}
    (tmp_path / "client.py").write_text(CLIENT)
    worker = ("sycl", "worker", "--scheduler-file", file, "--name", "node", *options)
    with (
        started("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file, **own),
        started(*worker, "--no-dashboard", "--device-memory-limit", "0.5", **own) as command,
    ):
        done = subprocess.run(
            [sys.executable, "client.py", file, str(workers)],
            capture_output=True,
            text=True,
            timeout=200,
            **own,
        )
        assert done.returncode == 0, done.stderr
        log, _ = command.communicate(timeout=60)
    counts, *names = done.stdout.splitlines()
    assert counts == f"{workers} {devices}"
    assert [name.split("'")[1] for name in names] == ["node-0", "node-1"]
    if where == "level_zero_v2":
        assert "Fake GPU 0 (0000:01:00.0)" in names[0], names
        assert "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_AFFINITY_MASK=1" in log, log


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "name the scheduler: dask sycl worker ADDRESS, or --scheduler-file"),
        (["tcp://127.0.0.1:1", "--device-type", "gpu"], "wanted gpu, found opencl:cpu:0"),
    ],
)
def test_command_that_cannot_start(arguments, text, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dask", "sycl", "worker", *arguments],
        env={**environments.clean_environment(), **environments.cpu()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode != 0
    assert text in done.stderr
    assert "Traceback" not in done.stderr
