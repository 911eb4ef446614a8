# SPDX-License-Identifier: Apache-2.0
"""Which devices get a worker, and the variables of each: pure functions, no device."""

import doctest
import json
import subprocess

import pytest

from sycl_ext_dask import devices, workers
from sycl_ext_dask.devices import HIERARCHY, MASK, SELECTOR, listing_environment, select

HIDDEN = "level_zero:*;!level_zero:gpu"


def facts(backend, number, kind="gpu", **more):
    return {
        "filter_string": f"{backend}:{kind}:{number}",
        "backend": backend,
        "device_type": kind,
        "name": f"{backend} {number}",
        "uuid": f"{backend}-{number}",
        "pci_address": f"0000:0{number}:00.0" if kind == "gpu" else None,
        "total_memory": 1000,
        "local_cpus": None,
        **more,
    }


CPU = facts("opencl", 0, "cpu")
TILES = [facts("level_zero", number) for number in range(4)]
OPENCL = [facts("opencl", number) for number in (1, 2)]


def variables(seen, everything=None, environment=None, device_type=None):
    environment = {HIERARCHY: "FLAT", **(environment or {})}
    return [
        device.environment for device in select(seen, everything or seen, environment, device_type)
    ]


@pytest.mark.parametrize("module", [devices, workers])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.failed == 0 < result.attempted


def test_each_tile_of_level_zero_gets_a_mask():
    seen = variables([CPU, *OPENCL, *TILES])
    assert seen == [
        {HIERARCHY: "FLAT", MASK: str(number), SELECTOR: "level_zero:gpu"} for number in range(4)
    ]


@pytest.mark.parametrize(
    ("seen", "device_type", "numbers"),
    [
        ([CPU, *OPENCL], None, ["opencl:1", "opencl:2"]),
        ([CPU, *OPENCL], "cpu", ["opencl:0"]),
        ([CPU, *TILES], "cpu", ["opencl:0"]),
        ([CPU, facts("cuda", 0), facts("cuda", 1)], "gpu", ["cuda:0", "cuda:1"]),
    ],
)
def test_others_get_a_selector(seen, device_type, numbers):
    wanted = [{SELECTOR: f"{number};{HIDDEN}"} for number in numbers]
    assert variables(seen, device_type=device_type) == wanted


def test_selector_of_the_launcher_hides_devices_and_their_numbers_stay():
    """Two devices may have the same facts; their order tells them apart."""
    twins = [facts("opencl", 1, "cpu", uuid="same", name="CPU") for _ in range(2)]
    selected = variables([CPU, twins[1]], [CPU, *twins], {SELECTOR: "opencl:0,2"})
    assert [v[SELECTOR].partition(";")[0] for v in selected] == ["opencl:0", "opencl:1"]
    selected = variables([TILES[1], TILES[3]], [CPU, *TILES], {SELECTOR: "level_zero:1,3"})
    assert [v[MASK] for v in selected] == ["1", "3"]


def test_mask_of_the_launcher_is_divided():
    assert [v[MASK] for v in variables(TILES[:2], environment={MASK: "3,1"})] == ["1", "3"]
    cards = {MASK: "1.1,0", HIERARCHY: "COMPOSITE"}
    assert [v[MASK] for v in variables(TILES[:2], environment=cards)] == ["0", "1.1"]


@pytest.mark.parametrize(
    ("seen", "environment", "device_type", "text"),
    [
        ([CPU], {}, "gpu", "wanted gpu, found opencl:cpu:0; .*doctor"),
        ([], {}, None, "wanted a GPU or a CPU, found none"),
        (TILES, {MASK: "0,1,7"}, None, "names 3 devices, and the driver lists 4"),
        (TILES, {MASK: "a"}, None, "MASK=a is not a list such as 0,1"),
    ],
)
def test_what_cannot_be_divided(seen, environment, device_type, text):
    with pytest.raises(ValueError, match=text):
        variables(seen, environment=environment, device_type=device_type)


def test_selector_of_sub_devices():
    sub_device = facts("opencl", 0, "cpu", uuid="sub")
    with pytest.raises(ValueError, match="term without a dot, such as opencl:"):
        variables([sub_device], [CPU], {SELECTOR: "opencl:0.1"})


@pytest.mark.parametrize(
    ("per", "environment", "mode"),
    [
        ("tile", {}, "FLAT"),
        ("card", {HIERARCHY: "FLAT"}, "COMPOSITE"),
        ("tile", {MASK: "0,1"}, "FLAT"),
        ("tile", {MASK: "0,1", HIERARCHY: "combined"}, "FLAT"),
        ("card", {MASK: "0.1", HIERARCHY: "COMPOSITE"}, "COMPOSITE"),
    ],
)
def test_hierarchy(per, environment, mode):
    assert listing_environment(per, environment) == {**environment, HIERARCHY: mode}


@pytest.mark.parametrize(
    ("per", "environment", "text"),
    [
        ("card", {MASK: "0"}, "=0 is for .*=FLAT, and one worker per card needs COMPOSITE"),
        ("tile", {MASK: "0.1", HIERARCHY: "COMPOSITE"}, "one worker per tile needs FLAT"),
        ("node", {}, "one worker per 'node': it is one of tile, card"),
    ],
)
def test_hierarchy_that_contradicts(per, environment, text):
    with pytest.raises(ValueError, match=text):
        listing_environment(per, environment)


def test_program_that_fails_is_quoted(monkeypatch):
    done = subprocess.CompletedProcess([], 3, stdout="", stderr="no module named sycl_ext\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_kwargs: done)
    with pytest.raises(RuntimeError, match="ended with 3: no module named sycl_ext; .*doctor"):
        devices.list_devices({})


def test_list_is_read(monkeypatch):
    done = subprocess.CompletedProcess([], 1, stdout=json.dumps({"devices": []}), stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_kwargs: done)
    assert devices.list_devices({}) == []


@pytest.mark.parametrize(
    ("limit", "nbytes"),
    [("auto", 800), ("0.5", 500), (1.0, 1000), ("2 kB", 2000), (300, 300), (0, None), (None, None)],
)
def test_device_memory_limit(limit, nbytes):
    gpu = devices.WorkerDevice("GPU", "gpu", None, 1000)
    assert workers.device_bytes(limit, gpu) == nbytes
    cpu = devices.WorkerDevice("CPU", "cpu", None, 1000)
    assert workers.device_bytes(limit, cpu) == (None if limit == "auto" else nbytes)


def test_device_memory_limit_is_not_negative():
    gpu = devices.WorkerDevice("GPU", "gpu", None, 1000)
    with pytest.raises(ValueError, match="device_memory_limit=-1 is negative"):
        workers.device_bytes(-1, gpu)
