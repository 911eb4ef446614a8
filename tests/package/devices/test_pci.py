# SPDX-License-Identifier: Apache-2.0
"""Memory, NUMA node and processors of a device."""

import os

import pytest

import sycl_ext as sx
from sycl_ext._devices import pci

ADDRESS = "0000:03:00.0"


@pytest.fixture
def on_the_bus(tmp_path, monkeypatch):
    """Make files of Linux for a device at ADDRESS."""
    monkeypatch.setattr(pci, "DEVICES", tmp_path)
    (tmp_path / ADDRESS).mkdir()

    def write(**files):
        for name, text in files.items():
            (tmp_path / ADDRESS / name).write_text(text)

    return write


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0\n", (0,)), ("0-3\n", (0, 1, 2, 3)), ("0-1,8,10-11\n", (0, 1, 8, 10, 11)), ("\n", None)],
)
def test_list_of_processors_is_read(on_the_bus, text, cpus):
    on_the_bus(local_cpulist=text)
    assert pci.local_cpus(ADDRESS) == cpus


@pytest.mark.parametrize(("text", "node"), [("0\n", 0), ("3\n", 3), ("-1\n", None)])
def test_node_is_read(on_the_bus, text, node):
    on_the_bus(numa_node=text)
    assert pci.numa_node(ADDRESS) == node


@pytest.mark.parametrize("address", [None, "0000:ff:00.0"])
def test_unknown_address_has_no_node(on_the_bus, address):
    assert pci.numa_node(address) is None
    assert pci.local_cpus(address) is None


def test_cpu_device_is_not_on_the_bus():
    device = sx.device("opencl:cpu:0")
    assert (device.numa_node, device.local_cpus) == (None, None)


def test_memory_of_the_cpu_device_is_that_of_the_host():
    device = sx.device("opencl:cpu:0")
    assert 0 < device.total_memory <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert device.free_memory is None  # OpenCL does not tell
